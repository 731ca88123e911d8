"""What an authorization request still needs from its user (OpenID Connect Core 1.0, 3.1.2.1).

It is evaluated again each time the browser comes to the authorization endpoint with the request.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from domain.context import Caller, Context
from domain.oauth_clients import redirect_uris
from domain.oauth_requests import stored as stored_requests
from domain.oauth_requests.parameters import AuthorizationRequest
from domain.oauth_requests.stored import StoredRequest
from domain.sessions import sso_origin
from models.oauth_consent import CONSENTS_OF_USER, ConsentRow


class Step(StrEnum):
    """The next step of an authorization request: a page for the user, or (`CODE`) the issue of the code."""

    LOGIN = "login"
    CREATE = "create"
    SELECT_ACCOUNT = "select_account"
    CONSENT = "consent"
    CODE = "code"


class LoginReason(StrEnum):
    """Why the user has to sign in."""

    LOGIN = "login"
    """The user is not signed in, or the client asks for a new sign-in by `prompt=login`."""
    MAX_AGE = "max_age"
    """The user's sign-in is longer ago than the client's `max_age`."""
    HINT = "hint"
    """The client's `id_token_hint` names another user."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The next step of a request and, if that is `CODE`, what the code is for."""

    step: Step
    scopes: Sequence[str] = ()
    needs_consent: bool = False
    """Whether the code may only be issued while a stored consent covers it."""


async def evaluate(ctx: Context, asked: AuthorizationRequest, stored: StoredRequest | None) -> Evaluation:
    """Return the next step of a request for the present caller. `stored` is None if the request is not stored yet."""
    caller = ctx.caller
    if caller is None or await login_reason(ctx, asked, stored) is not None:
        return Evaluation(Step.LOGIN)
    is_new = not _is_older(caller, stored_requests.began_at(ctx, stored))
    if "create" in asked.prompt and not (is_new or _is_noted(caller, stored, "created_by")):
        return Evaluation(Step.CREATE)
    # A user who has signed in for the request has selected an account.
    if "select_account" in asked.prompt and not (is_new or _is_noted(caller, stored, "selected_by")):
        return Evaluation(Step.SELECT_ACCOUNT)
    scopes = asked.scopes
    # defence: O5 session-of-consent
    has_consented = _is_noted(caller, stored, "consent_by")
    if has_consented and stored is not None:
        scopes = (stored.row.consent_scopes or "").split()
    needs_consent = must_consent(asked, scopes)
    if not has_consented and _asks_each_time(asked):  # defence: O5 each-time
        return Evaluation(Step.CONSENT)
    # Also after a consent to this request: the user may have revoked it since.
    if needs_consent and not covers(await _consent(ctx, caller, asked), asked, scopes):
        return Evaluation(Step.CONSENT)
    return Evaluation(Step.CODE, scopes, needs_consent=needs_consent)


async def login_reason(
    ctx: Context, asked: AuthorizationRequest, stored: StoredRequest | None
) -> LoginReason | None:
    """Return why the caller has to sign in for a request; None if they need not. `stored` is as for `evaluate`."""
    caller = ctx.caller
    if caller is None:
        return LoginReason.LOGIN
    # A user who has signed in since the request was made has done what it asks for; otherwise `max_age=0` would ask
    # without end.
    is_older = _is_older(caller, stored_requests.began_at(ctx, stored))
    if "login" in asked.prompt and is_older:  # defence: O8 prompt-login
        return LoginReason.LOGIN
    if asked.max_age is not None and is_older:
        # The time of the sign-in, which no extension of the session changes.
        age = ctx.now - sso_origin.authenticated_at(
            caller.session, await sso_origin.read(ctx, caller.session)
        )
        if age > timedelta(seconds=asked.max_age):  # defence: O8 max-age
            return LoginReason.MAX_AGE
    if asked.hinted_user not in (None, caller.user.id):
        return LoginReason.HINT
    return None


def must_consent(asked: AuthorizationRequest, scopes: Sequence[str]) -> bool:
    """Return whether a code with these scopes needs a stored consent of the user."""
    # Access without the user must never begin without a word to them.
    return not asked.client.metadata.get("skip_consent") or "offline_access" in scopes


def covers(consent: ConsentRow | None, asked: AuthorizationRequest, scopes: Sequence[str]) -> bool:
    """Return whether a consent covers these scopes, and the resources of the request; False if the consent is None."""
    # defence: O5 stored-consent
    return (
        consent is not None
        and set(scopes) <= set(consent.scopes.split())
        and set(asked.resources) <= set(consent.resources.split())
    )


def _asks_each_time(asked: AuthorizationRequest) -> bool:
    """Return whether a consent to an earlier request does not count."""
    if "consent" in asked.prompt:
        return True
    metadata = asked.client.metadata
    # Any program of the device can pretend to be this client (RFC 8252, 8.6).
    is_public = metadata["token_endpoint_auth_method"] == "none"  # noqa: S105 - a method
    return is_public and redirect_uris.is_local(asked.redirect_uri) and not metadata.get("skip_consent")


async def _consent(ctx: Context, caller: Caller, asked: AuthorizationRequest) -> ConsentRow | None:
    consents = await ctx.reads.all(CONSENTS_OF_USER, caller.user.id)
    return next((one for one in consents if one.client_id == asked.client.client_id), None)


def _is_older(caller: Caller, moment: datetime) -> bool:
    """Return whether the caller's session is older than a moment."""
    return caller.session.created_at < moment


def _is_noted(caller: Caller, stored: StoredRequest | None, column: str) -> bool:
    """Return whether the caller's session is noted on a request."""
    return stored is not None and getattr(stored.row, column) == caller.session.id
