"""A device that the user has approved, and that has not fetched its session yet."""

from typing import NamedTuple

from models.device_request import DeviceRequest
from tests.handlers import device_steps
from tests.oauth import OAuthTestClient
from tests.security.matrix.cells import UNPROVEN, Way, column, ends, stays
from tests.security.matrix.subject import Subject

_CALLER_ENDS = (
    "an administrator revokes the sessions", "the user is banned", "a ban is lifted",
    "an administrator sets the password", "an administrator resets the second factor",
    "an administrator removes an account of a provider", "an administrator removes the passkey",
    "the password is reset with a code", "the password is reset with a link",
    "the password is changed and the sessions are revoked", "all sessions are revoked", "the user signs out",
    "the user is deleted", "an administrator removes the user", "the user is disowned",
)  # fmt: skip
_SIGN_INS = ("the user signs in with a code", "the user signs in with a link")
_ELSEWHERE = (
    "the identity is unlinked", "the password is removed", "an administrator revokes a session",
    "the role is taken", "an administrator changes the address", "an administrator verifies the address",
    "the impersonation is stopped", "the impersonator signs out", "the impersonator loses the role",
    "the impersonator is banned", "the user stops acting in another's name", "the API key is disabled",
    "the API key is deleted", "the address is verified with a code", "the address is changed with a code",
    "the address is verified with a link", "the address is changed with a link", "the address is changed at once",
    "the member is removed", "the member leaves", "the member's role is lowered", "the organization is deleted",
    "the invitation is canceled", "the invitation is sent again",
    "the passkey is removed", "the password is changed", "a session is revoked", "the other sessions are revoked",
    "the address is verified by a provider", "the trusted devices are forgotten",
    "the second factor is switched on", "the authenticator is replaced", "emailed codes are switched on",
    "the second factor is switched off", "the backup codes are replaced", "wrong codes lock the second factor",
    "the last administrator deletes themselves",
)  # fmt: skip


class _Approved(NamedTuple):
    client: OAuthTestClient
    device_code: str


async def _approve(subject: Subject) -> _Approved:
    client = await device_steps.add_television(subject.service)
    started = await device_steps.start(subject.service, client)
    await subject.do("/device/approve", {"userCode": started["user_code"]})
    return _Approved(client, started["device_code"])


async def _by_code(subject: Subject, held: _Approved) -> bool:
    answer = await device_steps.poll(subject.service, held.client, held.device_code)
    return answer.status_code == 200


WAYS = [
    Way(
        "approved device",
        _approve,
        _by_code,
        DeviceRequest,
        cells=column(
            ends("an approval ends with the session that has approved", *_CALLER_ENDS),
            ends("the sessions from before the mailbox was proven end", *_SIGN_INS, users=UNPROVEN),
            rest=stays("the session that has approved stays", *_ELSEWHERE, *_SIGN_INS),
        ),
    )
]
