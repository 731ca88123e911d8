"""The examples of the TypeScript kit, one application for each framework, next to a running service."""

import json
import re
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from standardwebhooks import Webhook

from tests.guides.protected import PATIENT, running
from tests.labs.sdk import warehouse
from tests.labs.sdk.test_sdks import BUILD, CONSUMERS, ROOT, SLOW, generate, run
from tests.live import PROGRAM, administrator, environment, serving
from tests.ports import free_port
from tests.service import NO_TLS, PASSWORD
from tests.settings.api_keys import VERIFIER

EXAMPLES = ROOT / "codegen" / "sdk" / "typescript" / "examples"
ADA = "ada@example.com"
SECRET = "s" * 32
LOOKUPS = 60
"""Requests of one client to one operation, in 10 seconds."""
PAGE = {"Accept": "text/html"}


def installed(source: Path) -> Path:
    """Return a copy of the project in a folder, with the packed SDK and its other packages."""
    sdk = generate("typescript")
    place = Path(shutil.copytree(source, BUILD / f"kit-{source.name}", dirs_exist_ok=True))
    wanted = (place / "package.json").read_text("utf-8") + str((sdk / "dist" / "index.js").stat().st_mtime_ns)
    done = place / "installed.txt"
    if not done.exists() or done.read_text("utf-8") != wanted:
        # As from a registry: packed, and without the packages that only its own build needs.
        shutil.rmtree(place / "node_modules" / "gatewright-client", ignore_errors=True)
        silent = ("--install-links", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error")
        run("npm", "install", "--prefer-offline", *silent, where=place)
        done.write_text(wanted, "utf-8")
    return place


def for_next_15(folder: Path) -> Path:
    """Return the example for Next.js with the former major version, changed as the guide says."""
    place = Path(shutil.copytree(EXAMPLES / "next", folder / "next-15"))
    package = json.loads((place / "package.json").read_text("utf-8"))
    package["dependencies"]["next"] = "15.5.29"
    (place / "package.json").write_text(json.dumps(package), "utf-8")
    middleware = (place / "proxy.ts").read_text("utf-8").replace("matcher:", 'runtime: "nodejs", matcher:')
    (place / "middleware.ts").write_text(middleware, "utf-8")
    (place / "proxy.ts").unlink()
    return place


@dataclass
class Site:
    """A service that can be stopped and started again, and the application next to it."""

    folder: Path
    service: str
    app: str
    settings: dict[str, str]
    client: httpx.Client
    webhook_secret: str = ""
    stack: ExitStack = field(default_factory=ExitStack)

    def start(self) -> None:
        """Start the service."""
        self.stack.enter_context(
            serving(self.folder, self.settings, port=int(self.service.rpartition(":")[2]))
        )

    def stop(self) -> None:
        """Stop the service."""
        self.stack.close()

    def command(self, *words: str) -> str:
        """Run a command of the service; return what it printed."""
        finished = subprocess.run(
            [PROGRAM, *words], check=False, cwd=self.folder, env=environment(self.settings),
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
        )  # fmt: skip
        assert finished.returncode == 0, finished.stderr
        return finished.stdout

    def execute(self, statement: str, *values: object) -> None:
        """Change the database of the service, as time would."""
        with closing(sqlite3.connect(self.folder / "gatewright.db", timeout=30)) as database, database:
            database.execute(statement, values)

    def post(self, path: str, body: dict[str, Any], token: str = "") -> Any:
        """Send a request to the service; return the body of the response."""
        headers = bearer(token) if token else {}
        return self.client.post(self.service + path, json=body, headers=headers).raise_for_status().json()

    def sign_up(self, email: str) -> str:
        """Sign a user up; return the token of the session."""
        return str(
            self.post("/sign-up/email", {"name": "Ada", "email": email, "password": PASSWORD})["token"]
        )

    def get(self, path: str, headers: dict[str, str] | None = None) -> httpx.Response:
        """Send a request to the application, which keeps no cookies."""
        response = self.client.get(self.app + path, headers=headers)
        self.client.cookies.clear()
        return response


def bearer(token: str) -> dict[str, str]:
    """Return the header of a program."""
    return {"Authorization": f"Bearer {token}"}


def cookie(token: str) -> dict[str, str]:
    """Return the header of a browser, which has other cookies as well."""
    return {"Cookie": f"theme=dark; service.session-token={token}"}


@contextmanager
def site(framework: str, folder: Path) -> Iterator[Site]:
    """Run the example of a framework next to a service."""
    place = installed(for_next_15(folder) if framework == "next-15" else EXAMPLES / framework)
    run("npm", "run", "--silent", "build", where=place)
    service, app = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
    settings = {
        "base_url": service,
        "trusted_proxies": '["127.0.0.1/32"]',
        "limits.requests": str(LOOKUPS),
        "session.update_age": "0s",
        **warehouse.SETTINGS,
    }
    with httpx.Client(timeout=PATIENT, verify=NO_TLS, trust_env=False) as client:
        one = Site(folder, service, app, settings, client)
        one.start()
        try:
            created = json.loads(
                one.command(
                    "clients", "create", "Shop", "--skip-consent", "--json", "--redirect-uri", f"{app}/callback",
                    "--post-logout-redirect-uri", f"{app}/",
                )
            )  # fmt: skip
            one.webhook_secret = one.command(
                "webhooks", "create", "crm", f"{app}/webhooks", "--event", "user.*"
            ).strip()
            variables = {
                "AUTH_URL": service, "APP_URL": app, "PORT": app.rpartition(":")[2], "SESSION_SECRET": SECRET,
                "CLIENT_ID": created["client_id"], "CLIENT_SECRET": created["client_secret"],
                "VERIFIER": VERIFIER, "WEBHOOK_SECRET": one.webhook_secret,
            }  # fmt: skip
            printed = folder / "printed.txt"
            with running("npm start", place, int(variables["PORT"]), printed, **variables):
                yield one
            assert "\n    at " not in printed.read_text("utf-8")
        finally:
            one.stop()


def test_calls_lists_and_tokens(tmp_path: Path) -> None:
    place = installed(CONSUMERS / "typescript_kit")
    shutil.copy(CONSUMERS / "tsconfig.json", place)
    run("npx", "tsc", where=place)
    port = free_port()
    settings = {"session.max_per_user": "0", "base_url": f"http://127.0.0.1:{port}"}
    with serving(tmp_path, settings, port=port) as live:
        admin = administrator(live.url, tmp_path)
        run("node", "dist/journey.js", where=place, SERVICE_ROOT=live.url, ADMIN_EMAIL=admin)


@pytest.mark.threat("O28", "O29", "O30", "O31", "O32", "O33", "O34")
def test_access_tokens() -> None:
    place = installed(CONSUMERS / "typescript_kit")
    shutil.copy(CONSUMERS / "tsconfig.json", place)
    run("npx", "tsc", where=place)
    run("node", "dist/access_tokens.js", where=place)


@pytest.mark.threat("O28", "O29", "O34")
@pytest.mark.parametrize("framework", ["express", "hono", "next", pytest.param("next-15", marks=SLOW)])
def test_example(framework: str, tmp_path: Path) -> None:
    """All in one test, because it takes long to build and start an application."""
    with site(framework, tmp_path) as one:
        token = one.sign_up(ADA)
        a_session_is_required(one, token)
        roles_and_more_are_required(one, token)
        a_token_needs_no_request(one, token)
        access_tokens_have_an_audience_and_scopes(one, token)
        an_api_key_has_permissions_and_limits(one, token)
        webhooks_are_received(one)
        users_sign_in_and_out(one, token)
        if framework.startswith("next"):
            pages_know_the_session(one, token)
        it_recovers_from_a_restart(one, token)
        a_client_is_limited(one, token)


def a_session_is_required(one: Site, token: str) -> None:
    for headers in ({}, bearer("x" * 32), cookie("x" * 32), {"Authorization": "Basic eDp5"}):
        refused = one.get("/me", headers)
        assert (refused.status_code, refused.json()["code"]) == (401, "UNAUTHORIZED")
        assert refused.headers["www-authenticate"] == "Bearer"
    cleared = one.get("/me", cookie("x" * 32)).headers["set-cookie"]
    assert "Max-Age=0" in cleared
    for headers in (bearer(token), cookie(token)):
        assert one.get("/me", headers).json()["email"] == ADA
    extended = one.get("/me", cookie(token)).headers["set-cookie"]
    assert f"service.session-token={token}" in extended
    redirect = one.get("/user", cookie(token))
    assert (redirect.status_code, redirect.headers["location"].removeprefix(one.app)) == (302, "/me")
    assert f"service.session-token={token}" in redirect.headers["set-cookie"]


def roles_and_more_are_required(one: Site, token: str) -> None:
    assert refusal(one.get("/reports", bearer(token))) == (403, "ROLE_REQUIRED")
    one.command("users", "promote", ADA)
    assert one.get("/reports", bearer(token)).json() == {"message": "For Ada only"}

    assert refusal(one.get("/payout", bearer(token))) == (403, "EMAIL_NOT_VERIFIED")
    one.execute("UPDATE user SET email_verified = 1 WHERE email = ?", ADA)
    assert one.get("/payout", bearer(token)).json() == {"to": ADA}
    old = one.post("/sign-in/email", {"email": ADA, "password": PASSWORD})["token"]
    one.execute("UPDATE session SET created_at = created_at - 3600000 WHERE id = ?", id_of(one, old))
    assert refusal(one.get("/payout", bearer(old))) == (403, "SESSION_NOT_FRESH")

    assert refusal(one.get("/invoices", bearer(token))) == (403, "NO_ACTIVE_ORGANIZATION")
    organization = one.post("/organization/create", {"name": "Acme", "slug": "acme"}, token)["id"]
    assert one.get("/invoices", bearer(token)).json() == {"organization": organization}
    one.execute("UPDATE member SET role = 'member' WHERE organization_id = ?", organization)
    assert refusal(one.get("/invoices", bearer(token))) == (403, "ORGANIZATION_ROLE_REQUIRED")


def a_token_needs_no_request(one: Site, token: str) -> None:
    signed = one.client.get(one.service + "/token", headers=bearer(token)).json()["token"]
    claims = one.get("/orders", bearer(signed))
    assert claims.json() == {"of": one.get("/me", bearer(token)).json()["id"]}
    for wrong in (token, signed[:-4] + "AAAA", "x" * 9000):
        refused = one.get("/orders", bearer(wrong))
        assert refusal(refused) == (401, "INVALID_TOKEN")
        assert refused.headers["www-authenticate"] == 'Bearer error="invalid_token"'
    assert refusal(one.get("/orders", cookie(token))) == (401, "UNAUTHORIZED")


def access_tokens_have_an_audience_and_scopes(one: Site, token: str) -> None:
    caller = warehouse.registered(one.service, one.command(*warehouse.CREATE))
    user = one.get("/me", bearer(token)).json()["id"]
    signed = one.client.get(one.service + "/token", headers=bearer(token)).json()["token"]

    def call(method: str, path: str, headers: dict[str, str]) -> httpx.Response:
        return one.client.request(method, one.app + path, headers=headers)

    caller.check(call, token, user, signed)


def an_api_key_has_permissions_and_limits(one: Site, token: str) -> None:
    def create(**wanted: Any) -> dict[str, str]:
        return {"x-api-key": one.post("/api-key/create", {"name": "ci", **wanted}, token)["key"]}

    reads = create(
        permissions={"files": ["read"]}, rateLimitEnabled=True, rateLimitMax=2, rateLimitTimeWindow=60_000
    )
    owner = one.get("/me", bearer(token)).json()["id"]
    assert refusal(one.get("/files")) == (401, "INVALID_API_KEY")
    assert refusal(one.get("/files", {"x-api-key": "gwk_nothing"})) == (401, "INVALID_API_KEY")
    assert refusal(one.get("/files", create())) == (403, "KEY_PERMISSIONS_INSUFFICIENT")
    assert [one.get("/files", reads).json() for _ in range(2)] == [{"of": owner}] * 2
    limited = one.get("/files", reads)
    assert refusal(limited) == (429, "RATE_LIMITED")
    assert 1 <= int(limited.headers["retry-after"]) <= 60


def webhooks_are_received(one: Site) -> None:
    deadline = time.monotonic() + 60
    while "user.created" not in one.get("/events").json():
        assert time.monotonic() < deadline, "no webhook"
        time.sleep(0.1)
    body = json.dumps({"type": "user.forged", "timestamp": "2026-11-23T07:54:18.067Z", "data": {}})
    url = f"{one.app}/webhooks"
    assert one.client.post(url, content=body).status_code == 401
    forged = signed_headers(body, "whsec_" + "A" * 43 + "=")
    assert one.client.post(url, content=body, headers=forged).status_code == 401
    assert one.client.post(url, content="x" * 100_000, headers=forged).status_code == 413
    assert (
        one.client.post(url, content=body, headers=signed_headers(body, one.webhook_secret)).status_code
        == 204
    )
    assert one.get("/events").json()[-1] == "user.forged"


def users_sign_in_and_out(one: Site, token: str) -> None:
    assert one.get("/").json() == {"email": None}
    assert refusal(one.get("/account")) == (401, "UNAUTHORIZED")
    sent = one.get("/account?tab=2", PAGE)
    assert sent.headers["location"] == "/sign-in?returnTo=%2Faccount%3Ftab%3D2"

    begun = one.get(sent.headers["location"])
    authorize = begun.headers["location"]
    assert "code_challenge_method=S256" in authorize
    came_back = one.client.get(authorize, headers=cookie(token)).headers["location"]
    assert came_back.startswith(f"{one.app}/callback?")
    path = came_back.removeprefix(one.app)
    assert refusal(one.get(path)) == (400, "AUTHENTICATION_FAILED")
    attempt = {"Cookie": cookies_of(begun)}
    other = re.sub("state=[^&]+", "state=another", path)
    assert refusal(one.get(other, attempt)) == (400, "AUTHENTICATION_FAILED")
    denied = one.get(
        "/callback?error=access_denied&" + path.partition("?")[2].replace("code=", "not="), attempt
    )
    assert "access_denied" in denied.json()["message"]
    done = one.get(path, attempt)
    assert (done.status_code, done.headers["location"]) == (303, "/account?tab=2")
    signed_in = {"Cookie": cookies_of(done)}
    assert one.get("/", signed_in).json() == {"email": ADA}
    assert one.get("/account", signed_in).json()["emailVerified"] is True
    # A code is for one use, and the cookie of the attempt is no session.
    assert refusal(one.get(path, attempt)) == (400, "AUTHENTICATION_FAILED")
    swapped = attempt["Cookie"].replace("gatewright-sign-in=", "gatewright-session=")
    assert one.get("/", {"Cookie": swapped}).json() == {"email": None}
    elsewhere = one.get("/sign-in?returnTo=//example.com/x")
    back = one.client.get(elsewhere.headers["location"], headers=cookie(token)).headers["location"]
    landed = one.get(back.removeprefix(one.app), {"Cookie": cookies_of(elsewhere)})
    assert landed.headers["location"] == "/"

    assert one.get("/sign-out", signed_in).status_code == 405
    left = one.client.post(f"{one.app}/sign-out", headers=signed_in)
    assert left.headers["location"].startswith(f"{one.service}/oauth2/")
    assert "Max-Age=0" in left.headers["set-cookie"]


def pages_know_the_session(one: Site, token: str) -> None:
    assert refusal(one.get("/profile")) == (401, "UNAUTHORIZED")
    page = one.get("/profile", cookie(token))
    assert "<h1>Ada</h1>" in page.text
    assert f"service.session-token={token}" in page.headers["set-cookie"]


def it_recovers_from_a_restart(one: Site, token: str) -> None:
    signed = one.client.get(one.service + "/token", headers=bearer(one.sign_up("bob@example.com"))).json()[
        "token"
    ]
    one.stop()
    away = one.get("/me", bearer(token))
    assert refusal(away) == (503, "SERVICE_UNAVAILABLE")
    assert away.headers["retry-after"] == "5"
    assert refusal(one.get("/files", {"x-api-key": "gwk_any"})) == (503, "SERVICE_UNAVAILABLE")
    # The keys of tokens are there already.
    assert one.get("/orders", bearer(signed)).status_code == 200
    one.start()
    again = one.post("/sign-in/email", {"email": ADA, "password": PASSWORD})["token"]
    assert one.get("/me", bearer(again)).json()["email"] == ADA


def a_client_is_limited(one: Site, token: str) -> None:
    again = one.post("/sign-in/email", {"email": ADA, "password": PASSWORD})["token"]
    responses = [one.get("/me", bearer(again)) for _ in range(2 * LOOKUPS)]
    limited = responses[-1]
    assert refusal(limited) == (429, "TOO_MANY_REQUESTS")
    assert int(limited.headers["retry-after"]) >= 1


def refusal(response: httpx.Response) -> tuple[int, str]:
    """Return the status and the code of an error."""
    return response.status_code, response.json()["code"]


def cookies_of(response: httpx.Response) -> str:
    """Return the cookies that a response sets, as a browser sends them."""
    return "; ".join(cookie.partition(";")[0] for cookie in response.headers.get_list("set-cookie"))


def id_of(one: Site, token: str) -> str:
    """Return the id of a session."""
    session = one.client.get(one.service + "/get-session", headers=bearer(token)).json()["session"]
    return str(session["id"])


def signed_headers(body: str, secret: str) -> dict[str, str]:
    """Return the headers of a webhook."""
    now = datetime.now(UTC)
    return {
        "webhook-id": "msg_1",
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": Webhook(secret).sign("msg_1", now, body),
    }
