"""The guides on protecting an application, typed as they are written: what each application must do."""

import itertools
import re
import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import httpx
import pytest

from tests.docs.typing_in import commands, guide, placed, typed, write_files
from tests.guides.protected import (
    ADA,
    APPLICATION,
    BOB,
    GATEWRIGHT,
    PATIENT,
    TIMEOUT,
    Application,
    in_python,
    protecting,
)
from tests.labs.sdk.test_sdks import generate
from tests.live import ROOT

ADDRESSES = (f"127.0.{one}.{two}" for one, two in itertools.product(range(1, 255), range(1, 255)))
PAGE = b"<html>Sorry</html>"

PLACE = ROOT / "build" / "guides" / "express"
"""The folder of the Express application, where the packages stay that were fetched once."""


def installed_express() -> Path:
    """Return the folder of the Express application, with the packages and the files that its guide shows."""
    sdk = generate("typescript")
    shown = guide("protect-express")
    # Its first line makes the SDK.
    install = placed(
        commands(shown, "install").partition("\n")[2], {"../gatewright/build/sdk/typescript": str(sdk)}
    )
    installed = PLACE / "installed.sh"
    PLACE.mkdir(parents=True, exist_ok=True)
    if not installed.exists() or installed.read_text("utf-8") != install:
        write_files(shown, PLACE)
        typed(install, PLACE)
        installed.write_text(install, "utf-8")
    wanted = (PLACE / "package.json").read_bytes()
    write_files(shown, PLACE)
    (PLACE / "package.json").write_bytes(wanted)
    return PLACE


def in_folder_of_express(place: Path) -> Path:
    """Put the files of the Express application and its packages into another folder; return that folder."""
    installed = installed_express()
    write_files(guide("protect-express"), place)
    shutil.copy(installed / "package.json", place)
    (place / "node_modules").symlink_to(installed / "node_modules")
    return place


@contextmanager
def in_express(places: pytest.TempPathFactory) -> Iterator[Application]:
    """Follow the guide for Express, and run its application."""
    place, shown = installed_express(), guide("protect-express")
    typed(commands(shown, "compile"), place)
    with protecting(shown, place, places.mktemp("express")) as application:
        yield application


@pytest.fixture(scope="module", params=["django", "fastapi", "flask", "express"])
def application(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Application]:
    """The application of each guide."""
    name = str(request.param)
    with (
        in_express(tmp_path_factory)
        if name == "express"
        else in_python(name, tmp_path_factory) as application
    ):
        yield application


def by_bearer(token: str) -> dict[str, str]:
    """The headers of a program."""
    return {"Authorization": f"Bearer {token}"}


def by_cookie(token: str) -> dict[str, str]:
    """The headers of a browser, which holds other cookies as well."""
    return {"Cookie": f"theme=dark; service.session-token={token}; lang=en"}


CARRIED = pytest.mark.parametrize("carried", [by_bearer, by_cookie])
Carried = Callable[[str], dict[str, str]]


def from_new_address(application: Application) -> httpx.Client:
    """Return a client of the application, at an address of the loopback that nobody has used."""
    transport = httpx.HTTPTransport(local_address=next(ADDRESSES), verify=False)
    return httpx.Client(base_url=application.url, transport=transport, timeout=PATIENT)


def promises(cookie: str) -> set[str]:
    """Return what a Set-Cookie header says beside the time, in lower case; the order says nothing."""
    return {
        part.strip().lower()
        for part in cookie.split(";")
        if "expires" not in part and "age" not in part.lower()
    }


class TestApplication:
    """Its front door."""

    @pytest.fixture
    def visitor(self, application: Application) -> Iterator[httpx.Client]:
        """Somebody at an address of their own, who keeps no cookies."""
        with from_new_address(application) as client:
            yield client

    def test_what_the_guide_types_answers_as_it_says(self, application: Application) -> None:
        places = {GATEWRIGHT: application.live.url, f":{APPLICATION}": f":{httpx.URL(application.url).port}"}
        printed = typed(placed(commands(application.guide, "try"), places), application.directory)

        assert re.findall(r" (\d{3})$", printed, re.MULTILINE) == ["401", "200", "200", "403", "401"]

    def test_what_is_open_asks_nobody(self, application: Application, visitor: httpx.Client) -> None:
        with application.relay.away():
            assert visitor.get("/").status_code == 200

    @CARRIED
    def test_a_live_session_is_let_in(
        self, application: Application, visitor: httpx.Client, carried: Carried
    ) -> None:
        token = application.sign_in()

        answer = visitor.get("/me", headers=carried(token))

        assert (answer.status_code, answer.json()) == (
            200,
            {"name": "Ada", "email": ADA, "verified": False},
        )

    @pytest.mark.parametrize(
        "headers",
        [
            {},
            by_bearer("x" * 32),
            by_cookie("x" * 32),
            {"Authorization": "Bearer"},
            {"Authorization": "Basic YWRhOnNldmVu"},
            {"Cookie": "service.session-token=\xe4\xf6"},
            {"X-User-Id": "1", "X-Forwarded-User": ADA, "Remote-User": ADA, "X-Role": "admin"},
        ],
    )
    def test_others_are_asked_to_sign_in(self, visitor: httpx.Client, headers: dict[str, str]) -> None:
        answer = visitor.get("/me", headers=httpx.Headers(headers, encoding="latin-1"))

        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"

    def test_a_token_counts_in_no_other_place(self, application: Application, visitor: httpx.Client) -> None:
        token = application.sign_in()

        answer = visitor.get(f"/me?token={token}", headers={"X-Auth-Token": token, "X-Authorization": token})

        assert answer.status_code == 401

    def test_other_cookies_may_hold_anything(self, application: Application, visitor: httpx.Client) -> None:
        cookie = f"name=\xe4\xf6\xfc; service.session-token={application.sign_in()}"

        answer = visitor.get("/me", headers=httpx.Headers({"Cookie": cookie}, encoding="latin-1"))

        assert answer.status_code == 200

    @CARRIED
    def test_signing_out_elsewhere_takes_effect_at_once(
        self, application: Application, visitor: httpx.Client, carried: Carried
    ) -> None:
        here, elsewhere = application.sign_in(), application.sign_in()
        assert visitor.get("/me", headers=carried(here)).status_code == 200

        application.post("/revoke-other-sessions", {}, elsewhere)

        assert visitor.get("/me", headers=carried(here)).status_code == 401
        assert visitor.get("/me", headers=carried(elsewhere)).status_code == 200

    @CARRIED
    def test_an_expired_session_is_none(
        self, application: Application, visitor: httpx.Client, carried: Carried
    ) -> None:
        token = application.sign_in()
        digest = sha256(token.encode()).digest()
        application.execute("UPDATE session SET expires_at = created_at WHERE token_digest = ?", digest)

        answer = visitor.get("/me", headers=carried(token))

        assert answer.status_code == 401

    def test_banned_users_are_shut_out(self, application: Application, visitor: httpx.Client) -> None:
        token = application.sign_in(BOB)
        assert visitor.get("/me", headers=by_bearer(token)).status_code == 200

        application.execute("UPDATE user SET banned = 1 WHERE email = ?", BOB)

        assert visitor.get("/me", headers=by_bearer(token)).status_code == 401
        application.execute("UPDATE user SET banned = 0 WHERE email = ?", BOB)

    def test_the_role_decides(self, application: Application, visitor: httpx.Client) -> None:
        token = application.sign_in(BOB)
        assert visitor.get("/reports", headers=by_bearer(token)).status_code == 403

        application.execute("UPDATE user SET role = 'admin' WHERE email = ?", BOB)

        assert visitor.get("/reports", headers=by_bearer(token)).json() == {"message": "For Bob only"}
        application.execute("UPDATE user SET role = 'user' WHERE email = ?", BOB)

    def test_one_users_cookie_is_not_kept_for_the_next(
        self, application: Application, visitor: httpx.Client
    ) -> None:
        answer = visitor.get("/me", headers=by_cookie(application.sign_in()))
        visitor.cookies.clear()

        assert "service.session-token=" in answer.headers["set-cookie"]
        assert visitor.get("/me").status_code == 401
        bob = visitor.get("/me", headers=by_cookie(application.sign_in(BOB)))
        assert bob.json()["email"] == BOB

    def test_the_browser_is_told_what_becomes_of_its_cookie(
        self, application: Application, visitor: httpx.Client
    ) -> None:
        token = application.sign_in()
        said = application.caller.get("/get-session", headers=by_cookie(token)).headers["set-cookie"]
        application.caller.cookies.clear()

        extended = visitor.get("/me", headers=by_cookie(token))
        application.post("/sign-out", {}, token)
        dead = visitor.get("/me", headers=by_cookie(token))

        assert f"service.session-token={token}".lower() in promises(said)
        assert promises(extended.headers["set-cookie"]) == promises(said)
        assert "Max-Age=0" in dead.headers["set-cookie"]

    def test_nobody_gets_in_while_gatewright_is_away(
        self, application: Application, visitor: httpx.Client
    ) -> None:
        token = application.sign_in()

        with application.relay.away():
            answer = visitor.get("/me", headers=by_bearer(token))

        assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
        assert visitor.get("/me", headers=by_bearer(token)).status_code == 200

    @pytest.mark.parametrize(
        "answer",
        [
            b"",
            b"HTTP/1.1 200 OK\r\nContent-Length: 18\r\n\r\n" + PAGE,
            b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 18\r\n\r\n" + PAGE,
            b"HTTP/1.1 503 Unavailable\r\nContent-Length: 18\r\n\r\n" + PAGE,
            b"HTTP/1.1 302 Found\r\nLocation: /login\r\nContent-Length: 0\r\n\r\n",
            b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n{"user": 1}',
            b"nonsense\r\n\r\n",
        ],
        ids=["silence", "page", "bad-gateway", "unavailable", "redirect", "other-json", "nonsense"],
    )
    def test_what_is_no_answer_of_gatewright_is_503(
        self, application: Application, visitor: httpx.Client, answer: bytes
    ) -> None:
        token = application.sign_in()

        with application.relay.answering(answer):
            met = visitor.get("/me", headers=by_bearer(token))

        assert (met.status_code, met.headers["retry-after"]) == (503, "5")
        assert visitor.get("/me", headers=by_bearer(token)).status_code == 200

    def test_a_visitor_who_asks_too_often_hinders_nobody_else(self, application: Application) -> None:
        token = application.sign_in()
        statuses: set[int] = set()
        deadline = time.monotonic() + TIMEOUT
        with from_new_address(application) as busy, from_new_address(application) as other:

            def ask(_: int) -> int:
                return busy.get("/me", headers=by_bearer(token)).status_code

            # One after another, they could take longer than the seconds in which so many are too many.
            with ThreadPoolExecutor(8) as threads:
                while statuses <= {200} and time.monotonic() < deadline:
                    statuses |= set(threads.map(ask, range(16)))

            assert statuses <= {200, 429}
            assert 429 in statuses
            assert other.get("/me", headers=by_bearer(token)).status_code == 200

    def test_it_never_failed_for_another_reason(self, application: Application) -> None:
        printed = application.printed.read_text("utf-8")

        assert "Traceback" not in printed
        assert "\n    at " not in printed
