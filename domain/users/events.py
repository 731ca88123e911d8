"""Audit events about users (behaviour chapter 11)."""

from collections.abc import Iterable

from domain.audit.record import Event, Refused, record
from domain.context import Context
from models import Outcome

USER_CREATED = Event("user.created")
USER_UPDATED = Event("user.updated")
USER_DELETED = Event("user.deleted")


def user_created(ctx: Context, user_id: str, method: str, *, by_operator: bool = False) -> None:
    """There is a new user."""
    actor_id = None if by_operator else user_id
    record(ctx, USER_CREATED, user_id=user_id, actor_id=actor_id, method=method, by_operator=by_operator)


def user_not_created(ctx: Context, owner_id: str, refusal: Refused) -> None:
    """Somebody wanted to sign up with an address that is the user's already."""
    record(
        ctx,
        USER_CREATED,
        user_id=owner_id,
        method="password",
        outcome=Outcome.REFUSED,
        refusal=refusal,
    )


def user_updated(ctx: Context, user_id: str, fields: Iterable[str], *, by_operator: bool = False) -> None:
    """These columns of the user were set."""
    record(ctx, USER_UPDATED, user_id=user_id, by_operator=by_operator, fields=sorted(fields))


def user_deleted(ctx: Context, user_id: str, *, by_operator: bool = False) -> None:
    """The user is gone; their address does not stay behind in this record either."""
    row = record(ctx, USER_DELETED, user_id=user_id, by_operator=by_operator)
    row.address = row.user_agent = None
