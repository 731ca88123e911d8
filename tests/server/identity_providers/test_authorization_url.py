"""The authorization URL: what it asks, and that no value can ask anything else."""

import json

from authlib.oauth2.rfc7636 import create_s256_code_challenge

from tests.labs.provider.process import ProviderProcess
from tests.server.identity_providers.conftest import REDIRECT_URI, MakeVisitor, Visitor, parameters

GITHUB = {"preset": "github", "client_secret": "hush"}


class TestQuestion:
    async def test_asks_by_plain_oauth(self, plain: Visitor, provider: ProviderProcess) -> None:
        question, url = await plain.ask(scopes=(), login_hint=None)

        assert url.startswith(f"{provider.issuer}/oauth/authorize?")
        assert parameters(url) == {
            "response_type": "code",
            "client_id": "gatewright",
            "redirect_uri": REDIRECT_URI,
            "state": question.state,
            "code_challenge": create_s256_code_challenge(question.verifier),
            "code_challenge_method": "S256",
        }
        assert provider.log() == []

    async def test_is_without_pkce_when_told_so(self, make_visitor: MakeVisitor) -> None:
        _, url = await make_visitor(pkce="false").ask()

        assert not {"code_challenge", "code_challenge_method"} & set(parameters(url))

    async def test_holds_what_the_operator_adds(self, make_visitor: MakeVisitor) -> None:
        extra = json.dumps({"prompt": "consent", "hd": "example.com&x=y"})

        _, url = await make_visitor(extra_params=extra).ask()

        assert parameters(url)["prompt"] == "consent"
        assert parameters(url)["hd"] == "example.com&x=y"

    async def test_keeps_what_the_endpoint_asks_already(self, make_visitor: MakeVisitor) -> None:
        endpoint = "https://id.test/authorize?tenant=a%20b"

        _, url = await make_visitor("plain", authorization_endpoint=endpoint).ask()

        assert parameters(url)["tenant"] == "a b"

    async def test_of_twitch_asks_for_the_address(self, make_visitor: MakeVisitor) -> None:
        _, url = await make_visitor(preset="twitch").ask()

        claims = json.loads(parameters(url)["claims"])
        assert {"email", "email_verified"} <= set(claims["id_token"])
        assert "code_challenge" not in parameters(url)

    async def test_of_linkedin_has_no_nonce(self, make_visitor: MakeVisitor) -> None:
        _, url = await make_visitor(preset="linkedin").ask()

        assert not {"nonce", "code_challenge"} & set(parameters(url))

    async def test_of_github_leads_there_without_asking_anybody(self, make_visitor: MakeVisitor) -> None:
        _, url = await make_visitor("hub", client_id="ours", **GITHUB).ask()

        assert url.startswith("https://github.com/login/oauth/authorize?")
        assert parameters(url)["scope"] == "read:user user:email"
