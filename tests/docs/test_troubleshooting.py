"""The page about symptoms is true: each entry has a test, which shows the symptom and compares it with the page."""

import inspect
import json
import re
from collections.abc import Callable
from io import BytesIO

import httpx
import pytest

from server.components.jwt import SigningKeyStore
from tests.authenticator import Authenticator
from tests.conftest import MakeService, SignIn
from tests.docs.typing_in import PAGES
from tests.handlers.passkey_steps import register
from tests.handlers.steps import ADA, bearer, code, execute, join, last_link, local, verify
from tests.labs.provider.process import ProviderProcess
from tests.labs.provider.settings import social_settings
from tests.labs.provider.steps import as_user, begin, visit
from tests.labs.provider.steps import sign_in as sign_in_through
from tests.oauth import add_client
from tests.oauth_codes import OFFLINE, add_code, error, first_tokens, redeem, refresh
from tests.oauth_flow import arrive
from tests.ports import free_port
from tests.security.limits import PROXIED, coming_from, enter_password
from tests.security.mailing import by_smtp
from tests.security.second_factor import enrol, enter, sign_in
from tests.service import BASE_URL, PASSWORD, Service
from tests.sqlite import locked

PAGE = (PAGES / "operations" / "troubleshooting.md").read_text("utf-8")
ENTRIES = dict(re.findall(r"^### [^\n]+ \{ #([\w-]+) \}\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL))
REFERENCE = (PAGES / "reference" / "settings.md").read_text("utf-8")
DEFAULTS = dict(re.findall(r"^\| `([a-z_.]+)`<br>`[A-Z_]+` \| ([^|]*) \|", REFERENCE, re.MULTILINE))
APP = "https://app.example.org"
SIGN_UP = {"name": "Ada", "email": ADA, "password": PASSWORD}

Quotes = Callable[..., None]


@pytest.fixture
def dialect() -> str:
    """Use SQLite alone: no entry but those about the database depends on it."""
    return "sqlite"


@pytest.fixture
def quotes(request: pytest.FixtureRequest) -> Quotes:
    """Return a function that checks that the entry of this test has these texts."""
    entry = ENTRIES[request.function.__name__.removeprefix("test_").replace("_", "-")]

    def check(*texts: str) -> None:
        assert [one for one in texts if f"`{one}`" not in entry] == []

    return check


def entries_with_tests() -> set[str]:
    """Return the anchors of the entries that a test here asks for."""
    return {
        name.removeprefix("test_").replace("_", "-")
        for name, function in globals().items()
        if name.startswith("test_") and "quotes" in inspect.signature(function).parameters
    }


def test_every_entry_has_a_test() -> None:
    assert len(ENTRIES) == 20
    assert entries_with_tests() == ENTRIES.keys()


def test_its_settings_exist() -> None:
    groups = {name.partition(".")[0] for name in DEFAULTS if "." in name}
    named = {
        name for name in re.findall(r"`([a-z_]+(?:\.[a-z_]+)+)", PAGE) if name.partition(".")[0] in groups
    }

    assert len(named) > 15
    assert named - DEFAULTS.keys() - {"mail.postponed", "passkey.registration_failed"} == set()


def test_its_defaults_are_true() -> None:
    said = {
        name: value.replace(" ", "") for name, value in re.findall(r"`([a-z_.]+)` \((\d+ [smhd])\)", PAGE)
    }

    assert len(said) == 4
    assert {name: DEFAULTS[name] for name in said} == said


def cookie_of(answer: httpx.Response) -> str:
    """Return the session cookie that an answer sets, without its value."""
    [cookie] = [one for one in answer.headers.get_list("set-cookie") if "Max-Age=0" not in one]
    return re.sub("=[^;]+", "=…", cookie, count=1)


async def test_cookie_dropped(make_service: MakeService, quotes: Quotes) -> None:
    service = await make_service({"base_url": "https://auth.example.com"})

    answer = await service.post("/sign-up/email", SIGN_UP)

    quotes(f"Set-Cookie: {cookie_of(answer)}")


async def test_other_subdomain(make_service: MakeService, quotes: Quotes) -> None:
    domain = {"base_url": "https://auth.example.com", "session.cookie_domain": "example.com"}
    alone = await (await make_service({"base_url": domain["base_url"]})).post("/sign-up/email", SIGN_UP)
    shared = await (await make_service(domain)).post("/sign-up/email", SIGN_UP)

    assert "Domain" not in cookie_of(alone)
    assert "Domain=example.com" in cookie_of(shared).split("; ")
    quotes("Domain=example.com")


async def test_invalid_origin(service: Service, quotes: Quotes) -> None:
    answers = [
        await service.post("/sign-in/email", {"email": ADA, "password": PASSWORD}, headers={"Origin": APP}),
        await service.post("/sign-in/social", {"provider": "x", "callbackURL": APP}),
        await service.post("/request-password-reset", {"email": ADA, "redirectTo": APP}),
    ]

    quotes(*map(code, answers))


async def test_cors(make_service: MakeService, quotes: Quotes) -> None:
    asked = {"Origin": APP, "Access-Control-Request-Method": "POST"}
    answers = [
        await (await make_service(settings)).client.options("/sign-in/email", headers=asked)
        for settings in ({}, {"trusted_origins": APP})
    ]

    assert [one.headers.get("access-control-allow-origin") for one in answers] == [None, APP]
    quotes(str(answers[0].status_code), "trusted_origins")


async def test_everyone_limited(make_service: MakeService, quotes: Quotes) -> None:
    ends = []
    for settings in ({}, PROXIED):
        service = await make_service({"limits.requests": "3", **settings})
        ends.append(
            [code(await service.get("/get-session", headers=coming_from(f"192.0.2.{n}"))) for n in range(4)][
                -1
            ]
        )

    assert ends[1] == "401 UNAUTHORIZED"
    quotes(ends[0])


async def test_state_mismatch(make_service: MakeService, provider: ProviderProcess, quotes: Quotes) -> None:
    service = await make_service(social_settings(provider))
    as_user(provider, ADA, "1001")

    answer = await service.get(await visit(await begin(service)))

    quotes(answer.headers["location"].removeprefix(BASE_URL))


async def test_account_not_linked(
    make_service: MakeService, provider: ProviderProcess, quotes: Quotes
) -> None:
    service = await make_service(social_settings(provider))
    as_user(provider, ADA, "1001")
    await join(service)

    refused = await sign_in_through(service)
    await verify(service)
    linked = await sign_in_through(service)

    assert linked.headers["location"].endswith("/welcome")
    quotes(httpx.URL(refused.headers["location"]).query.decode())


async def test_email_not_verified(make_service: MakeService, quotes: Quotes) -> None:
    required = {"email_verification.required": "true"}
    sent = []
    for settings in (required, {**required, "email_verification.send_on_sign_in": "true"}):
        service = await make_service(settings)
        await service.post("/sign-up/email", SIGN_UP)
        await service.inbox()
        quotes(code(await enter_password(service)))
        sent.append(len(await service.inbox(template="verify-email")))

    assert sent == [1, 2]


async def test_totp_refused(service: Service, quotes: Quotes) -> None:
    owner = await enrol(service)
    service.clock.advance(minutes=2)
    step = bearer((await sign_in(service)).json()["token"])

    late = await enter(service, "totp", owner.code(service, 3), step)
    near = await enter(service, "totp", owner.code(service, 1), step)
    again = await enter(
        service, "totp", owner.code(service, 1), bearer((await sign_in(service)).json()["token"])
    )

    assert near.status_code == 200
    quotes(code(late), code(again))


async def test_two_factor_cookie(service: Service, quotes: Quotes) -> None:
    owner = await enrol(service)
    service.clock.advance(minutes=2)
    token = (await sign_in(service)).json()["token"]
    service.client.cookies.clear()

    answer = await enter(service, "totp", owner.code(service), {})
    known = await enter(service, "totp", owner.code(service), bearer(token))

    assert known.status_code == 200
    quotes(code(answer), token[:4])


async def test_passkey_origin(service: Service, log_stream: BytesIO, quotes: Quotes) -> None:
    ada = await join(service)

    answer = await register(service, ada, Authenticator(origin="https://www.example.com"))
    [event] = events(log_stream, "passkey.registration_failed")

    quotes(code(answer), event["event"])


def events(log_stream: BytesIO, name: str) -> list[dict[str, str]]:
    """Return the lines of the log with this event."""
    lines = [json.loads(line) for line in log_stream.getvalue().splitlines()]
    return [line for line in lines if line["event"] == name]


def reason_of(event: dict[str, str]) -> str:
    """Return the reason of an event as the log has it."""
    return f'"reason":"{event["reason"]}"'


async def test_mail_postponed(make_service: MakeService, log_stream: BytesIO, quotes: Quotes) -> None:
    service = await make_service(by_smtp(free_port()))

    await join(service)
    await service.services.worker.drain()
    [event] = events(log_stream, "mail.postponed")

    quotes(event["event"], reason_of(event))


async def test_link_used(make_service: MakeService, quotes: Quotes) -> None:
    service = await make_service({"magic_links.confirm": "false"})
    await join(service)
    await service.post("/sign-in/magic-link", {"email": ADA})
    verification, sign_in_link = [
        local(await last_link(service, template)) for template in ("verify-email", "magic-link")
    ]

    opened = [(await service.get(verification)).status_code for _ in range(2)]
    await service.get(sign_in_link)
    answer = await service.get(sign_in_link)

    assert opened == [200, 200]
    quotes(code(answer))


async def test_redirect_uri(service: Service, sign_up: SignIn, quotes: Quotes) -> None:
    ada = await sign_up()

    answer = await arrive(
        service, await add_client(service), ada, redirect_uri="https://shop.example/callback/"
    )
    url = httpx.URL(answer.headers["location"])

    assert (url.params["received"], url.params["registered"]) == (
        "https://shop.example/callback/",
        "https://shop.example/callback",
    )
    quotes(f"{url.path}?error={url.params['error']}")


async def test_code_twice(service: Service, sign_up: SignIn, quotes: Quotes) -> None:
    await service.services.port[SigningKeyStore].prepare()
    ada, client = await sign_up(), await add_client(service, **OFFLINE)
    used, unverified = [await add_code(service, client, ada) for _ in range(2)]
    await redeem(service, client, used)

    twice = await redeem(service, client, used)
    without = await redeem(service, client, unverified, verifier=None)

    quotes(error(twice), error(without), without.json()["error_description"])


async def test_refresh_reused(service: Service, sign_up: SignIn, quotes: Quotes) -> None:
    await service.services.port[SigningKeyStore].prepare()
    ada, client = await sign_up(), await add_client(service, **OFFLINE)
    first = await first_tokens(service, client, ada)
    second = (await refresh(service, client, first["refresh_token"])).json()
    repeated = (await refresh(service, client, first["refresh_token"])).json()
    service.clock.advance(seconds=11)

    reused = await refresh(service, client, first["refresh_token"])
    ended = await refresh(service, client, second["refresh_token"])

    assert repeated["refresh_token"] == second["refresh_token"]
    quotes(error(reused), error(ended))


async def test_issuer(service: Service, quotes: Quotes) -> None:
    path = "/.well-known/openid-configuration"

    answer = await service.get(path, headers={"Host": "internal", "X-Forwarded-Proto": "https"})

    assert answer.json()["issuer"] == BASE_URL
    quotes(path, "base_url")


async def test_unknown_key(service: Service, quotes: Quotes) -> None:
    await service.services.port[SigningKeyStore].prepare()

    answer = await service.get("/jwks")

    quotes("/jwks", f"Cache-Control: {answer.headers['cache-control']}")


async def test_database_busy(make_cold_service: MakeService, log_stream: BytesIO, quotes: Quotes) -> None:
    service = await make_cold_service({"database.timeout": "1s"})
    file = service.services.settings.database_url.get_secret_value().removeprefix("sqlite:///")

    with locked(file):
        answer = await service.post("/sign-up/email", SIGN_UP)
    [event] = events(log_stream, "service_unavailable")

    quotes(code(answer), f"Retry-After: {answer.headers['retry-after']}", event["event"], reason_of(event))


async def test_schema(make_cold_service: MakeService, log_stream: BytesIO, quotes: Quotes) -> None:
    service = await make_cold_service()

    await execute(service, "DROP TABLE known_network")
    answer = await service.get("/ready")
    [event] = events(log_stream, "service.not_ready")

    quotes(str(answer.status_code), event["event"], reason_of(event))
