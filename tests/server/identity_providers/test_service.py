"""The providers of a running service, and the commands that look at them."""

import asyncio
from contextlib import chdir
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner, Result

from domain.identity_provider import IdentityProviders, IdTokenCredential
from server.cli.main import app
from server.identity_providers.client import ProviderClient
from server.observability import logs
from server.services import Services
from tests.labs.provider.process import ProviderProcess
from tests.labs.provider.settings import social_settings
from tests.server.identity_providers.conftest import Load, announced
from tests.service import MovableClock, environment


def http_of(services: Services) -> httpx.AsyncClient:
    """Return the HTTP client that all providers share."""
    (http,) = {
        one.calls.client
        for one in services.port[IdentityProviders].values()
        if isinstance(one, ProviderClient)
    }
    return http


class TestServices:
    @pytest.mark.parametrize("endpoint", ["discovery", "jwks"])
    async def test_leave_nothing_under_way(
        self, load: Load, provider: ProviderProcess, endpoint: str
    ) -> None:
        services = Services(load(social_settings(provider)), clock=MovableClock())
        token = provider.mint()
        provider.control(misbehave={endpoint: {"hang": 60}})
        before = asyncio.all_tasks()
        proving = services.port[IdentityProviders]["test"].verify(IdTokenCredential(token), services.clock())
        waiting = asyncio.create_task(proving)
        async with asyncio.timeout(20):
            while not await asyncio.to_thread(provider.log, endpoint):
                pass

        # Who waits is gone; the fetch goes on for whoever comes next, until the service ends.
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        left = asyncio.all_tasks() - before
        await services.close()

        assert len(left) == 1
        assert asyncio.all_tasks() == before

    async def test_send_nobodys_cookies_on(self, load: Load, provider: ProviderProcess) -> None:
        services = Services(load(social_settings(provider)), clock=MovableClock())
        http = http_of(services)
        async with http.stream("GET", f"{provider.issuer}/jwks") as answer:
            answer.headers["Set-Cookie"] = "session=theirs; Path=/"
            http.cookies.extract_cookies(answer)

        await services.close()

        assert list(http.cookies.jar) == []


@pytest.fixture
def run(tmp_path: Path, provider: ProviderProcess) -> Any:
    """Run a command with the test provider configured; settings are given by their names."""

    def run(*words: str, **settings: str) -> Result:
        named = {name.replace("__", "."): value for name, value in settings.items()}
        environ = environment(
            "sqlite:///absent.db", tmp_path / "mail", {**social_settings(provider), **named}
        )
        with chdir(tmp_path):
            return CliRunner().invoke(app, ("providers", *words), env=environ)

    yield run
    logs.reset()


class TestList:
    def test_names_kind_and_redirect_uri(self, run: Any, provider: ProviderProcess) -> None:
        done = run("list", base_path="/api/auth")

        assert done.exit_code == 0
        assert [line.split() for line in done.stdout.splitlines()] == [
            ["Provider", "Kind", "Redirect", "URI"],
            ["plain", "OAuth", "2.0", "http://localhost:8000/api/auth/callback/plain"],
            ["test", "OpenID", "Connect", "http://localhost:8000/api/auth/callback/test"],
        ]
        assert provider.log() == []


class TestCheck:
    def test_finds_nothing_wrong(self, run: Any) -> None:
        done = run("check")

        assert done.exit_code == 0, done.output
        assert "redirect URI to register: http://localhost:8000/callback/test" in done.stdout
        assert "http://localhost:8000/callback/plain" in done.stdout
        assert "problem" not in done.stdout
        assert "gatewright-secret" not in done.output

    def test_says_so_when_there_is_none(self, tmp_path: Path) -> None:
        with chdir(tmp_path):
            done = CliRunner().invoke(
                app, ("providers", "check"), env=environment("sqlite:///absent.db", tmp_path / "mail", {})
            )
        logs.reset()

        assert (done.exit_code, done.stdout) == (0, "No provider is configured.\n")

    def test_looks_at_one(self, run: Any, provider: ProviderProcess) -> None:
        done = run("check", "plain")

        assert done.exit_code == 0
        assert "callback/test" not in done.stdout
        assert provider.log() == []

    def test_knows_no_other(self, run: Any) -> None:
        done = run("check", "other")

        assert done.exit_code == 1
        assert "providers.other: is not configured" in done.stderr

    @pytest.mark.parametrize(
        ("changes", "settings", "says"),
        [
            (
                {"issuer": "https://id.test"},
                {},
                ["issuer", "says 'https://id.test'", "set providers.test.issuer"],
            ),
            ({"issuer": "\x1b[31m"}, {}, ["issuer"]),
            ({"jwks_uri": "http://id.test/jwks"}, {}, ["jwks_uri", "no user could sign in"]),
            ({"token_endpoint": None}, {}, ["token_endpoint is missing", "no user could sign in"]),
            ({"jwks_uri": "{issuer}/absent"}, {}, ["/absent", "no user could sign in"]),
            (
                {"id_token_signing_alg_values_supported": ["HS256"]},
                {},
                ["providers.test.allowed_algorithms", "HS256"],
            ),
            (
                {"token_endpoint_auth_methods_supported": ["client_secret_basic"]},
                {},
                ["providers.test.token_auth", "set it to basic"],
            ),
            (
                {"token_endpoint_auth_methods_supported": ["private_key_jwt"]},
                {},
                ["providers.test.token_auth", "only private_key_jwt"],
            ),
            (
                {"response_types_supported": ["id_token"]},
                {},
                ["providers.test:", "only the response types id_token", "requires code"],
            ),
            ({"code_challenge_methods_supported": ["plain"]}, {}, ["providers.test.pkce", "false"]),
            (
                {"scopes_supported": ["openid", "email"]},
                {"providers__test__scopes": "openid,calendar"},
                ["providers.test.scopes", "calendar"],
            ),
        ],
    )
    def test_says_what_is_wrong_and_how_to_mend_it(
        self,
        run: Any,
        provider: ProviderProcess,
        changes: dict[str, Any],
        settings: dict[str, str],
        says: list[str],
    ) -> None:
        placed = {
            name: value.format(issuer=provider.issuer) if isinstance(value, str) else value
            for name, value in changes.items()
        }
        provider.control(misbehave={"discovery": {"json": announced(provider, **placed)}})

        done = run("check", "test", **settings)

        assert done.exit_code == 1
        (problem,) = [line for line in done.stdout.splitlines() if "problem" in line]
        assert all(word in problem for word in says), problem
        assert ("providers.test.issuer" in problem) is ("set providers.test.issuer" in says)
        assert "\x1b" not in done.stdout

    @pytest.mark.parametrize("behaviour", [{"status": 404}, {"status": 500}, {"html": True}, {"hang": 30}])
    def test_says_that_it_is_not_there(
        self, run: Any, provider: ProviderProcess, behaviour: dict[str, Any]
    ) -> None:
        provider.control(misbehave={"discovery": behaviour})

        done = run("check", oauth__http_timeout="0.5s")

        assert done.exit_code == 1
        assert f"{provider.issuer}/.well-known/openid-configuration" in done.stdout

    def test_shows_what_keeps_the_service_from_starting(self, run: Any) -> None:
        done = run("check", providers__test__client_id="")

        assert done.exit_code == 1
        assert "providers.test.client_id: must be given" in done.stderr
