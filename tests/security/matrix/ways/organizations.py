"""What a user holds of an organization of somebody else: the membership, the active organization of a session, and
an invitation that they sent, which lets another user in."""

from typing import Any

from models import Session
from models.invitation import Invitation
from models.member import Member
from tests.handlers.steps import token_in
from tests.security.matrix.cells import UNPROVEN, Way, column, ends, stays
from tests.security.matrix.subject import Subject

MEMBERSHIP, ACTIVE, INVITATION = "membership", "active organization", "invitation sent by the user"

_DELETED = ("the user is deleted", "an administrator removes the user", "the user is disowned")
_SESSIONS_END = (
    "an administrator revokes the sessions", "the user is banned", "a ban is lifted",
    "an administrator sets the password", "an administrator resets the second factor",
    "an administrator removes an account of a provider", "an administrator removes the passkey",
    "the password is reset with a code", "the password is reset with a link",
    "the password is changed and the sessions are revoked", "all sessions are revoked", "the user signs out",
)  # fmt: skip
_SIGN_INS = ("the user signs in with a code", "the user signs in with a link")
_PROOFS = (*_SIGN_INS, "the password is reset with a code", "the password is reset with a link")
_ELSEWHERE = (
    "the identity is unlinked", "the password is removed", "an administrator revokes a session",
    "the role is taken", "an administrator changes the address", "an administrator verifies the address",
    "the impersonation is stopped", "the impersonator signs out", "the impersonator loses the role",
    "the impersonator is banned", "the user stops acting in another's name", "the API key is disabled",
    "the API key is deleted", "the address is verified with a code", "the address is changed with a code",
    "the address is verified with a link", "the address is changed with a link", "the address is changed at once",
    "the passkey is removed", "the password is changed", "a session is revoked", "the other sessions are revoked",
    "the address is verified by a provider", "the trusted devices are forgotten",
    "the second factor is switched on", "the authenticator is replaced", "emailed codes are switched on",
    "the second factor is switched off", "the backup codes are replaced", "wrong codes lock the second factor",
    "the last administrator deletes themselves",
)  # fmt: skip


async def _join(subject: Subject) -> dict[str, Any]:
    """Join the organization of Grace as an administrator."""
    made = await subject.do("/organization/create", {"name": "Acme", "slug": "acme"}, subject.grace.headers)
    body = {"email": subject.email, "role": "admin", "organizationId": made["id"]}
    await subject.do("/organization/invite-member", body, subject.grace.headers)
    secret = token_in((await subject.mailed("organization-invitation"))["link"])
    accepted = await subject.do("/organization/accept-invitation", {"invitationId": secret})
    member: dict[str, Any] = accepted["member"]
    return member


async def _is_member(subject: Subject, member: dict[str, Any]) -> bool:
    query = {"organizationId": member["organizationId"]}
    answer = await subject.get("/organization/list-members", subject.grace.headers, **query)
    return answer.status_code == 200 and member["id"] in [each["id"] for each in answer.json()["members"]]


async def _activate(subject: Subject) -> str:
    """Return the organization that is active since the user has joined it."""
    return str((await subject.open(WAYS[0]))["organizationId"])


async def _is_active(subject: Subject, organization_id: str) -> bool:
    answer = await subject.get("/get-session", subject.caller, disableRefresh="true")
    shown = answer.json().get("session") if answer.status_code == 200 else None
    return shown is not None and shown.get("activeOrganizationId") == organization_id


async def _invite(subject: Subject) -> dict[str, Any]:
    body = {"email": subject.second_root.email, "role": "admin"}
    sent: dict[str, Any] = await subject.do("/organization/invite-member", body)
    link = (await subject.mailed("organization-invitation", subject.second_root.email))["link"]
    return {**sent, "secret": token_in(link)}


async def _lets_in(subject: Subject, invitation: dict[str, Any]) -> bool:
    body = {"invitationId": invitation["secret"]}
    answer = await subject.post("/organization/accept-invitation", body, subject.second_root.headers)
    return answer.status_code == 200


WAYS = [
    Way(
        MEMBERSHIP,
        _join,
        _is_member,
        Member,
        is_read_only=True,
        cells=column(
            ends("the membership is deleted with the user", *_DELETED),
            rest=stays(
                "a member is removed by the organization, leaves, or is deleted",
                *_ELSEWHERE,
                *_SESSIONS_END,
                *_SIGN_INS,
            ),
        ),
    ),
    Way(
        ACTIVE,
        _activate,
        _is_active,
        Session,
        is_read_only=True,
        cells=column(
            ends("the session ends; one that replaces it keeps the organization", *_SESSIONS_END, *_DELETED),
            ends("the sessions from before the mailbox was proven end", *_SIGN_INS, users=UNPROVEN),
            rest=stays("a session keeps it while its user is a member", *_ELSEWHERE, *_SIGN_INS),
        ),
    ),
    Way(
        INVITATION,
        _invite,
        _lets_in,
        Invitation,
        cells=column(
            ends("it is deleted with the user who sent it", *_DELETED),
            ends("a banned user invites nobody", "the user is banned"),
            ends("a stranger may have sent it before the mailbox was proven", *_PROOFS, users=UNPROVEN),
            rest=stays("the user is still a member who may invite", *_ELSEWHERE, *_SESSIONS_END, *_SIGN_INS),
        ),
    ),
]
