"""The guide "Protect a FastAPI application": its pages, which lead browsers to the sign-in page and renew cookies."""

from collections.abc import Iterator

import httpx
import pytest

from tests.docs.typing_in import commands, guide, write_files
from tests.guides.protected import ADA, PATIENT, Application, protecting
from tests.labs.sdk.test_sdks import generate

APP_URL = "http://localhost:3000"
BROWSER = {"Accept": "text/html,application/xhtml+xml"}


@pytest.fixture(scope="module")
def application(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    """The pages of the guide, next to a service that extends sessions at each look-up."""
    text, place = guide("protect-fastapi"), tmp_path_factory.mktemp("pages")
    write_files(text, place)
    serve = commands(text, "serve pages").replace(f"APP_URL={APP_URL}", "APP_URL=$PUBLIC_URL")
    variables = {"PYTHONPATH": str(generate("python")), "PUBLIC_URL": APP_URL}
    with protecting(text, place, tmp_path_factory.mktemp("gatewright"), serve, **variables) as application:
        yield application


@pytest.fixture
def visitor(application: Application) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=application.url, timeout=PATIENT, trust_env=False) as client:
        yield client


def test_a_browser_without_a_session_is_led_to_the_sign_in_page_and_back(
    application: Application, visitor: httpx.Client
) -> None:
    led = visitor.get("/orders?page=2&sort=a%26b", headers=BROWSER)
    sign_in = httpx.URL(led.headers["location"])

    assert led.status_code == 303
    assert str(sign_in.copy_with(query=None)) == f"{application.relay.url}/account/sign-in"
    assert sign_in.params["callbackURL"] == f"{APP_URL}/orders?page=2&sort=a%26b"


def test_programs_get_the_error(visitor: httpx.Client) -> None:
    refused = visitor.get("/orders", headers={"Accept": "application/json"})

    assert (refused.status_code, refused.json()["detail"]["code"]) == (401, "UNAUTHORIZED")


def test_a_browser_gets_an_error_that_is_no_missing_session(
    application: Application, visitor: httpx.Client
) -> None:
    cookie = {"Cookie": f"service.session-token={application.sign_in()}"}

    with application.relay.away():
        failed = visitor.get("/orders", headers={**BROWSER, **cookie})

    assert (failed.status_code, failed.headers["retry-after"]) == (503, "5")


def test_a_page_renews_the_cookie_once(application: Application, visitor: httpx.Client) -> None:
    token = application.sign_in(ADA)

    shown = visitor.get("/orders", headers={**BROWSER, "Cookie": f"service.session-token={token}"})
    renewed = shown.headers.get_list("set-cookie")

    assert "Orders of Ada" in shown.text
    assert [cookie.partition(";")[0] for cookie in renewed] == [f"service.session-token={token}"]
    assert "Max-Age=604800" in renewed[0]
