"""The certificates of SAML connections, as pages show them, with a warning before they expire."""

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

from domain.context import Context
from domain.sso.saml import CertificateFacts
from domain.sso_connections.certificates import WARNING, facts_of
from models.sso_connection import ConnectionRow


class Certificate(NamedTuple):
    """A certificate with which an identity provider signs."""

    facts: CertificateFacts
    has_ended: bool
    ends_soon: bool


def certificates_of(ctx: Context, row: ConnectionRow) -> Sequence[Certificate]:
    """Return the certificates of a connection; none for OpenID Connect, or if its configuration cannot be read."""
    found = []
    for facts in facts_of(ctx, row):
        left = facts.not_after - ctx.now
        found.append(Certificate(facts, left <= timedelta(), timedelta() < left <= WARNING))
    return found


def first_end(ctx: Context, row: ConnectionRow) -> Certificate | None:
    """Return the certificate of a connection that expires first; None if it has none."""
    return min(certificates_of(ctx, row), key=lambda one: one.facts.not_after, default=None)
