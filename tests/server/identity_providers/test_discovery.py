"""Discovery: a document is believed when it comes from whom it is about."""

from typing import Any

import pytest

from domain.identity_provider import IdentityRefused, IdTokenCredential, IssuerMismatch
from domain.social.errors import ProviderUnavailable
from tests.labs.provider.process import ProviderProcess
from tests.labs.provider.tokens import tampered
from tests.server.identity_providers.conftest import MakeVisitor, Visitor, announced

TENANT = "11111111-2222-3333-4444-555555555555"
OTHER = "99999999-2222-3333-4444-555555555555"
CONSUMERS = "9188040d-6c67-4c5b-b112-36a304b66dad"
MICROSOFT = "https://login.microsoftonline.com"


class TestDocument:
    @pytest.mark.threat("V59")
    async def test_is_garbage_when_a_member_is_wrong(
        self, visitor: Visitor, provider: ProviderProcess
    ) -> None:
        wrong: list[dict[str, Any]] = [
            {"issuer": "https://evil.test"},
            {"issuer": None},
            {"issuer": ""},
            {"issuer": 7},
            {"authorization_endpoint": None},
            {"authorization_endpoint": "http://evil.test/authorize"},
            {"authorization_endpoint": "javascript:alert(1)"},
            {"token_endpoint": "http://169.254.169.254/"},
            {"token_endpoint": ["https://id.test"]},
            {"jwks_uri": None},
            {"jwks_uri": "http://169.254.169.254/"},
            {"jwks_uri": "file:///etc/passwd"},
            {"userinfo_endpoint": 7},
            {"userinfo_endpoint": "http://169.254.169.254/"},
            {"userinfo_endpoint": "ftp://id.test"},
        ]
        document = announced(provider)

        for changes in wrong:
            provider.control(misbehave={"discovery": {"json": tampered(document, changes)}})
            with pytest.raises(ProviderUnavailable):
                await visitor.ask()

        provider.control(misbehave={"discovery": {"json": document}})
        assert await visitor.ask()

    async def test_may_end_its_issuer_with_a_slash(self, visitor: Visitor, provider: ProviderProcess) -> None:
        issuer = f"{provider.issuer}/"
        provider.control(misbehave={"discovery": {"json": announced(provider, issuer=issuer)}})

        proof = await visitor.client.verify(
            IdTokenCredential(provider.mint(claims={"iss": issuer})), visitor.clock()
        )

        assert proof.identity.issuer == issuer
        with pytest.raises(IdentityRefused):
            await visitor.client.verify(IdTokenCredential(provider.mint()), visitor.clock())

    async def test_may_be_elsewhere_than_its_issuer(
        self, make_visitor: MakeVisitor, provider: ProviderProcess
    ) -> None:
        provider.control(misbehave={"discovery": {"json": announced(provider, issuer="https://id.test")}})

        _, url = await make_visitor(issuer="https://id.test").ask()

        assert url.startswith(provider.issuer)

    async def test_may_be_absent(self, visitor: Visitor, provider: ProviderProcess) -> None:
        document = announced(provider)

        for status in (404, 403):
            provider.control(misbehave={"discovery": {"json": document, "status": status}})
            with pytest.raises(ProviderUnavailable):
                await visitor.ask()

    async def test_is_asked_for_once_an_hour(self, visitor: Visitor, provider: ProviderProcess) -> None:
        await visitor.ask()
        await visitor.ask()
        assert len(provider.log("discovery")) == 1

        visitor.clock.advance(hours=1)
        await visitor.ask()

        assert len(provider.log("discovery")) == 2


class TestRedirectsIssuer:
    async def test_is_compared_in_plain_oauth_too(
        self, make_visitor: MakeVisitor, provider: ProviderProcess
    ) -> None:
        unnamed, named = make_visitor("plain"), make_visitor("plain", issuer="https://id.test")

        for visitor, sent in ((unnamed, "https://id.test"), (named, "https://evil.test")):
            with pytest.raises(IssuerMismatch):
                await visitor.sign_in(issuer=sent)
        assert (await named.sign_in(issuer="https://id.test")).identity.issuer == ""

    async def test_is_refused_when_it_is_another(self, visitor: Visitor, provider: ProviderProcess) -> None:
        for sent in ("https://evil.test", "", "http://127.0.0.1"):
            with pytest.raises(IssuerMismatch):
                await visitor.sign_in(issuer=sent)

        assert provider.log("token") == []


class TestGoogle:
    @pytest.mark.parametrize("spelt", ["with scheme", "accounts.google.com"])
    async def test_spells_its_issuer_in_two_ways_for_one_identity(
        self, make_visitor: MakeVisitor, provider: ProviderProcess, spelt: str
    ) -> None:
        issuer = provider.issuer if spelt == "with scheme" else spelt
        visitor = make_visitor(preset="google")

        proof = await visitor.client.verify(
            IdTokenCredential(provider.mint(claims={"iss": issuer})), visitor.clock()
        )

        assert proof.identity.issuer == provider.issuer

    async def test_alone_has_that_other_spelling(self, visitor: Visitor, provider: ProviderProcess) -> None:
        with pytest.raises(IdentityRefused):
            await visitor.client.verify(
                IdTokenCredential(provider.mint(claims={"iss": "accounts.google.com"})), visitor.clock()
            )

    async def test_is_not_discovered_by_it(
        self, make_visitor: MakeVisitor, provider: ProviderProcess
    ) -> None:
        provider.control(misbehave={"discovery": {"json": announced(provider, issuer="accounts.google.com")}})

        with pytest.raises(ProviderUnavailable):
            await make_visitor(preset="google").ask()


class TestMicrosoft:
    async def verified(
        self, make_visitor: MakeVisitor, provider: ProviderProcess, claims: dict[str, Any], **table: str
    ) -> str:
        """Return the issuer of the identity that a token of a tenant proves."""
        pattern = table.pop("announces", f"{MICROSOFT}/{{tenantid}}/v2.0")
        provider.control(misbehave={"discovery": {"json": announced(provider, issuer=pattern)}})
        visitor = make_visitor(preset="microsoft", **table)
        proof = await visitor.client.verify(IdTokenCredential(provider.mint(claims=claims)), visitor.clock())
        return proof.identity.issuer

    @pytest.mark.parametrize("tenant", ["", "common", "organizations"])
    async def test_names_the_tenant_in_each_token(
        self, make_visitor: MakeVisitor, provider: ProviderProcess, tenant: str
    ) -> None:
        issuer = f"{MICROSOFT}/{TENANT}/v2.0"

        found = await self.verified(make_visitor, provider, {"iss": issuer, "tid": TENANT}, tenant=tenant)

        assert found == issuer

    @pytest.mark.parametrize(
        "claims",
        [
            {"iss": f"{MICROSOFT}/{TENANT}/v2.0", "tid": OTHER},
            {"iss": f"{MICROSOFT}/{TENANT}/v2.0"},
            {"iss": f"{MICROSOFT}/{TENANT}/v2.0", "tid": [TENANT]},
            {"iss": f"{MICROSOFT}/{{tenantid}}/v2.0", "tid": "{tenantid}"},
            {"iss": f"{MICROSOFT}/x/v2.0", "tid": "x"},
            {"iss": f"https://evil.test/{TENANT}/v2.0", "tid": TENANT},
            {"tid": TENANT},
        ],
    )
    async def test_is_not_believed_for_another_tenant(
        self, make_visitor: MakeVisitor, provider: ProviderProcess, claims: dict[str, Any]
    ) -> None:
        with pytest.raises(IdentityRefused):
            await self.verified(make_visitor, provider, claims)

    async def test_keeps_private_accounts_out_of_organizations(
        self, make_visitor: MakeVisitor, provider: ProviderProcess
    ) -> None:
        claims = {"iss": f"{MICROSOFT}/{CONSUMERS}/v2.0", "tid": CONSUMERS}

        assert await self.verified(make_visitor, provider, claims)
        with pytest.raises(IdentityRefused):
            await self.verified(make_visitor, provider, claims, tenant="organizations")

    async def test_believes_a_single_tenant_alone(
        self, make_visitor: MakeVisitor, provider: ProviderProcess
    ) -> None:
        own, other = (f"{MICROSOFT}/{id_}/v2.0" for id_ in (TENANT, OTHER))
        by_name = {"tenant": "example.com", "announces": own}

        assert await self.verified(make_visitor, provider, {"iss": own, "tid": TENANT}, **by_name) == own
        with pytest.raises(IdentityRefused):
            await self.verified(make_visitor, provider, {"iss": other, "tid": OTHER}, **by_name)

    @pytest.mark.parametrize(
        ("tenant", "announces"),
        [
            ("common", f"{MICROSOFT}/{TENANT}/v2.0"),
            ("example.com", f"{MICROSOFT}/{{tenantid}}/v2.0"),
            ("example.com", "https://evil.test/v2.0"),
            ("example.com", f"{MICROSOFT}/x/v2.0"),
            (TENANT, f"{MICROSOFT}/{OTHER}/v2.0"),
            (TENANT, f"{MICROSOFT}/{{tenantid}}/v2.0"),
        ],
    )
    async def test_is_discovered_as_the_tenant_that_is_configured(
        self, make_visitor: MakeVisitor, provider: ProviderProcess, tenant: str, announces: str
    ) -> None:
        with pytest.raises(ProviderUnavailable):
            await self.verified(make_visitor, provider, {}, tenant=tenant, announces=announces)

    async def test_is_not_asked_for_userinfo(
        self, make_visitor: MakeVisitor, provider: ProviderProcess
    ) -> None:
        proof = await make_visitor(preset="microsoft").sign_in()

        assert proof.identity.email == "ada@example.com"
        assert provider.log("userinfo") == []

    async def test_believes_a_key_for_its_own_tenant_only(
        self, make_visitor: MakeVisitor, provider: ProviderProcess
    ) -> None:
        claims = {"iss": f"{MICROSOFT}/{TENANT}/v2.0", "tid": TENANT}
        published = provider.http.get("/jwks").json()["keys"]

        for issuer, is_right in (("{tenantid}", True), (TENANT, True), (OTHER, False)):
            keys = [{**key, "issuer": f"{MICROSOFT}/{issuer}/v2.0"} for key in published]
            provider.control(misbehave={"jwks": {"json": {"keys": keys}}})
            if is_right:
                assert await self.verified(make_visitor, provider, claims)
            else:
                with pytest.raises(IdentityRefused):
                    await self.verified(make_visitor, provider, claims)
