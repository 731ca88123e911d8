"""Audit events about consents."""

from collections.abc import Sequence

from domain.audit.record import Event, record
from domain.context import Context
from domain.localization import N_

CONSENT_REVOKED = Event("oauth.consent_revoked", N_("The access of an application was taken back"))


def consent_revoked(ctx: Context, client_id: str, remaining: Sequence[str] = ()) -> None:
    """Record that the caller revoked a consent to a client, or reduced it to the `remaining` scopes."""
    record(ctx, CONSENT_REVOKED, clientId=client_id, remaining=" ".join(remaining))
