"""Audit events of API keys."""

from collections.abc import Iterable
from typing import Any

from domain.audit.record import Event, Refused, record
from domain.authentication_methods import AuthenticationMethod
from domain.context import Context
from domain.localization import N_
from models import Outcome
from models.api_key import ApiKeyRow

CREATED = Event("api_key.created", N_("An API key was created"), important=True)
UPDATED = Event("api_key.updated", N_("An API key was changed"))
DELETED = Event("api_key.deleted", N_("An API key was deleted"), important=True)
DISABLED = Event("api_key.disabled", N_("An API key was switched off"), important=True)
REFUSED = Event("api_key.refused", N_("An API key was not accepted"), in_history=False, unbounded=True)

API_KEY = AuthenticationMethod("api_key", N_("API key"))


def created(ctx: Context, row: ApiKeyRow) -> None:
    """Record that a key was created."""
    _record(ctx, CREATED, row, kind=row.kind, start=row.start)


def updated(ctx: Context, row: ApiKeyRow, fields: Iterable[str]) -> None:
    """Record that fields of a key were changed; `fields` are the names of the fields."""
    _record(ctx, UPDATED, row, fields=sorted(fields))


def deleted(ctx: Context, row: ApiKeyRow) -> None:
    """Record that a key was deleted."""
    _record(ctx, DELETED, row, kind=row.kind, start=row.start)


def disabled(ctx: Context, user_id: str, number: int) -> None:
    """Record that the keys of a user were disabled, because the password was reset."""
    record(ctx, DISABLED, user_id=user_id, number=number)


def refused(ctx: Context, row: ApiKeyRow, refusal: Refused, verifier: str | None) -> None:
    """Record that a key was refused; `verifier` is the service that asked, None for a request with the key itself."""
    record(
        ctx,
        REFUSED,
        user_id=row.user_id,
        outcome=Outcome.REFUSED,
        refusal=refusal,
        method=API_KEY.name,
        key=row.id,
        verifier=verifier,
        **_organization(row),
    )


def disowned(ctx: Context, row: ApiKeyRow) -> None:
    """Record that a key was deleted because the owner of an address deletes the account that had created it."""
    record(ctx, DELETED, key=row.id, kind=row.kind, start=row.start, **_organization(row))


def _record(ctx: Context, event: Event, row: ApiKeyRow, **details: Any) -> None:
    details |= _organization(row)
    record(ctx, event, user_id=row.user_id, by_operator=ctx.is_operator, key=row.id, **details)


def _organization(row: ApiKeyRow) -> dict[str, Any]:
    return {} if row.organization_id is None else {"organizationId": row.organization_id}
