"""Administrators act on the user, and sessions in somebody else's name are stopped."""

from typing import Any

from tests.handlers.steps import NEW_PASSWORD
from tests.security.matrix.cells import UNVERIFIED, WITH_TWO_FACTOR, Cells, Event, column, ends, stays
from tests.security.matrix.events.emails import VERIFIED_ADDRESS, address_cells
from tests.security.matrix.events.passwords import OWN_CREDENTIALS, WITH_PASSWORD, WITH_SESSIONS
from tests.security.matrix.events.sessions import BOUND_ENDS, KEPT
from tests.security.matrix.events.two_factor import IS_OFF
from tests.security.matrix.events.user_deletion import deletion_cells
from tests.security.matrix.groups import (
    ALL,
    BOUND,
    CHALLENGE,
    CHANGE_CODE,
    DELETION_LINK,
    DEVICE,
    FACTORS,
    IDENTITY,
    IMPERSONATED,
    IMPERSONATING,
    JWT,
    KEY,
    PASSKEY,
    PASSWORD,
    SESSION,
    SESSIONS,
    SIGN_IN_MAILS,
)
from tests.security.matrix.subject import Happen, Subject

NEW = "ada.by.admin@example.com"
BAN_ENDS = ends("a ban revokes sessions and challenges", *SESSIONS, *BOUND, *CHALLENGE)
ONLY_THIS = stays("the user's own sessions, credentials and tokens stay", *ALL)
_OPENED_WITH_IT = ends(
    "the removed way may have begun sessions and pending sign-ins", *SESSIONS, *BOUND, *CHALLENGE
)
_OTHER_WAYS = stays("other ways to sign in are unchanged", *ALL)
_OWN_IMPERSONATION = ends(
    "an impersonation needs a live session of an administrator who may impersonate", IMPERSONATED
)


async def _act(subject: Subject, operation: str, body: dict[str, Any] | None = None) -> None:
    await subject.do(
        f"/admin/{operation}", {"userId": subject.id} if body is None else body, subject.root.headers
    )


def _acting(operation: str, **body: Any) -> Happen:
    """Return the event of an operation that an administrator does to the user."""

    async def happen(subject: Subject) -> None:
        await _act(subject, operation, {"userId": subject.id, **body})

    return happen


async def _revoke_session(subject: Subject) -> None:
    listed = await subject.do("/admin/list-user-sessions", {"userId": subject.id}, subject.root.headers)
    wanted = (await subject.get("/get-session", subject.held[SESSION])).json()["session"]["id"]
    handles = [each["token"] for each in listed["sessions"] if each["id"] == wanted]
    await _act(subject, "revoke-user-session", {"sessionToken": handles[0]})


async def _unlink(subject: Subject) -> None:
    found = await subject.get("/admin/list-user-accounts", subject.root.headers, id=subject.id)
    [account] = [row["id"] for row in found.json()["accounts"] if row["providerId"] == "test"]
    await _act(subject, "unlink-user-account", {"userId": subject.id, "accountId": account})


async def _remove_passkey(subject: Subject) -> None:
    found = await subject.get("/admin/list-user-passkeys", subject.root.headers, id=subject.id)
    for passkey in found.json()["passkeys"]:
        await _act(subject, "remove-user-passkey", {"userId": subject.id, "passkeyId": passkey["id"]})


async def _lift_ban(subject: Subject) -> None:
    await _act(subject, "ban-user")
    await _act(subject, "unban-user")


async def _set_password(subject: Subject) -> None:
    await _act(subject, "set-user-password", {"userId": subject.id, "newPassword": NEW_PASSWORD})
    subject.password = NEW_PASSWORD


async def _change_address(subject: Subject) -> None:
    await _act(subject, "update-user", {"userId": subject.id, "data": {"email": NEW}})
    subject.email = NEW


async def _stop(subject: Subject) -> None:
    await subject.do("/admin/stop-impersonating", headers=subject.held[IMPERSONATED])


async def _stop_own(subject: Subject) -> None:
    await subject.do("/admin/stop-impersonating", headers=subject.held[IMPERSONATING])


async def _sign_out_impersonator(subject: Subject) -> None:
    await subject.do("/sign-out", headers=subject.root.headers)


def _acting_on_impersonator(operation: str, **body: Any) -> Happen:
    async def happen(subject: Subject) -> None:
        body_of = {"userId": subject.root.id, **body}
        await subject.do(f"/admin/{operation}", body_of, subject.second_root.headers)

    return happen


def _over(name: str, happen: Happen, *audit: str) -> Event:
    """Return an event that ends the session of an administrator in the user's name."""
    return Event(name, happen, audit, column(_OWN_IMPERSONATION, rest=ONLY_THIS))


def _banned_cells() -> tuple[Cells, ...]:
    return column(
        BAN_ENDS,
        ends(
            "a banned user cannot sign in",
            PASSWORD,
            *IDENTITY,
            *PASSKEY,
            KEY,
            *SIGN_IN_MAILS,
            *FACTORS,
            DEVICE,
        ),
        ends("it can be used in a session only", DELETION_LINK, CHANGE_CODE),
        stays("a signed token cannot be revoked; it is valid until it expires", JWT),
        rest=stays("it changes the account but creates no session", *ALL),
    )


EVENTS = [
    Event(
        "an administrator revokes a session",
        _revoke_session,
        ("admin.sessions_listed", "session.revoked"),
        column(ends("this session is revoked", SESSION), BOUND_ENDS, rest=KEPT),
    ),
    Event(
        "an administrator revokes the sessions",
        _acting("revoke-user-sessions"),
        ("session.revoked_all",),
        column(
            ends("all sessions end, and impersonations that were started from them", *SESSIONS),
            BOUND_ENDS,
            rest=KEPT,
        ),
    ),
    Event("the user is banned", _acting("ban-user"), ("user.banned",), _banned_cells()),
    Event(
        "a ban is lifted",
        _lift_ban,
        ("user.banned", "user.unbanned"),
        column(BAN_ENDS, rest=stays("lifting a ban restores what the ban only refused", *ALL)),
    ),
    Event(
        "the role is taken",
        _acting("set-role", role="user"),
        ("user.role_changed",),
        column(
            ends("the user may no longer impersonate", IMPERSONATING),
            rest=stays("a change of roles ends no other session", *ALL),
        ),
    ),
    Event(
        "an administrator sets the password",
        _set_password,
        ("password.set_by_admin",),
        column(WITH_PASSWORD, WITH_SESSIONS, rest=OWN_CREDENTIALS),
    ),
    Event("an administrator changes the address", _change_address, ("email.changed",), address_cells()),
    Event(
        "an administrator verifies the address",
        _acting("update-user", data={"emailVerified": True}),
        ("user.updated",),
        column(rest=stays("the administrator confirms the address; the mailbox is not proven", *ALL)),
        UNVERIFIED,
        VERIFIED_ADDRESS,
    ),
    Event(
        "an administrator resets the second factor",
        _acting("reset-two-factor"),
        ("two_factor.disabled", "session.revoked_all"),
        column(
            ends(
                "the second factor and all sessions are removed",
                *FACTORS,
                DEVICE,
                *CHALLENGE,
                *SESSIONS,
                *BOUND,
            ),
            rest=stays("the password and emailed links are unchanged", *ALL),
        ),
        WITH_TWO_FACTOR,
        IS_OFF,
    ),
    Event(
        "an administrator removes an account of a provider",
        _unlink,
        ("account.unlinked", "session.revoked_all"),
        column(ends("the identity is removed", *IDENTITY), _OPENED_WITH_IT, rest=_OTHER_WAYS),
    ),
    Event(
        "an administrator removes the passkey",
        _remove_passkey,
        ("passkey.removed", "session.revoked_all"),
        column(ends("the passkey is removed", *PASSKEY), _OPENED_WITH_IT, rest=_OTHER_WAYS),
    ),
    Event("an administrator removes the user", _acting("remove-user"), ("user.deleted",), deletion_cells()),
    _over("the impersonation is stopped", _stop, "impersonation.stopped"),
    _over("the impersonator signs out", _sign_out_impersonator, "sign_out"),
    _over(
        "the impersonator loses the role",
        _acting_on_impersonator("set-role", role="user"),
        "user.role_changed",
    ),
    _over("the impersonator is banned", _acting_on_impersonator("ban-user"), "user.banned"),
    Event(
        "the user stops acting in another's name",
        _stop_own,
        ("impersonation.stopped",),
        column(ends("the impersonation is stopped", IMPERSONATING), rest=ONLY_THIS),
    ),
]

OTHER_AUDIT_EVENTS = {
    "admin.refused": "a refusal",
    "user.exported": "reads the data of the user",
    "admin.exported": "only reads",
    "admin.users_searched": "only reads",
    "impersonation.started": "opens a way in",
    "impersonation.ended": "recorded when a session that a column of the impersonator has ended is presented",
}
