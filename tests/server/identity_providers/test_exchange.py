"""Codes turned into identities: by OpenID Connect, by plain OAuth 2.0, as GitHub and as Apple do it."""

import base64
from contextlib import nullcontext
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey

from domain.identity_provider import (
    CallbackParams,
    CodeRefused,
    IdentityRefused,
    VerifiedIdentity,
)
from domain.social.errors import ProviderUnavailable
from tests.labs.provider.process import ProviderProcess
from tests.server.identity_providers.conftest import MakeVisitor, Visitor, announced, parameters

SECRET = "gatewright-secret"


class TestOpenIdConnect:
    @pytest.mark.parametrize(("size", "fits"), [(2000, True), (3000, False)])
    async def test_reads_no_more_than_the_operator_lets_a_provider_say(
        self, make_visitor: MakeVisitor, provider: ProviderProcess, size: int, fits: bool
    ) -> None:
        plain = make_visitor("plain", settings={"social.max_response": "2048"})
        answer = await plain.visit()
        told = '{"id": 7, "email": "ada@example.com"}'
        provider.control(misbehave={"oauth_user": {"raw": told + " " * (size - len(told))}})

        with nullcontext() if fits else pytest.raises(ProviderUnavailable):
            await plain.client.exchange(answer, plain.clock())

    async def test_shows_no_secret_in_a_trace(self, visitor: Visitor) -> None:
        answer = await visitor.visit()
        proof = await visitor.client.exchange(answer, visitor.clock())

        shown = repr((answer, proof, visitor.client))
        for secret in (answer.code, answer.verifier, answer.nonce, proof.tokens.access_token, SECRET):
            assert secret
            assert secret not in shown

    async def test_sends_code_verifier_and_secret_in_the_form(
        self, visitor: Visitor, provider: ProviderProcess
    ) -> None:
        answer = await visitor.visit()

        await visitor.client.exchange(answer, visitor.clock())

        (seen,) = provider.log("token")
        assert seen["form"] == {
            "grant_type": "authorization_code",
            "code": answer.code,
            "redirect_uri": answer.redirect_uri,
            "code_verifier": answer.verifier,
            "client_id": "gatewright",
            "client_secret": SECRET,
        }
        assert "Authorization" not in seen["headers"]

    async def test_sends_the_secret_in_a_header(
        self, make_visitor: MakeVisitor, provider: ProviderProcess
    ) -> None:
        await make_visitor(token_auth="basic").sign_in()

        (seen,) = provider.log("token")
        assert not {"client_id", "client_secret"} & set(seen["form"])
        credentials = base64.b64decode(seen["headers"]["Authorization"].removeprefix("Basic "))
        assert credentials == f"gatewright:{SECRET}".encode()

    async def test_encodes_what_the_header_could_not_hold(
        self, make_visitor: MakeVisitor, provider: ProviderProcess
    ) -> None:
        visitor = make_visitor(token_auth="basic", client_id="a:b", client_secret="é +%")
        with pytest.raises(CodeRefused):
            await visitor.client.exchange(await _anything(visitor), visitor.clock())

        (seen,) = provider.log("token")
        credentials = base64.b64decode(seen["headers"]["Authorization"].removeprefix("Basic "))
        assert credentials == f"a%3Ab:{quote('é +%', safe='')}".encode()

    async def test_names_a_client_without_secret(
        self, make_visitor: MakeVisitor, provider: ProviderProcess
    ) -> None:
        visitor = make_visitor(client_secret="")
        with pytest.raises(CodeRefused):
            await visitor.client.exchange(await _anything(visitor), visitor.clock())

        (seen,) = provider.log("token")
        assert seen["form"]["client_id"] == "gatewright"
        assert "client_secret" not in seen["form"]

    async def test_sends_no_verifier_without_pkce(
        self, make_visitor: MakeVisitor, provider: ProviderProcess
    ) -> None:
        visitor = make_visitor(pkce="false")
        with pytest.raises(CodeRefused):
            await visitor.client.exchange(await _anything(visitor), visitor.clock())

        assert "code_verifier" not in provider.log("token")[0]["form"]

    async def test_is_refused_in_whatever_way(self, visitor: Visitor, provider: ProviderProcess) -> None:
        refusals: list[tuple[int, dict[str, Any]]] = [
            (400, {"error": "invalid_grant"}),
            (401, {"error": "invalid_client"}),
            (400, {"error": {"message": "Code was used.", "code": 100}}),
            (400, {"status": 400, "message": "Invalid authorization code"}),
            (200, {"error": "bad_verification_code", "error_description": "It is wrong."}),
            (200, {"ok": False, "error": "invalid_code"}),
            (403, {}),
        ]

        for status, body in refusals:
            provider.control(misbehave={"token": {"json": body, "status": status}})
            with pytest.raises(CodeRefused):
                await visitor.sign_in()

    async def test_takes_no_token_answer_of_other_types(
        self, visitor: Visitor, provider: ProviderProcess
    ) -> None:
        right = {"access_token": "a", "token_type": "Bearer", "id_token": provider.mint()}
        wrong: list[dict[str, Any]] = [
            {"access_token": None},
            {"access_token": 7},
            {"access_token": "a b"},
            {"access_token": "a\r\nX: 1"},
            {"access_token": "é"},
            {"refresh_token": ["x"]},
            {"id_token": 7},
            {"token_type": {}},
            {"expires_in": "soon"},
            {"expires_in": True},
            {"expires_in": -1},
            {"expires_in": []},
            {"scope": 7},
            {"scope": {}},
            {"scope": ["openid", 7]},
            {"scope": 'a"b'},
        ]

        for changes in wrong:
            provider.control(misbehave={"token": {"json": {**right, **changes}}})
            with pytest.raises(ProviderUnavailable):
                await visitor.sign_in()

    async def test_reads_a_token_answer_generously(self, plain: Visitor, provider: ProviderProcess) -> None:
        proof = await plain.sign_in()
        generous = {
            "access_token": proof.tokens.access_token,
            "expires_in": "3600",
            "refresh_expires_in": 0,
            "scope": ["a", "b", "a"],
        }
        provider.control(misbehave={"oauth_token": {"json": generous}})

        tokens = (await plain.sign_in()).tokens

        assert (tokens.token_type, tokens.refresh_token, tokens.id_token) == (None, None, None)
        assert tokens.scopes == ("a", "b")
        assert tokens.access_token_expires_at == plain.clock() + timedelta(hours=1)
        assert tokens.refresh_token_expires_at is None

    @pytest.mark.parametrize("life", [10**30, 1e300])
    async def test_believes_no_life_of_ages(
        self, plain: Visitor, provider: ProviderProcess, life: float
    ) -> None:
        token = (await plain.sign_in()).tokens.access_token
        provider.control(misbehave={"oauth_token": {"json": {"access_token": token, "expires_in": life}}})

        ends = (await plain.sign_in()).tokens.access_token_expires_at

        assert ends == plain.clock() + timedelta(days=3650)

    async def test_needs_an_id_token(self, visitor: Visitor, provider: ProviderProcess) -> None:
        provider.control(misbehave={"token": {"json": {"access_token": "a", "token_type": "Bearer"}}})

        with pytest.raises(IdentityRefused):
            await visitor.sign_in()

    async def test_is_completed_by_userinfo(self, visitor: Visitor, provider: ProviderProcess) -> None:
        provider.control(id_token={"email": None, "email_verified": None, "picture": None, "name": "Signed"})

        identity = (await visitor.sign_in()).identity

        assert (identity.email, identity.email_verified) == ("ada@example.com", True)
        assert (identity.name, identity.image) == ("Signed", "https://pictures.example.com/1001.png")

    async def test_does_without_userinfo(self, visitor: Visitor, provider: ProviderProcess) -> None:
        document = announced(provider, userinfo_endpoint=None)
        provider.control(misbehave={"discovery": {"json": document}})

        assert (await visitor.sign_in()).identity.email == "ada@example.com"

        assert provider.log("userinfo") == []

    async def test_is_not_completed_where_userinfo_is_refused(
        self, visitor: Visitor, provider: ProviderProcess
    ) -> None:
        refusals: list[dict[str, Any]] = [
            {"json": {"error": "invalid_token"}, "status": 401},
            {"html": True, "status": 403},
            {"raw": "", "status": 401},
            {"json": {"ok": False, "error": "invalid_auth"}},
        ]

        for behaviour in refusals:
            provider.control(misbehave={"userinfo": behaviour})
            with pytest.raises(IdentityRefused):
                await visitor.sign_in()

    async def test_of_linkedin_works_though_it_forgets_the_nonce(
        self, make_visitor: MakeVisitor, provider: ProviderProcess
    ) -> None:
        visitor = make_visitor(preset="linkedin", pkce="true")
        provider.control(id_token={"nonce": None})

        assert (await visitor.sign_in()).identity.subject == "1001"


class TestPlainOAuth:
    async def test_keeps_no_id_token_that_nobody_checked(
        self, plain: Visitor, provider: ProviderProcess
    ) -> None:
        granted = {"access_token": "theirs", "id_token": "not.a.token", "token_type": "bearer"}
        user = {"id": 1001, "email": "ada@example.com"}
        provider.control(misbehave={"oauth_token": {"json": granted}, "oauth_user": {"json": user}})

        tokens = (await plain.sign_in()).tokens

        assert (tokens.access_token, tokens.id_token) == ("theirs", None)


class TestGitHub:
    @pytest.fixture
    def hub(self, make_visitor: MakeVisitor) -> Visitor:
        return make_visitor("plain", preset="github", claims="{}")

    async def test_takes_the_primary_address(self, hub: Visitor, provider: ProviderProcess) -> None:
        provider.control(user={"sub": 4711, "email": "first@example.com", "email_verified": False})

        identity = (await hub.sign_in()).identity

        assert identity.subject == "4711"
        assert (identity.email, identity.email_verified) == ("first@example.com", False)

    async def test_takes_no_other(self, hub: Visitor, provider: ProviderProcess) -> None:
        known = {"email": "a@x.test", "verified": True, "primary": True}
        lists: list[tuple[list[dict[str, Any]], str | None, bool]] = [
            ([], None, False),
            ([{**known, "primary": False}], None, False),
            ([{"email": "a@x.test", "verified": True}], None, False),
            ([{**known, "email": 7}], None, False),
            ([known], "a@x.test", True),
            ([{**known, "verified": "true"}], "a@x.test", False),
        ]

        for listed, email, verified in lists:
            provider.control(misbehave={"oauth_emails": {"json": listed}})
            identity = (await hub.sign_in()).identity
            assert (identity.email, identity.email_verified) == (email, verified), listed

    async def test_names_none_when_the_user_keeps_them(self, hub: Visitor, provider: ProviderProcess) -> None:
        provider.control(misbehave={"oauth_emails": {"json": {"message": "Not Found"}, "status": 404}})

        assert (await hub.sign_in()).identity.email is None

    @pytest.mark.parametrize("listed", [{"email": "a@x.test"}, ["a@x.test"]])
    async def test_lists_them(self, hub: Visitor, provider: ProviderProcess, listed: Any) -> None:
        provider.control(misbehave={"oauth_emails": {"json": listed}})

        with pytest.raises(ProviderUnavailable):
            await hub.sign_in()


class TestApple:
    @pytest.fixture
    def key(self) -> ECKey:
        return ECKey.generate_key("P-256")

    @pytest.fixture
    def apple(self, make_visitor: MakeVisitor, key: ECKey) -> Visitor:
        pem = key.as_pem(private=True).decode()
        return make_visitor(preset="apple", team_id="TEAM", key_id="KEY", private_key=pem)

    async def test_asks_for_a_form(self, apple: Visitor) -> None:
        _, url = await apple.ask()

        assert parameters(url)["response_mode"] == "form_post"
        assert parameters(url)["scope"] == "openid email name"

    async def test_is_shown_a_signed_secret(
        self, apple: Visitor, provider: ProviderProcess, key: ECKey
    ) -> None:
        with pytest.raises(CodeRefused):
            await apple.client.exchange(await _anything(apple), apple.clock())

        secret = jwt.decode(provider.log("token")[0]["form"]["client_secret"], key)
        now = int(apple.clock().timestamp())
        assert secret.header["alg"] == "ES256"
        assert secret.header["kid"] == "KEY"
        assert secret.claims == {
            "iss": "TEAM",
            "sub": "gatewright",
            "aud": provider.issuer,
            "iat": now,
            "exp": now + 300,
        }

    async def test_tells_the_name_in_the_form(
        self, apple: Visitor, visitor: Visitor, provider: ProviderProcess
    ) -> None:
        names = {
            '{"name": {"firstName": "Ada", "lastName": "L."}, "email": "eve@x.test"}': "Ada L.",
            '{"name": {"lastName": "L."}}': "L.",
            '{"name": {"firstName": "A\\u0000\\u202eda"}}': "Ada",
            '{"name": {"firstName": 7}}': "",
            '{"name": "Ada"}': "",
            '{"name": null}': "",
            "[]": "",
            "{": "",
            "[" * 100_000: "",
            None: "",
        }

        for form, name in names.items():
            provider.control(
                user={"name": None},
                misbehave={"userinfo": {"json": {"sub": "1001", "email_verified": "true"}}, "token": None},
            )
            identity = (await _proven(apple, provider, await visitor.visit(form_user=form))).identity
            assert (identity.name, identity.email) == (name, "ada@example.com"), form

    async def test_alone_does_so(self, visitor: Visitor, provider: ProviderProcess) -> None:
        provider.control(id_token={"name": None}, misbehave={"userinfo": {"json": {"sub": "1001"}}})

        proof = await visitor.sign_in(form_user='{"name": {"firstName": "Ada"}}')

        assert proof.identity.name == ""


async def _anything(visitor: Visitor) -> CallbackParams:
    """Return an answer with a code that nobody gave."""
    question, _ = await visitor.ask()
    return CallbackParams(
        redirect_uri=question.redirect_uri,
        code="made up",
        issuer=None,
        form_user=None,
        verifier=question.verifier,
        nonce=question.nonce,
    )


async def _proven(apple: Visitor, provider: ProviderProcess, answer: CallbackParams) -> VerifiedIdentity:
    """Exchange a code at a provider that does not look at the secret."""
    token = provider.mint(claims={"nonce": answer.nonce, "name": None})
    granted = {"access_token": "a", "id_token": token}
    provider.control(misbehave={"token": {"json": granted}})
    return await apple.client.exchange(answer, apple.clock())
