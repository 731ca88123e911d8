"""Tokens in later calls: renewed, refused, and good for asking who somebody is."""

from typing import Any

import pytest

from domain.identity_provider import IdentityRefused, RefreshRefused, Tokens, VerifiedIdentity
from tests.labs.provider.process import ProviderProcess
from tests.server.identity_providers.conftest import Visitor, announced


async def renewed(visitor: Visitor, token: str | None) -> Tokens:
    assert token is not None
    return await visitor.client.refresh(token, visitor.clock())


async def told(visitor: Visitor, proof: VerifiedIdentity, subject: str = "1001") -> Any:
    assert proof.tokens.access_token is not None
    return await visitor.client.identify(proof.tokens.access_token, proof.tokens.id_token, subject)


class TestRefresh:
    async def test_gives_new_tokens_without_openid(self, plain: Visitor) -> None:
        old = (await plain.sign_in()).tokens

        new = await renewed(plain, old.refresh_token)

        assert new.access_token not in {None, old.access_token}
        assert new.refresh_token not in {None, old.refresh_token}
        assert new.access_token_expires_at is not None

    async def test_is_refused_in_whatever_way(self, visitor: Visitor, provider: ProviderProcess) -> None:
        refusals: list[tuple[int, dict[str, Any]]] = [
            (400, {"error": "invalid_grant"}),
            (401, {"error": "invalid_client"}),
            (400, {"error": "unsupported_grant_type"}),
            (400, {"status": 400, "message": "Invalid refresh token"}),
            (200, {"error": "bad_refresh_token"}),
        ]

        for status, body in refusals:
            provider.control(misbehave={"token": {"json": body, "status": status}})
            with pytest.raises(RefreshRefused):
                await renewed(visitor, "some")

    async def test_keeps_a_good_id_token(self, visitor: Visitor, provider: ProviderProcess) -> None:
        token = provider.mint()
        provider.control(misbehave={"token": {"json": {"access_token": "a", "id_token": token}}})

        assert (await renewed(visitor, "some")).id_token == token

    @pytest.mark.parametrize(
        "wanted", [{"claims": {"aud": "other"}}, {"sign_with": "stranger"}, {"header": {"kid": "unknown"}}]
    )
    async def test_drops_a_bad_id_token_and_nothing_else(
        self, visitor: Visitor, provider: ProviderProcess, wanted: dict[str, Any]
    ) -> None:
        answer = {"access_token": "a", "refresh_token": "r", "id_token": provider.mint(**wanted)}
        provider.control(misbehave={"token": {"json": answer}})

        new = await renewed(visitor, "some")

        assert (new.access_token, new.refresh_token, new.id_token) == ("a", "r", None)


class TestIdentify:
    async def test_tells_what_the_id_token_said_where_nobody_can_be_asked(
        self, visitor: Visitor, provider: ProviderProcess
    ) -> None:
        document = announced(provider, userinfo_endpoint=None)
        provider.control(misbehave={"discovery": {"json": document}})
        proof = await visitor.sign_in()
        visitor.clock.advance(days=30)

        identity = await told(visitor, proof)

        assert (identity.email, identity.issuer) == ("ada@example.com", provider.issuer)
        for token in (None, "", "no.id.token", "é"):
            with pytest.raises(IdentityRefused):
                await visitor.client.identify("a", token, "1001")

    async def test_is_refused_for_somebody_else_without_openid(self, plain: Visitor) -> None:
        proof = await plain.sign_in()

        with pytest.raises(IdentityRefused):
            await told(plain, proof, "1002")

    async def test_is_refused_without_a_good_token(self, visitor: Visitor) -> None:
        for token in ("expired", "a b", "a\r\nX: 1", "é", "", "x" * 100_000):
            with pytest.raises(IdentityRefused):
                await visitor.client.identify(token, None, "1001")
