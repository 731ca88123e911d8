"""The link with which the owner of an address deletes the user that somebody else created."""

import re

from models import OneTimeToken, Purpose
from tests.security.matrix.cells import UNPROVEN, UNVERIFIED, Way, column, ends, stays
from tests.security.matrix.subject import Subject

_ELSEWHERE = (
    "the identity is unlinked", "the password is removed", "an administrator revokes a session",
    "an administrator revokes the sessions", "the user is banned", "a ban is lifted", "the role is taken",
    "an administrator sets the password", "an administrator resets the second factor",
    "an administrator removes an account of a provider", "an administrator removes the passkey",
    "the impersonation is stopped", "the impersonator signs out", "the impersonator loses the role",
    "the impersonator is banned", "the user stops acting in another's name", "the API key is disabled",
    "the API key is deleted", "the passkey is removed", "the password is changed",
    "the password is changed and the sessions are revoked", "a session is revoked", "the other sessions are revoked",
    "all sessions are revoked", "the user signs out", "the trusted devices are forgotten",
    "the second factor is switched on", "the authenticator is replaced", "the second factor is switched off",
    "the backup codes are replaced", "wrong codes lock the second factor",
)  # fmt: skip
_PROOFS = (
    "the user signs in with a code", "the user signs in with a link", "the password is reset with a code",
    "the password is reset with a link",
)  # fmt: skip


async def _link(subject: Subject) -> str:
    [*_, token] = re.findall(r"/not-me\?token=(\w+)", (await subject.mailed("verify-email"))["text"])
    return str(token)


async def _by_link(subject: Subject, token: str) -> bool:
    return (await subject.post("/disown-account", {"token": token})).status_code == 200


WAYS = [
    Way(
        "disown link",
        _link,
        _by_link,
        OneTimeToken,
        Purpose.DISOWN,
        UNVERIFIED,
        "emails to verified addresses have no such link",
        cells=column(
            ends(
                "the address is verified",
                "an administrator verifies the address",
                "the address is verified with a code",
                "the address is verified with a link",
                "the address is verified by a provider",
            ),
            ends(
                "it was sent to another address",
                "an administrator changes the address",
                "the address is changed with a code",
                "the address is changed at once",
            ),
            ends(
                "every row of the user is deleted",
                "an administrator removes the user",
                "the user is deleted",
                "the user is disowned",
            ),
            ends("the last administrator is not deleted", "the last administrator deletes themselves"),
            ends("what was prepared before the mailbox was proven is removed", *_PROOFS, users=UNPROVEN),
            rest=stays(
                "whoever owns the address can delete the user while it is not verified",
                *_ELSEWHERE,
                *_PROOFS,
                users=UNVERIFIED,
            ),
        ),
    )
]
