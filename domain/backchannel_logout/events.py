"""Audit events about back-channel logout."""

from domain.audit.record import Event, record
from domain.context import Context
from domain.localization import N_
from models import Outcome

LOGOUT_DELIVERED = Event(
    "logout.delivered", N_("An application was told that a session has ended"), in_history=False
)
LOGOUT_FAILED = Event(
    "logout.failed", N_("An application could not be told that a session has ended"), in_history=False
)


def logout_delivered(ctx: Context, client_id: str, user_id: str) -> None:
    """Record that a client has accepted a logout token."""
    record(ctx, LOGOUT_DELIVERED, user_id=user_id, clientId=client_id)


def logout_failed(ctx: Context, client_id: str, user_id: str, reason: str) -> None:
    """Record that the last attempt to deliver a logout token has failed."""
    record(ctx, LOGOUT_FAILED, user_id=user_id, outcome=Outcome.FAILURE, clientId=client_id, reason=reason)
