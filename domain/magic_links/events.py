"""Audit events of magic links."""

from domain.audit.record import Event, Refused, record, record_request
from domain.authentication_methods import AuthenticationMethod
from domain.context import Context
from domain.localization import N_
from models import Outcome
from models.user import UserRow

MAGIC_LINK_REQUESTED = Event("magic_link.requested", N_("A link to sign in was requested"))
MAGIC_LINK_REFUSED = Event("magic_link.refused", N_("A link to sign in was not accepted"), unbounded=True)

MAGIC_LINK = AuthenticationMethod("magic_link", N_("Link by email"), amr="mca")


def link_requested(ctx: Context, user: UserRow | None, email: str, reason: str | None) -> None:
    """Record that a link was requested. `reason` says why none was sent; None if one was sent."""
    record_request(ctx, MAGIC_LINK_REQUESTED, user, email, reason)


def link_refused(ctx: Context, refusal: Refused, user_id: str | None = None) -> None:
    """Record that a link was refused, and why."""
    record(ctx, MAGIC_LINK_REFUSED, user_id=user_id, outcome=Outcome.FAILURE, refusal=refusal)
