"""The guide "Protect a FastAPI application": its pages, which lead browsers to the sign-in page and renew cookies."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.docs.typing_in import Shell, commands, guide, placed, surroundings, write_files
from tests.guides.protected import ADA, PATIENT, Application, protecting, running
from tests.labs.sdk.test_sdks import generate
from tests.live import serving
from tests.ports import free_port
from tests.service import PASSWORD

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


def test_an_invalid_cookie_is_cleared_on_the_way_to_the_sign_in_page(
    application: Application, visitor: httpx.Client
) -> None:
    token = application.sign_in()
    application.post("/sign-out", {}, token)

    led = visitor.get("/orders", headers={**BROWSER, "Cookie": f"service.session-token={token}"})

    assert led.status_code == 303
    [cleared] = led.headers.get_list("set-cookie")
    assert cleared.startswith("service.session-token=")
    assert "Max-Age=0" in cleared


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


def test_in_production_users_come_back_to_the_application(tmp_path: Path) -> None:
    own, port = free_port(), free_port()
    # Without TLS; every name is a port of this machine.
    text = guide("protect-fastapi").replace("https://", "http://")
    places = {"127.0.0.1:8000": f"127.0.0.1:{own}", "3000": str(port)}
    write_files(text, tmp_path)
    ports = {"auth": own, "app": port}
    lines = [f'connect-to = "{name}.example.com:80:127.0.0.1:{each}"' for name, each in ports.items()]
    (tmp_path / ".curlrc").write_text("\n".join([*lines, 'noproxy = "*"']), "utf-8")
    serve = placed(commands(text, "serve in production"), places)
    person = f'{{"name": "Ada", "email": "{ADA}", "password": "{PASSWORD}"}}'
    visit = "curl -s -b jar -c jar -H 'Accept: text/html' -w ' %{http_code} %{redirect_url}\\n'"
    post = f"{visit} -o shown.json -H 'Content-Type: application/json' -H 'Origin: http://app.example.com'"
    sign_in = "http://auth.example.com/account/sign-in?callbackURL=http%3A%2F%2Fapp.example.com%2Forders"
    steps = (
        f"{visit} http://app.example.com/orders",
        f"{visit} -o shown.html '{sign_in}'",
        f"{post} http://auth.example.com/sign-up/email -d '{person}'",
        f"{visit} http://app.example.com/orders",
        f"cp jar before; {post} http://auth.example.com/sign-out -d '{{}}'; cp before jar",
        f"{visit} http://app.example.com/orders; cat jar",
    )

    with (
        serving(tmp_path, {"session.cookie_secure": "false"}, port=own),
        running(serve, tmp_path, port, tmp_path / "printed.txt", PYTHONPATH=str(generate("python"))),
    ):
        shell = Shell(tmp_path, surroundings({"CURL_HOME": str(tmp_path), "HOME": str(tmp_path)}))
        first, page, created, shown, _, led = (shell.type(step).strip() for step in steps)
        assert shell.leave() == 0

    assert first == f"303 {sign_in}"
    assert (page, created) == ("200", "200")
    assert "Orders of Ada" in shown
    assert led.startswith(f"303 {sign_in}")
    assert "session-token" not in led
