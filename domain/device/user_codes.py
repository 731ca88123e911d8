"""The short codes of devices, which users type: their form, their digests, the limit for wrong ones."""

from domain import tokens
from domain.context import Context
from domain.device.errors import InvalidUserCode
from domain.rate_limits import limits
from models.device_request import DEVICE_REQUEST_BY_USER_CODE, DeviceRow

PURPOSE = "device.user_code"
"""The purpose of the keyed digests."""

_SEPARATORS = str.maketrans("", "", " \t-\u2010\u2011\u2012\u2013\u2014\u00a0")
_LENGTH = 8


def normalized(user_code: str) -> str:
    """Return a typed code in capitals, without spaces and hyphens."""
    return user_code.translate(_SEPARATORS).upper()


def display(user_code: str) -> str:
    """Return a code as devices show it, `BCDF-GHJK`."""
    code = normalized(user_code)
    return f"{code[:4]}-{code[4:]}"


def digest(ctx: Context, user_code: str) -> bytes:
    """Return the digest to store. It is keyed: a plain digest of 34 bits could be inverted in minutes."""
    return ctx.cipher.digests(PURPOSE, normalized(user_code))[0]  # defence: O19 keyed-digest


async def find(ctx: Context, user_code: str) -> DeviceRow:
    """Return the request with this code, expired or not. An unknown code counts as a failure of the client's network.

    Raises InvalidUserCode, Limited, Unavailable.
    """
    await limits.check_network(ctx)  # defence: O19 budget
    code = normalized(user_code)
    if len(code) == _LENGTH and set(code) <= set(tokens.USER_CODE_LETTERS):
        rows = await ctx.reads.each(DEVICE_REQUEST_BY_USER_CODE, ctx.cipher.digests(PURPOSE, code))
        found = next((row for row in rows if row is not None), None)
        if found is not None:
            return found
    await limits.count_network_failure(ctx)  # defence: O19 failure
    raise InvalidUserCode
