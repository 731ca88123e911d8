"""What happened, one function per event (behaviour chapter 11).

A success is written in the transaction of the action: no record, no action. A failure or refusal is written after the
rollback in a transaction of its own, and whether that works changes nothing. `server/requests.py` does both. Details
hold no secret and no address: they outlive the user.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import update
from sqlmodel import col

from domain import secrets
from domain.context import Context
from domain.errors import Refusal
from models import Audit, AuditRow, Outcome, User

HINT = "audit.hint"
"""The purpose of the keyed digest that stands for an identifier nobody has."""

OAUTH_STATE_REFUSED = "oauth_state.refused"
ANYBODYS = frozenset({OAUTH_STATE_REFUSED})
"""The events that anybody brings about without end and without a limit that stops them: few of them are kept."""

Refused = Refusal | type[Refusal]


def hints(ctx: Context, identifier: str) -> list[str]:
    """Give what may stand for a typed identifier in records, one for each service key, the newest first."""
    return [digest.hex() for digest in ctx.cipher.digests(HINT, identifier.lower())]


def _record(  # noqa: PLR0913 - one parameter per column
    ctx: Context,
    event: str,
    *,
    user_id: str | None = None,
    actor_id: str | None = None,
    outcome: Outcome = Outcome.SUCCESS,
    refusal: Refused | None = None,
    code: str | None = None,
    hint: str | None = None,
    session_id: str | None = None,
    method: str | None = None,
    by_operator: bool = False,
    **details: Any,
) -> AuditRow:
    """Add a record; user, actor and session are the caller's unless given, but a `hint` stands for nobody.

    The operator acts without a user of the service: details say so.
    """
    caller = ctx.caller
    if caller is not None:
        user_id = user_id or (caller.user.id if hint is None else None)
        actor_id = actor_id or caller.session.impersonated_by or caller.user.id
        session_id = session_id or caller.session.id
    record = AuditRow(
        id=secrets.token(),
        time=ctx.now,
        event=event,
        outcome=outcome,
        code=refusal.code if refusal is not None else code,
        user_id=user_id,
        hint=hint,
        actor_id=actor_id,
        session_id=session_id,
        method=method,
        address=ctx.client.address,
        user_agent=ctx.client.user_agent,
        request_id=ctx.client.request_id or None,
        details={"by": "operator", **details} if by_operator else details,
    )
    ctx.records.append(record)
    return record


# --- Accounts and providers ------------------------------------------------------------------------------------


def account_linked(ctx: Context, user_id: str, provider_id: str) -> None:
    """An identity became one more way for a user to sign in."""
    _record(ctx, "account.linked", user_id=user_id, provider=provider_id)


def link_refused(ctx: Context, user_id: str, provider_id: str, code: str, *, said: str | None = None) -> None:
    """An identity was not joined to a user; the provider may have `said` why, in a word."""
    _record(
        ctx,
        "account.link_refused",
        user_id=user_id,
        outcome=Outcome.REFUSED,
        code=code,
        provider=provider_id,
        **_said(said),
    )


def _said(word: str | None) -> dict[str, Any]:
    return {} if word is None else {"error": word}


def account_unlinked(ctx: Context, provider_id: str) -> None:
    """The caller gave one way to sign in up."""
    _record(ctx, "account.unlinked", provider=provider_id)


def account_dropped(ctx: Context, user_id: str, provider_id: str) -> None:
    """An identity was taken from a user, because whoever joined it had not proven the address."""
    _record(ctx, "account.unlinked", user_id=user_id, provider=provider_id, by="reset")


def provider_token_read(ctx: Context, provider_id: str) -> None:
    """The caller got a provider's tokens."""
    _record(ctx, "provider_token.read", provider=provider_id)


def provider_token_refreshed(ctx: Context, provider_id: str) -> None:
    """A provider has renewed the caller's tokens."""
    _record(ctx, "provider_token.refreshed", provider=provider_id)


def provider_token_failed(ctx: Context, provider_id: str, code: str) -> None:
    """A provider did not renew the caller's tokens."""
    _record(ctx, "provider_token.failed", outcome=Outcome.FAILURE, code=code, provider=provider_id)


# --- Sign-in, sessions -----------------------------------------------------------------------------------------


def sign_in_succeeded(ctx: Context, user_id: str, session_id: str, method: str) -> None:
    """A proven user got a session, by the proof that came last."""
    _record(ctx, "sign_in.succeeded", user_id=user_id, actor_id=user_id, session_id=session_id, method=method)


def sign_in_pending(ctx: Context, user_id: str, method: str) -> None:
    """A user has proven all but the second factor."""
    _record(ctx, "sign_in.pending", user_id=user_id, actor_id=user_id, method=method)


def sign_in_failed(ctx: Context, user_id: str | None, identifier: str, method: str, refusal: Refused) -> None:
    """The proof was wrong; without a user the identifier is kept as a hint.

    The hint is made for a known user, too, so that both take the same time.
    """
    [hint, *_] = hints(ctx, identifier)
    _record(
        ctx,
        "sign_in.failed",
        user_id=user_id,
        hint=hint if user_id is None else None,
        method=method,
        outcome=Outcome.FAILURE,
        refusal=refusal,
    )


def sign_in_turned_away(ctx: Context, method: str, code: str, *, said: str | None = None) -> None:
    """Nobody came in through a provider: it proved nothing, or nobody who may; or it has refused and `said` so."""
    outcome = Outcome.FAILURE if said is None else Outcome.REFUSED
    _record(ctx, "sign_in.failed", method=method, outcome=outcome, code=code, **_said(said))


def sign_in_unverified(ctx: Context, user_id: str, method: str, refusal: Refused) -> None:
    """The proof was right, but the user's address was never proven."""
    _record(ctx, "sign_in.failed", user_id=user_id, method=method, outcome=Outcome.REFUSED, refusal=refusal)


def sign_in_banned(ctx: Context, user_id: str, method: str | None, refusal: Refused) -> None:
    """The proof was right, but the user is shut out."""
    _record(ctx, "sign_in.banned", user_id=user_id, method=method, outcome=Outcome.REFUSED, refusal=refusal)


def sign_out(ctx: Context) -> None:
    """The caller has ended their current session."""
    _record(ctx, "sign_out")


def session_created(ctx: Context, session_id: str, method: str) -> None:
    """The caller got a session without signing in: in place of those a change of password has ended."""
    _record(ctx, "session.created", session_id=session_id, method=method)


def session_revoked(ctx: Context, session_id: str) -> None:
    """The caller has ended one of their sessions, the one that is named."""
    _record(ctx, "session.revoked", session_id=session_id)


def session_displaced(ctx: Context, user_id: str, session_id: str) -> None:
    """A session of a user has ended because there is a newer one more than they may have."""
    _record(ctx, "session.revoked", user_id=user_id, session_id=session_id, reason="too many")


def sessions_revoked_all(
    ctx: Context, user_id: str | None, sessions_ended: int, *, by_operator: bool = False
) -> None:
    """All sessions of a user have ended, or those of all users (None), so many of them live."""
    _record(
        ctx, "session.revoked_all", user_id=user_id, by_operator=by_operator, sessions_ended=sessions_ended
    )


def sessions_revoked_others(ctx: Context, sessions_ended: int) -> None:
    """All sessions of the caller but the current one have ended, so many of them live."""
    _record(ctx, "session.revoked_others", sessions_ended=sessions_ended)


# --- Users, e-mail addresses -----------------------------------------------------------------------------------


def user_created(ctx: Context, user_id: str, method: str, *, by_operator: bool = False) -> None:
    """There is a new user."""
    actor_id = None if by_operator else user_id
    _record(ctx, "user.created", user_id=user_id, actor_id=actor_id, method=method, by_operator=by_operator)


def user_not_created(ctx: Context, owner_id: str, refusal: Refused) -> None:
    """Somebody wanted to sign up with an address that is the user's already."""
    _record(
        ctx,
        "user.created",
        user_id=owner_id,
        method="password",
        outcome=Outcome.REFUSED,
        refusal=refusal,
    )


def user_updated(ctx: Context, user_id: str, fields: Iterable[str], *, by_operator: bool = False) -> None:
    """These columns of the user were set."""
    _record(ctx, "user.updated", user_id=user_id, by_operator=by_operator, fields=sorted(fields))


def user_deletion_requested(ctx: Context) -> None:
    """The caller was mailed a link that deletes them."""
    _record(ctx, "user.deletion_requested")


def user_deleted(ctx: Context, user_id: str, *, by_operator: bool = False) -> None:
    """The user is gone; their address does not stay behind in this record either."""
    record = _record(ctx, "user.deleted", user_id=user_id, by_operator=by_operator)
    record.address = record.user_agent = None


async def anonymise(ctx: Context, user_id: str) -> None:
    """Take network address and User-Agent out of every record of a user who is deleted; their id stays."""
    records = update(Audit).where(col(Audit.user_id) == user_id).values(address=None, user_agent=None)
    await ctx.db.execute(records.execution_options(synchronize_session=False))


def verification_requested(ctx: Context, user: User | None, email: str) -> None:
    """Somebody asked for a verification link; one goes out if there is such a user and something to verify."""
    reason = "no such user" if user is None else "verified already" if user.email_verified else None
    _request(ctx, "email.verification_requested", user, email, reason)


def email_verified(ctx: Context, user_id: str) -> None:
    """The user's address is proven."""
    _record(ctx, "email.verified", user_id=user_id)


def email_change_requested(ctx: Context, *, is_taken: bool) -> None:
    """The caller wants another address; nothing comes of it when that is somebody else's."""
    if is_taken:
        _record(ctx, "email.change_requested", outcome=Outcome.REFUSED, reason="address taken")
    else:
        _record(ctx, "email.change_requested")


def email_changed(ctx: Context, user_id: str) -> None:
    """The user has another address."""
    _record(ctx, "email.changed", user_id=user_id)


def _request(ctx: Context, event: str, user: User | None, email: str, reason: str | None) -> None:
    """Record a request that was filed by anybody and is resolved now; a `reason` says why nothing came of it."""
    user_id = user.id if user is not None else None
    hint = None if user is not None else hints(ctx, email)[0]
    if reason is None:
        _record(ctx, event, user_id=user_id, hint=hint)
    else:
        _record(ctx, event, user_id=user_id, hint=hint, outcome=Outcome.FAILURE, reason=reason)


# --- Passwords -------------------------------------------------------------------------------------------------


def password_changed(ctx: Context, user_id: str) -> None:
    """The caller has replaced their password."""
    _record(ctx, "password.changed", user_id=user_id)


def password_check_failed(ctx: Context, refusal: Refused) -> None:
    """The caller has entered a wrong password."""
    _record(ctx, "password.check_failed", outcome=Outcome.FAILURE, refusal=refusal)


def password_rehashed(ctx: Context, user_id: str) -> None:
    """The hash of an unchanged password was replaced by one of current policy."""
    _record(ctx, "password.rehashed", user_id=user_id, actor_id=user_id)


def password_reset_requested(ctx: Context, user: User | None, email: str) -> None:
    """Somebody asked for a reset link; one goes out if there is such a user."""
    _request(ctx, "password_reset.requested", user, email, "no such user" if user is None else None)


def password_reset_completed(ctx: Context, user_id: str, sessions_ended: int) -> None:
    """A forgotten password was replaced by the mailed token."""
    _record(
        ctx,
        "password_reset.completed",
        user_id=user_id,
        actor_id=user_id,
        sessions_ended=sessions_ended,
    )


def password_reset_failed(ctx: Context, user_id: str | None, refusal: Refused) -> None:
    """A token resets nothing; the user is known when it has been used up a moment ago."""
    _record(ctx, "password_reset.failed", user_id=user_id, outcome=Outcome.FAILURE, refusal=refusal)


# --- The second factor -----------------------------------------------------------------------------------------


def enrolment_started(ctx: Context, user_id: str) -> None:
    """A secret for an authenticator waits to be confirmed, and a set of backup codes with it."""
    _record(ctx, "two_factor.enrolment_started", user_id=user_id, method="totp")


def two_factor_enabled(ctx: Context, user_id: str, method: str, *, was_on: bool) -> None:
    """A second factor counts from now on; with one `was_on` before, another authenticator took its place."""
    _record(ctx, "two_factor.enabled", user_id=user_id, method=method, was_on=was_on)


def two_factor_disabled(ctx: Context, user_id: str, *, by_operator: bool = False) -> None:
    """The user signs in with the password alone."""
    _record(ctx, "two_factor.disabled", user_id=user_id, by_operator=by_operator)


def two_factor_verified(ctx: Context, user_id: str, method: str) -> None:
    """A code was right."""
    _record(ctx, "two_factor.verified", user_id=user_id, actor_id=user_id, method=method)


def two_factor_failed(ctx: Context, user_id: str, method: str, refusal: Refused) -> None:
    """A code was wrong, or not valid any more."""
    _record(
        ctx,
        "two_factor.failed",
        user_id=user_id,
        method=method,
        outcome=Outcome.FAILURE,
        refusal=refusal,
    )


def two_factor_refused(ctx: Context, user_id: str, refusal: Refused) -> None:
    """No code was tried: the second factor is locked, or no attempt is left."""
    _record(ctx, "two_factor.failed", user_id=user_id, outcome=Outcome.REFUSED, refusal=refusal)


def two_factor_locked(ctx: Context, user_id: str) -> None:
    """Wrong codes have locked the second factor; once per lock."""
    _record(ctx, "two_factor.locked", user_id=user_id)


def otp_requested(ctx: Context, user_id: str) -> None:
    """A code was asked for."""
    _record(ctx, "two_factor.otp_requested", user_id=user_id, method="otp")


def backup_codes_generated(ctx: Context, user_id: str, codes: int) -> None:
    """New backup codes took the place of all."""
    _record(ctx, "backup_codes.generated", user_id=user_id, codes=codes)


def backup_code_used(ctx: Context, user_id: str) -> None:
    """A backup code is used up."""
    _record(ctx, "backup_code.used", user_id=user_id, actor_id=user_id, method="backup_code")


def device_trusted(ctx: Context, user_id: str) -> None:
    """The device is not asked for the second factor from now on."""
    _record(ctx, "trusted_device.added", user_id=user_id, actor_id=user_id)


def trusted_device_used(ctx: Context, user_id: str) -> None:
    """The device was not asked for the second factor."""
    _record(ctx, "trusted_device.used", user_id=user_id, actor_id=user_id, method="trusted_device")


def trusted_devices_removed(ctx: Context, user_id: str, devices: int) -> None:
    """So many devices will be asked for the second factor again."""
    _record(ctx, "trusted_device.removed", user_id=user_id, devices=devices)


# --- Protection, operation -------------------------------------------------------------------------------------


def limit_reached(
    ctx: Context, limit: str, *, user_id: str | None = None, identifier: str | None = None, **details: Any
) -> None:
    """A limit is spent, by the name of its setting; to be called once per window and key (behaviour 11).

    `identifier` is what was typed where there is no such user.
    """
    hint = None if identifier is None else hints(ctx, identifier)[0]
    _record(ctx, "limit.reached", user_id=user_id, hint=hint, outcome=Outcome.REFUSED, limit=limit, **details)


def origin_refused(ctx: Context, path: str | None, refusal: Refused) -> None:
    """A page of an untrusted origin may have sent the request."""
    _record(ctx, "origin.refused", outcome=Outcome.REFUSED, refusal=refusal, path=path)


def redirect_refused(ctx: Context, path: str | None, refusal: Refused) -> None:
    """The request would have led to an untrusted place."""
    _record(ctx, "redirect.refused", outcome=Outcome.REFUSED, refusal=refusal, path=path)


def service_started(ctx: Context, process_id: int) -> None:
    """A process serves."""
    _record(ctx, "service.started", process=process_id)


def secrets_rewritten(ctx: Context, rewritten: Mapping[str, int], remaining: int) -> None:
    """So many values of each column were encrypted anew; so many may remain under an older secret."""
    _record(ctx, "secrets.rewritten", rewritten=dict(rewritten), remaining=remaining)


def mail_failed(ctx: Context, user_id: str | None, mail_id: str, template: str, reason: str) -> None:
    """A mail was given up. `reason` holds no secret and no address."""
    _record(
        ctx,
        "mail.failed",
        user_id=user_id,
        outcome=Outcome.FAILURE,
        mail=mail_id,
        template=template,
        reason=reason,
    )


def oauth_state_refused(ctx: Context, provider_id: str, code: str) -> None:
    """A browser came back with a state that it did not get here, or not any more.

    The provider is part of an address that anybody can make up, so that only a configured one is named.
    """
    known = provider_id if provider_id in ctx.providers else None
    _record(ctx, OAUTH_STATE_REFUSED, outcome=Outcome.REFUSED, code=code, provider=known)
