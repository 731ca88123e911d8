"""Audit events of OAuth clients."""

from collections.abc import Iterable
from typing import Any, Literal

from domain.audit.record import Event, record
from domain.context import Context
from domain.localization import N_
from domain.oauth_clients.errors import InvalidClient
from models import Outcome
from models.oauth_client import ClientRow

CREATED = Event("oauth_client.created", N_("An application was added"), important=True)
UPDATED = Event("oauth_client.updated", N_("An application was changed"))
DISABLED = Event("oauth_client.disabled", N_("An application was disabled"), important=True)
DELETED = Event("oauth_client.deleted", N_("An application was deleted"), important=True)
SECRET_ROTATED = Event(
    "oauth_client.secret_rotated", N_("The secret of an application was replaced"), important=True
)
REGISTERED = Event("oauth_client.registered", N_("An application has registered itself"), in_history=False)
DOCUMENT_FETCHED = Event(
    "oauth_client.document_fetched", N_("The document of an application was read"), in_history=False
)
DOCUMENT_REFUSED = Event(
    "oauth_client.document_refused",
    N_("The document of an application could not be used"),
    in_history=False,
    unbounded=True,
)
GRANTS_REVOKED = Event(
    "oauth_client.grants_revoked", N_("The access of applications was ended"), important=True
)
AUTHENTICATION_FAILED = Event(
    "oauth.client_auth_failed",
    N_("An application has authenticated"),
    failure=N_("An application could not authenticate"),
    in_history=False,
    unbounded=True,
)

Failure = Literal["unknown", "disabled", "method", "secret", "assertion"]
"""Why the authentication of a client has failed."""


def created(ctx: Context, client: ClientRow) -> None:
    """Record that a client was added."""
    _record(ctx, CREATED, client, source=client.source)


def updated(ctx: Context, client: ClientRow, members: Iterable[str]) -> None:
    """Record that a client was changed; `members` are the names of the changed metadata."""
    _record(ctx, UPDATED, client, members=sorted(members))


def disabled(ctx: Context, client: ClientRow) -> None:
    """Record that a client was disabled and all its grants were ended."""
    _record(ctx, DISABLED, client)


def deleted(ctx: Context, client: ClientRow) -> None:
    """Record that a client was deleted with all its grants."""
    _record(ctx, DELETED, client)


def secret_rotated(ctx: Context, client: ClientRow) -> None:
    """Record that the secret of a client was replaced."""
    _record(ctx, SECRET_ROTATED, client)


def grants_revoked(
    ctx: Context, number: int, *, user_id: str | None = None, client_id: str | None = None
) -> None:
    """Record that all grants of a user, or of a client, were ended; `number` is how many."""
    details: dict[str, Any] = {"number": number} | ({} if client_id is None else {"client": client_id})
    record(ctx, GRANTS_REVOKED, user_id=user_id, by_operator=ctx.is_operator, **details)


def registered(ctx: Context, client: ClientRow, token: str | None) -> None:
    """Record that a client registered itself. `token` is the label of the initial access token; None without one."""
    details: dict[str, Any] = {} if token is None else {"token": token}
    record(ctx, REGISTERED, client=client.client_id, **details)


def document_fetched(ctx: Context, client_id: str, members: Iterable[str]) -> None:
    """Record that the metadata document of a client was read for the first time, or had changed.

    `members` are the names of the changed members; empty at the first time.
    """
    record(ctx, DOCUMENT_FETCHED, client=client_id, members=sorted(members))


def document_refused(ctx: Context, client_id: str, reason: str) -> None:
    """Record that the metadata document of a client could not be fetched or used."""
    record(
        ctx, DOCUMENT_REFUSED, outcome=Outcome.REFUSED, refusal=InvalidClient, client=client_id, reason=reason
    )


def authentication_failed(ctx: Context, reason: Failure, client_id: str | None) -> None:
    """Record that a client could not authenticate. `client_id` is None if the client is unknown."""
    known: dict[str, Any] = {} if client_id is None else {"client": client_id}
    record(ctx, AUTHENTICATION_FAILED, outcome=Outcome.REFUSED, refusal=InvalidClient, reason=reason, **known)


def _record(ctx: Context, event: Event, client: ClientRow, **details: Any) -> None:
    record(ctx, event, by_operator=ctx.is_operator, client=client.client_id, **details)
