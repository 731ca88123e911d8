"""The hand-written part of the Python SDK: its examples beside a running service, and its parts without one."""

import re
import secrets
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from tests.docs.typing_in import blocks
from tests.guides.protected import running
from tests.labs.sdk import warehouse
from tests.labs.sdk.test_sdks import BUILD, CONSUMERS, Command, generate, run
from tests.live import PROGRAM, environment, serving
from tests.ports import free_port
from tests.service import NO_TLS, PASSWORD
from tests.settings.api_keys import VERIFIER

ENVIRONMENT = BUILD / ".tools" / "python-kit"
TIMEOUT = 30.0
SERVERS = {
    "fastapi": "-m uvicorn fastapi_app:app --log-level warning --port {port}",
    "flask": "-m flask --app flask_app run --port {port}",
    "django": "django_app.py runserver --noreload {port}",
}
"""How each example is served."""
FRAMEWORKS = pytest.mark.parametrize("name", SERVERS)
WEBHOOK_SECRET = "whsec_" + "a" * 32


@pytest.fixture(scope="module")
def sdk() -> Path:
    """The generated SDK."""
    return generate("python")


@pytest.fixture(scope="module")
def python(sdk: Path) -> Path:
    """Return the Python of an environment with what the extras of the SDK name, and what serves the examples."""
    python, wanted = ENVIRONMENT / "bin" / "python", (sdk / "pyproject.toml").read_text("utf-8")
    done = ENVIRONMENT / "installed"
    if not done.exists() or done.read_text("utf-8") != wanted:
        run(sys.executable, "-m", "venv", "--clear", "--without-pip", ENVIRONMENT)
        pip: Command = [sys.executable, "-m", "pip", "--python", python]
        packages = (f"{sdk}[fastapi,flask,django]", "uvicorn", "django-stubs")
        run(*pip, "install", "--quiet", "--no-compile", "--disable-pip-version-check", *packages)
        # The package itself is taken from where it was generated, so that a change needs no new environment.
        run(*pip, "uninstall", "--quiet", "--yes", "gatewright-client")
        done.write_text(wanted, "utf-8")
    return python


@dataclass
class Site:
    """A service that can be restarted, and the addresses of the applications beside it."""

    directory: Path
    port: int = field(default_factory=free_port)
    ports: dict[str, int] = field(default_factory=lambda: {name: free_port() for name in SERVERS})
    running: ExitStack = field(default_factory=ExitStack)

    @property
    def url(self) -> str:
        """Return the address of the service."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def settings(self) -> dict[str, str | None]:
        """Return the settings of the service."""
        return {
            "base_url": self.url,
            "server.port": str(self.port),
            "jwt.algorithms": None,
            "trusted_proxies": '["127.0.0.1/32"]',
            "limits.requests": "50",
            "session.cookie_secure": "false",
            "api_keys.grantable": '{"files": ["read"]}',
            "api_keys.rate_limit.enabled": "true",
            "api_keys.rate_limit.max": "2",
            **warehouse.SETTINGS,
        }

    def start(self) -> None:
        """Start the service."""
        self.running.enter_context(serving(self.directory, self.settings, port=self.port))

    def stop(self) -> None:
        """End the service."""
        self.running.close()

    def ask(
        self, method: str, path: str, headers: dict[str, str] | None = None, json: object = None
    ) -> httpx.Response:
        """Send a request to the service."""
        with httpx.Client(base_url=self.url, verify=NO_TLS, trust_env=False, timeout=TIMEOUT) as client:
            return client.request(method, path, headers=headers, json=json)

    def execute(self, statement: str, *values: object) -> None:
        """Change the database of the service, as its operator or as time would."""
        with closing(sqlite3.connect(self.directory / "gatewright.db", timeout=30)) as database, database:
            database.execute(statement, values)


def by_bearer(token: str) -> dict[str, str]:
    """Return the headers of a program."""
    return {"Authorization": f"Bearer {token}"}


def by_cookie(token: str) -> dict[str, str]:
    """Return the headers of a browser."""
    return {"Cookie": f"theme=dark; service.session-token={token}"}


@dataclass(frozen=True)
class User:
    """A user of the service, with a session."""

    site: Site
    id: str
    email: str
    token: str

    def ask(self, method: str, path: str, json: object = None) -> httpx.Response:
        """Send a request to the service."""
        return self.site.ask(method, path, by_bearer(self.token), json)


@pytest.fixture(scope="module")
def site(sdk: Path, python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A service, and the example of each framework beside it."""
    site = Site(tmp_path_factory.mktemp("gatewright"))
    endpoints = [
        f'[webhooks.endpoints.{name}]\nurl = "http://127.0.0.1:{port}/webhooks"\n'
        f'secret = "{WEBHOOK_SECRET}"\nevents = ["user.created"]\n'
        for name, port in site.ports.items()
    ]
    (site.directory / "gatewright.toml").write_text("\n".join(endpoints), "utf-8")
    site.start()
    client_id, secret = registered(site)
    printed = []
    with site.running, ExitStack() as applications:
        for name, port in site.ports.items():
            place = Path(shutil.copytree(sdk / "examples", tmp_path_factory.mktemp(name), dirs_exist_ok=True))
            printed.append(place / "printed.txt")
            command = f"{python} {SERVERS[name].format(port=port)}"
            variables = {
                "PYTHONPATH": str(sdk),
                "APP_URL": f"http://127.0.0.1:{port}",
                "AUTH_URL": site.url,
                "VERIFIER": VERIFIER,
                "WEBHOOK_SECRET": WEBHOOK_SECRET,
                "CLIENT_ID": client_id,
                "CLIENT_SECRET": secret,
                "SESSION_SECRET": secrets.token_hex(32),
            }
            applications.enter_context(running(command, place, port, printed[-1], **variables))
        yield site
    assert "Traceback" not in "".join(file.read_text("utf-8") for file in printed)


def command(site: Site, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the service."""
    return subprocess.run(
        [PROGRAM, *words], cwd=site.directory, env=environment(site.settings), capture_output=True, text=True,
        check=True,
    )  # fmt: skip


def registered(site: Site) -> tuple[str, str]:
    """Register the applications as one client of the service; return its id and secret."""
    words = ["clients", "create", "Shop", "--skip-consent"]
    for port in site.ports.values():
        url = f"http://127.0.0.1:{port}"
        words += ["--redirect-uri", f"{url}/callback", "--post-logout-redirect-uri", f"{url}/"]
    finished = command(site, *words)
    found = re.search(r"(app_\w{24}).*\n(gws_\w{32})\n", finished.stderr + finished.stdout, re.DOTALL)
    assert found is not None, finished
    return found[1], found[2]


@pytest.fixture
def user(site: Site) -> User:
    """A user who has just signed up."""
    email = f"ada.{secrets.token_hex(4)}@example.com"
    body = {"name": "Ada", "email": email, "password": PASSWORD}
    signed_up = site.ask("POST", "/sign-up/email", json=body).json()
    return User(site, signed_up["user"]["id"], email, signed_up["token"])


@contextmanager
def visiting(site: Site, name: str) -> Iterator[httpx.Client]:
    """Yield a client of an application, at an address of its own."""
    address = f"127.{secrets.randbelow(200) + 2}.{secrets.randbelow(250) + 1}.{secrets.randbelow(250) + 1}"
    transport = httpx.HTTPTransport(local_address=address, verify=NO_TLS)
    url = f"http://127.0.0.1:{site.ports[name]}"
    with httpx.Client(base_url=url, transport=transport, timeout=TIMEOUT) as client:
        yield client


@pytest.fixture
def visitor(site: Site, name: str) -> Iterator[httpx.Client]:
    """A client of the application."""
    with visiting(site, name) as client:
        yield client


def code_of(response: httpx.Response) -> str:
    """Return the code of an error. FastAPI has it in `detail`."""
    body = response.json()
    return str(body.get("detail", body)["code"])


def readme_examples(sdk: Path) -> dict[str, str]:
    """Return the modules that the README shows: a program, and an application of FastAPI in several parts."""
    program, application, _, *more = blocks((sdk / "README.md").read_text("utf-8"), "python")
    parts = "\n".join(part.text for part in (application, *more))
    return {"program.py": program.text, "application.py": parts}


def test_types_are_strict(sdk: Path, python: Path, tmp_path: Path) -> None:
    mypy: Command = [sys.executable, "-m", "mypy", "--strict", "--python-executable", python]
    for name, text in readme_examples(sdk).items():
        (tmp_path / name).write_text(text, "utf-8")
    sources = (sdk / "gatewright_client", sdk / "examples", CONSUMERS / "python_kit", *tmp_path.glob("*.py"))

    run(*mypy, "--cache-dir", tmp_path / "mypy", *sources, where=tmp_path)


def test_tokens_survive_keys_that_change_and_clocks_that_differ(
    sdk: Path, python: Path, tmp_path: Path
) -> None:
    run(python, CONSUMERS / "python_kit" / "tokens.py", where=tmp_path, PYTHONPATH=str(sdk))


@FRAMEWORKS
@pytest.mark.parametrize("carried", [by_bearer, by_cookie])
def test_a_session_lets_in_until_it_ends(visitor: httpx.Client, user: User, carried: object) -> None:
    assert callable(carried)
    headers = carried(user.token)
    missing = visitor.get("/me")
    let_in = visitor.get("/me", headers=headers)

    user.ask("POST", "/sign-out", json={})
    refused = visitor.get("/me", headers=headers)

    assert (let_in.status_code, let_in.json()) == (200, {"id": user.id, "name": "Ada"})
    for response in (missing, refused):
        assert (response.status_code, code_of(response)) == (401, "UNAUTHORIZED")
        assert response.headers["www-authenticate"] == "Bearer"
    assert ("Max-Age=0" in refused.headers.get("set-cookie", "")) == (carried is by_cookie)


@FRAMEWORKS
def test_roles_decide(site: Site, visitor: httpx.Client, user: User) -> None:
    refused = visitor.get("/reports", headers=by_bearer(user.token))
    site.execute("UPDATE user SET role = 'user,admin' WHERE id = ?", user.id)
    let_in = visitor.get("/reports", headers=by_bearer(user.token))

    assert (refused.status_code, code_of(refused)) == (403, "ROLE_REQUIRED")
    assert let_in.json() == {"for": "Ada"}


@FRAMEWORKS
def test_roles_in_the_active_organization_decide(site: Site, visitor: httpx.Client, user: User) -> None:
    without = visitor.get("/invoices", headers=by_bearer(user.token))
    slug = f"acme-{secrets.token_hex(4)}"
    company = user.ask("POST", "/organization/create", json={"name": "Acme", "slug": slug}).json()
    as_owner = visitor.get("/invoices", headers=by_bearer(user.token))
    site.execute("UPDATE member SET role = 'member' WHERE user_id = ?", user.id)
    as_member = visitor.get("/invoices", headers=by_bearer(user.token))

    assert (without.status_code, code_of(without)) == (403, "NO_ACTIVE_ORGANIZATION")
    assert as_owner.json() == {"organization": company["id"]}
    assert (as_member.status_code, code_of(as_member)) == (403, "ORGANIZATION_ROLE_REQUIRED")


@FRAMEWORKS
def test_a_fresh_session_and_a_verified_address_are_required(
    site: Site, visitor: httpx.Client, user: User
) -> None:
    unverified = visitor.post("/payout", headers=by_bearer(user.token))
    site.execute("UPDATE user SET email_verified = 1 WHERE id = ?", user.id)
    let_in = visitor.post("/payout", headers=by_bearer(user.token))
    site.execute("UPDATE session SET created_at = created_at - ? WHERE user_id = ?", 11 * 60_000, user.id)
    stale = visitor.post("/payout", headers=by_bearer(user.token))

    assert (unverified.status_code, code_of(unverified)) == (403, "EMAIL_NOT_VERIFIED")
    assert let_in.json() == {"to": user.email}
    assert (stale.status_code, code_of(stale)) == (403, "SESSION_NOT_FRESH")


@FRAMEWORKS
def test_a_key_needs_its_permission_and_is_limited(visitor: httpx.Client, user: User) -> None:
    def create(**body: object) -> str:
        return str(user.ask("POST", "/api-key/create", json=body).json()["key"])

    reader, other = create(permissions={"files": ["read"]}), create()
    let_in, again, limited = [visitor.get("/files", headers={"x-api-key": reader}) for _ in range(3)]
    refused = [visitor.get("/files", headers=headers) for headers in ({}, {"x-api-key": f"{reader}x"})]
    forbidden = visitor.get("/files", headers={"x-api-key": other})

    assert let_in.json() == again.json() == {"owner": user.id}
    assert (limited.status_code, code_of(limited)) == (429, "RATE_LIMITED")
    assert 1 <= int(limited.headers["retry-after"]) <= 60
    assert [(response.status_code, code_of(response)) for response in refused] == [
        (401, "INVALID_API_KEY")
    ] * 2
    assert (forbidden.status_code, code_of(forbidden)) == (403, "KEY_PERMISSIONS_INSUFFICIENT")


@FRAMEWORKS
def test_an_event_arrives_and_a_forged_one_does_not(visitor: httpx.Client, user: User) -> None:
    def has_arrived() -> bool:
        return "user.created" in visitor.get("/received").json()

    deadline = time.monotonic() + TIMEOUT
    while not has_arrived():
        assert time.monotonic() < deadline
        time.sleep(0.1)
    forged = {
        "webhook-id": "msg_1",
        "webhook-timestamp": str(int(time.time())),
        "webhook-signature": "v1,AAAA",
    }
    refused = visitor.post("/webhooks", headers=forged, content=b"{}")
    large = visitor.post("/webhooks", headers=forged, content=b" " * 100_000)

    assert (refused.status_code, code_of(refused)) == (401, "INVALID_SIGNATURE")
    assert (large.status_code, code_of(large)) == (413, "PAYLOAD_TOO_LARGE")


@FRAMEWORKS
def test_users_sign_in_through_the_provider(site: Site, name: str, visitor: httpx.Client, user: User) -> None:
    before = visitor.get("/profile")
    begun = visitor.get("/sign-in")
    parameters = httpx.URL(begun.headers["location"]).params
    callback = site.ask("GET", begun.headers["location"], by_cookie(user.token)).headers["location"]
    with visiting(site, name) as stranger:
        stolen = stranger.get(callback)
    returned = visitor.get(callback)
    profile = visitor.get("/profile")
    replayed = visitor.get(callback)

    assert (before.status_code, code_of(before)) == (401, "UNAUTHORIZED")
    assert (parameters["code_challenge_method"], parameters["response_type"]) == ("S256", "code")
    assert (stolen.status_code, code_of(stolen)) == (401, "INVALID_STATE")
    assert returned.headers["location"] == "/"
    assert profile.json() == {"id": user.id, "email": user.email}
    assert (replayed.status_code, code_of(replayed)) == (401, "INVALID_STATE")


@FRAMEWORKS
def test_a_code_of_another_browser_or_provider_is_refused(
    site: Site, name: str, visitor: httpx.Client, user: User
) -> None:
    with visiting(site, name) as attacker:
        begun = attacker.get("/sign-in").headers["location"]
    code = httpx.URL(site.ask("GET", begun, by_cookie(user.token)).headers["location"]).params["code"]

    def refusal(**query: str) -> str:
        state = httpx.URL(visitor.get("/sign-in").headers["location"]).params["state"]
        response = visitor.get("/callback", params={"state": state, "code": code, **query})
        assert response.status_code == 401
        return code_of(response)

    assert refusal(state="") == "INVALID_STATE"
    assert refusal(iss="https://other.example.com") == "INVALID_ISSUER"
    assert refusal() == "invalid_grant"
    assert visitor.get("/profile").status_code == 401


@FRAMEWORKS
def test_a_user_who_declines_is_not_signed_in(visitor: httpx.Client) -> None:
    state = httpx.URL(visitor.get("/sign-in").headers["location"]).params["state"]

    declined = visitor.get("/callback", params={"state": state, "error": "access_denied"})

    assert (declined.status_code, code_of(declined)) == (403, "access_denied")
    assert visitor.get("/profile").status_code == 401


@FRAMEWORKS
def test_a_visitor_with_many_requests_is_limited_alone(
    site: Site, name: str, visitor: httpx.Client, user: User
) -> None:
    deadline = time.monotonic() + TIMEOUT
    while (response := visitor.get("/me", headers=by_bearer(user.token))).status_code == 200:
        assert time.monotonic() < deadline
    with visiting(site, name) as other:
        unaffected = other.get("/me", headers=by_bearer(user.token))

    assert (response.status_code, code_of(response)) == (429, "TOO_MANY_REQUESTS")
    assert 1 <= int(response.headers["retry-after"]) <= 10
    assert unaffected.status_code == 200


@pytest.fixture
def visitors(site: Site) -> Iterator[list[httpx.Client]]:
    """A client of each application."""
    with ExitStack() as visits:
        yield [visits.enter_context(visiting(site, name)) for name in SERVERS]


def test_tokens_let_in_before_and_after_the_key_changes(
    site: Site, visitors: list[httpx.Client], user: User
) -> None:
    def issue() -> str:
        return str(user.ask("GET", "/token").json()["token"])

    def show(token: str) -> list[httpx.Response]:
        return [visitor.get("/by-token", headers=by_bearer(token)) for visitor in visitors]

    first = issue()
    before = show(first)
    site.execute("UPDATE user SET role = 'admin' WHERE id = ?", user.id)
    user.ask("POST", "/admin/rotate-signing-key", {"algorithm": "ES256", "now": True}).raise_for_status()
    second = issue()
    after = [*show(second), *show(first)]
    sessions = show(user.token)

    assert second.partition(".")[0] != first.partition(".")[0]
    assert [one.json() for one in (*before, *after)] == [{"id": user.id, "name": "Ada"}] * 3 * len(SERVERS)
    assert {(one.status_code, code_of(one)) for one in sessions} == {(401, "INVALID_TOKEN")}


@pytest.mark.threat("O28", "O29", "O34")
def test_access_tokens_let_in_by_audience_and_scope(
    site: Site, visitors: list[httpx.Client], user: User
) -> None:
    caller = warehouse.registered(site.url, command(site, *warehouse.CREATE).stdout)
    token = str(user.ask("GET", "/token").json()["token"])

    for visitor in visitors:

        def call(
            method: str, path: str, headers: dict[str, str], visitor: httpx.Client = visitor
        ) -> httpx.Response:
            return visitor.request(method, path, headers=headers)

        caller.check(call, user.token, user.id, token)


def test_applications_recover_from_a_restart_of_the_service(
    site: Site, visitors: list[httpx.Client], user: User
) -> None:
    def show(path: str, token: str) -> list[httpx.Response]:
        return [visitor.get(path, headers=by_bearer(token)) for visitor in visitors]

    token = user.ask("GET", "/token").json()["token"]
    before = [*show("/me", user.token), *show("/by-token", token)]
    site.stop()
    away = show("/me", user.token)
    by_cached_keys = show("/by-token", token)
    site.start()
    after = show("/me", user.token)

    assert {one.status_code for one in (*before, *by_cached_keys, *after)} == {200}
    assert {(one.status_code, code_of(one)) for one in away} == {(503, "SERVICE_UNAVAILABLE")}
    assert {one.headers["retry-after"] for one in away} == {"5"}
