"""When users of connections have authenticated: at the identity provider. Applications are told, and may demand it."""

from datetime import timedelta

import httpx
import pytest

from models.base import to_milliseconds
from tests.conftest import Headers, MakeService
from tests.handlers import sso_saml_steps, sso_steps
from tests.handlers.pages import SETTINGS, Browser
from tests.handlers.sso_saml_steps import ADA, answer_to, go_on, id_in, post
from tests.handlers.steps import bearer, execute
from tests.labs.provider import steps
from tests.labs.provider.process import ProviderProcess
from tests.oauth import OAuthTestClient, add_client
from tests.oauth_flow import arrive, handle_of, page_of, query_of
from tests.oauth_tokens import issue
from tests.security import second_factor
from tests.server.saml import provider as idp
from tests.service import Service

LOGIN = "/account/sign-in"
BEFORE = timedelta(hours=2)
"""How long before the sign-in here the user has authenticated at the identity provider."""


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    service = await make_service(SETTINGS)
    await sso_steps.connect(service, sso_saml_steps.config(), idp.ISSUER)
    return service


@pytest.fixture
async def shop(service: Service) -> OAuthTestClient:
    return await add_client(service, skip_consent=True)


async def sign_in(service: Service, before: timedelta = BEFORE) -> Headers:
    """Sign in through the connection."""
    later = (service.clock.now - idp.NOW).total_seconds()
    statement = f'AuthnInstant="{idp.at(later - before.total_seconds())}" SessionIndex="_session1"'
    flow = await sso_steps.begin(service)
    message = answer_to(id_in(flow.url), later, session=statement)
    posted = await post(service, message, sso_saml_steps.state_of(flow))
    return steps.session_of(await go_on(service, posted, flow.headers))


def request_of(url: str) -> str:
    """Return the request in a URL of the SAML identity provider."""
    return sso_saml_steps.xml_in(httpx.URL(url))


class TestTime:
    @pytest.mark.threat("O8")
    async def test_an_application_is_told_the_time_at_the_provider(
        self, service: Service, shop: OAuthTestClient
    ) -> None:
        session = await sign_in(service)

        await issue(service, shop, session)

        [grant] = await service.rows("SELECT auth_time FROM oauth_grant")
        expected = service.clock.now - BEFORE
        assert grant.auth_time in (expected, to_milliseconds(expected))

    @pytest.mark.threat("O8")
    async def test_the_age_is_that_at_the_provider(self, service: Service, shop: OAuthTestClient) -> None:
        session = await sign_in(service)
        service.clock.advance(seconds=1)

        young, old = [
            await arrive(service, shop, session, max_age=str(seconds)) for seconds in (3 * 3600, 3600)
        ]

        assert "code" in query_of(young)
        assert page_of(old) == LOGIN

    async def test_a_time_in_the_future_counts_as_now(self, service: Service, shop: OAuthTestClient) -> None:
        session = await sign_in(service, timedelta(seconds=-30))

        await issue(service, shop, session)

        [grant] = await service.rows("SELECT auth_time FROM oauth_grant")
        assert grant.auth_time in (service.clock.now, to_milliseconds(service.clock.now))

    async def test_an_openid_provider_names_it_too(
        self, service: Service, shop: OAuthTestClient, provider: ProviderProcess
    ) -> None:
        await execute(service, "DELETE FROM sso_connection")
        await sso_steps.connect(service, sso_steps.oidc(provider), provider.issuer)
        then = service.clock.now - BEFORE
        steps.as_user(provider, ADA, "acme-1", email_verified=True, auth_time=int(then.timestamp()))

        await issue(service, shop, await sso_steps.enter(service))

        [grant] = await service.rows("SELECT auth_time FROM oauth_grant")
        assert grant.auth_time in (then, to_milliseconds(then))

    @pytest.mark.threat("O8")
    @pytest.mark.parametrize(
        ("named", "methods"), [(None, "fed otp mfa"), (["hwk", "mfa"], "fed hwk mfa otp")]
    )
    async def test_a_second_factor_here_keeps_time_and_methods_of_the_provider(
        self,
        service: Service,
        shop: OAuthTestClient,
        provider: ProviderProcess,
        named: list[str] | None,
        methods: str,
    ) -> None:
        await execute(service, "DELETE FROM sso_connection")
        owner = await second_factor.enrol(service, ADA)
        await sso_steps.connect(service, sso_steps.oidc(provider), provider.issuer, second_factor="local")
        service.clock.advance(minutes=1)
        then = service.clock.now - BEFORE
        claims = {"auth_time": int(then.timestamp()), "amr": named}
        steps.as_user(provider, ADA, "acme-1", email_verified=True, **claims)
        answer = await sso_steps.sign_in(service)
        pending = bearer(second_factor.set_cookies(answer)[second_factor.PENDING])
        entered = await second_factor.enter(service, "totp", owner.code(service), pending)
        session = bearer(entered.json()["token"])

        await issue(service, shop, session)

        [row] = await service.rows("SELECT amr FROM session WHERE method = 'totp'")
        assert row.amr == methods
        [grant] = await service.rows("SELECT auth_time FROM oauth_grant")
        assert grant.auth_time in (then, to_milliseconds(then))
        service.clock.advance(seconds=1)
        old = await arrive(service, shop, session, max_age="3600")
        assert page_of(old) == LOGIN


class TestAgain:
    """The application wants its user to sign in again, and the provider must not just let them in."""

    @pytest.mark.parametrize("wish", [{"prompt": "login"}, {"max_age": "3600"}])
    async def test_the_provider_is_told(
        self, service: Service, shop: OAuthTestClient, wish: dict[str, str]
    ) -> None:
        handle = handle_of(await arrive(service, shop, **wish))

        begun = await sso_steps.ask(service, providerId="acme", oauth_query=f"request={handle}")
        plain = await sso_steps.ask(service)

        assert ['ForceAuthn="true"' in request_of(one.json()["url"]) for one in (begun, plain)] == [
            True,
            False,
        ]

    async def test_an_openid_provider_is_told(
        self, service: Service, shop: OAuthTestClient, provider: ProviderProcess
    ) -> None:
        await execute(service, "DELETE FROM sso_connection")
        await sso_steps.connect(service, sso_steps.oidc(provider), provider.issuer)
        handle = handle_of(await arrive(service, shop, prompt="login"))

        begun = await sso_steps.ask(service, providerId="acme", oauth_query=f"request={handle}")

        assert httpx.URL(begun.json()["url"]).params["prompt"] == "login"

    async def test_the_page_tells_it(self, service: Service, shop: OAuthTestClient) -> None:
        browser = Browser(service)
        await browser.open(str((await arrive(service, shop, prompt="login")).headers["location"]))
        await browser.open(browser.page.links["Sign in with your organization"])

        await browser.submit(f"{LOGIN}/sso", email=ADA)

        assert 'ForceAuthn="true"' in request_of(browser.page.path)
