"""The OAuth flows of connections: sign-ins, and tests, which sign no user in."""

from collections.abc import Mapping
from dataclasses import dataclass

from domain.context import Context
from domain.identity_provider import VerifiedIdentity
from domain.organizations.errors import (
    OrganizationMembershipLimitReached,
    YouHaveReachedTheMaximumNumberOfOrganizations,
)
from domain.social import id_token_replay
from domain.social.authorization_request import OAuthState
from domain.social.errors import ProviderNotFound
from domain.social.flows import FAILURES
from domain.social.sign_in import SocialSignIn, SocialSignInResult
from domain.sso import endpoints
from domain.sso.configuration import AttributeNames, config_of
from domain.sso_sign_in import events, sign_in
from domain.sso_sign_in.errors import ConnectionChanged, DisabledByDirectory, DomainNotAllowed
from domain.sso_sign_in.person import of_claims
from domain.sso_sign_in.providers import ConnectionProvider, ConnectionProviders
from models.sso_connection import ConnectionRow, ConnectionType, account_provider

SSO_FAILURES: Mapping[type[Exception], str] = {
    **FAILURES,
    DomainNotAllowed: "domain_not_allowed",
    DisabledByDirectory: "user_disabled",
    ConnectionChanged: "provider_changed",
    OrganizationMembershipLimitReached: "membership_limit_reached",
    YouHaveReachedTheMaximumNumberOfOrganizations: "organization_limit_reached",
}
"""The value of `error` for each refusal of a sign-in through a connection."""


@dataclass(frozen=True, slots=True)
class ConnectionFlows:
    """The flows of one connection; `row` is None for an unknown `providerId`, so that the flow fails."""

    row: ConnectionRow | None

    @property
    def failures(self) -> Mapping[type[Exception], str]:
        """The value of `error` for each refusal."""
        return SSO_FAILURES

    @property
    def provider_id(self) -> str:
        """The provider id in stored flows of the connection; empty, which no flow has, without a connection."""
        return "" if self.row is None else account_provider(self.row.id)

    @property
    def connection(self) -> ConnectionRow:
        """The connection. Raises ProviderNotFound if there is none, or it is not active."""
        if self.row is None or not self.row.is_active:
            raise ProviderNotFound
        return self.row

    def method(self, provider_id: str) -> str:
        """Return the method of sessions and audit records, `sso:<providerId>`."""
        return events.method_of("" if self.row is None else self.row.provider_id)

    def provider(self, ctx: Context, provider_id: str) -> ConnectionProvider:
        """Return the provider of the connection. Raises ProviderNotFound."""
        return provider_of(ctx, self.connection)

    def redirect_uri(self, ctx: Context, provider_id: str) -> str:
        """Return the URL of the callback of the connection."""
        return endpoints.callback_url(ctx.policy, self.connection.provider_id)

    async def sign_in(
        self, ctx: Context, attempt: SocialSignIn, proof: VerifiedIdentity
    ) -> SocialSignInResult:
        """Sign in the user of a verified ID token from the provider."""
        row = self.connection
        await id_token_replay.use(ctx, proof)
        config = config_of(ctx.cipher, row)
        person = of_claims(proof.identity, AttributeNames() if config is None else config.names)
        return await sign_in.sign_in(ctx, row, person, request_sign_up=attempt.request_sign_up)

    def record_failure(self, ctx: Context, provider_id: str, code: str, said: str | None) -> None:
        """Record in the audit trail that a sign-in failed; publish it if there is a connection."""
        events.refused(ctx, self.row, code, said=said)


def provider_of(ctx: Context, row: ConnectionRow) -> ConnectionProvider:
    """Return the provider of an OpenID connection. Raises ProviderNotFound."""
    provider = ctx.port[ConnectionProviders].get(row) if row.type == ConnectionType.OIDC else None
    if provider is None:
        raise ProviderNotFound
    return provider


class TestedFlows(ConnectionFlows):
    """The flows of tests. They also work through an inactive connection, and failures are not audited."""

    @property
    def connection(self) -> ConnectionRow:
        """The connection. Raises ProviderNotFound if there is none."""
        if self.row is None:
            raise ProviderNotFound
        return self.row

    def record_failure(self, ctx: Context, provider_id: str, code: str, said: str | None) -> None:
        """Do nothing, because the person who tests sees the failure."""


def flows_of(row: ConnectionRow | None, flow: OAuthState | None) -> ConnectionFlows:
    """Return the flows of a connection for a stored flow: `TestedFlows` if that flow is a test."""
    is_test = flow is not None and flow.tested_by is not None
    return TestedFlows(row) if is_test else ConnectionFlows(row)
