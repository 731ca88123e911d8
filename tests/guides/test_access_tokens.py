"""The guide "Protect an API with access tokens", typed as it is written."""

import json
import re
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, OctKey

from tests.docs.typing_in import Shell, blocks, commands, guide, placed, write_files
from tests.guides.protected import GATEWRIGHT, running
from tests.guides.test_sign_in import AS_WRITTEN, with_packages
from tests.labs.e2e.cross_origin import at_another_origin
from tests.labs.relying_parties.user import User
from tests.labs.sdk.test_sdks import generate
from tests.live import environment, serving
from tests.ports import free_port

GUIDE = guide("protect-an-api")
API = "https://orders.example.com"
INVALID = 'Bearer error="invalid_token"'


@dataclass(frozen=True, slots=True)
class Site:
    """A service with the settings of the guide, and the ports of the applications around it."""

    issuer: str
    root: Path
    """The folder that the service and the applications have their folders in."""
    places: dict[str, str]
    user: User
    user_id: str

    def port(self, written: str) -> int:
        """Return the port that an application has, by that of the guide."""
        return int(self.places[written])

    def shell(self, folder: str = "gatewright") -> Shell:
        """Return a terminal in the folder of the service, or in that of an application."""
        return Shell(self.root / folder, environment(AS_WRITTEN))

    def type(self, shell: Shell, *titles: str) -> list[str]:
        """Type commands of the guide; return the lines that they printed."""
        printed = "".join(shell.type(placed(commands(GUIDE, title), self.places)) for title in titles)
        return [line for line in printed.splitlines() if line]

    @contextmanager
    def serve(self, title: str, written: str, place: Path, **variables: str) -> Iterator[str]:
        """Run an application of the guide on the port that stands for the written one; yield its URL."""
        command = commands(GUIDE, title)
        port, printed = self.port(written), self.root / f"{written}.txt"
        path = {"PYTHONPATH": str(generate("python"))} if title == "serve FastAPI" else {}
        with running(placed(command, {**self.places, **variables}), place, port, printed, **path):
            yield f"http://localhost:{port}"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The service, with a user and the program of the guide."""
    root, own = tmp_path_factory.mktemp("protect-an-api"), free_port()
    folder = root / "gatewright"
    for place in (folder, root / "shop"):
        place.mkdir()
    [written] = blocks(GUIDE, "toml")
    url = f"http://localhost:{own}"
    here = f'profile = "development"\nbase_url = "{url}"\n'
    (folder / "gatewright.toml").write_text(here + written.text, "utf-8")
    places = {GATEWRIGHT: url, **{written: str(free_port()) for written in ("3000", "3001", "3002")}}
    # Unlike browsers, httpx sends no Secure cookie over http, not even to this machine.
    settings = {**AS_WRITTEN, "server.host": "localhost", "session.cookie_secure": "false"}
    with serving(folder, settings, port=own) as live:
        user = User(url)
        site = Site(url, root, places, user, user.sign_up())
        shell = site.shell()
        site.type(shell, "register")
        assert shell.leave() == 0
        yield site
        user.close()
    assert live.output.faults() == []


def in_folder(site: Site, language: str) -> Path:
    """Return a folder with the files of the guide, and the packages of the API in a language."""
    place = site.root / "orders-api"  # The packages of Python are those of this environment.
    if language == "Express":
        # The first line makes the SDK.
        install = commands(GUIDE, "install Express").partition("\n")[2]
        sdk = {"../gatewright/build/sdk/typescript": str(generate("typescript"))}
        place = with_packages("api", placed(install, sdk))
    write_files(GUIDE, place)
    return place


@pytest.mark.parametrize("language", ["FastAPI", "Express"])
def test_a_program_is_let_in_by_its_scope(site: Site, language: str) -> None:
    promised = blocks(GUIDE, "text")[0].text.splitlines()
    with site.serve(f"serve {language}", "3001", in_folder(site, language)):
        shell = site.shell("orders-api")
        token, *printed = site.type(shell, "token", "try")
        assert shell.leave() == 0

    assert len(token.split(".")) == 3
    assert printed == promised


def test_a_token_is_checked_by_a_request(site: Site) -> None:
    operator, shell = site.shell(), site.shell("orders-api")
    site.type(operator, "register the API")
    site.type(shell, "token")
    shell.type(commands(GUIDE, "try").splitlines()[0])
    with site.serve("serve reports", "3002", in_folder(site, "FastAPI")):
        printed = site.type(shell, "try reports")
    assert (operator.leave(), shell.leave()) == (0, 0)

    assert printed == ["200 ", f"401 {INVALID}", f"401 {INVALID}"]


def test_an_application_calls_the_api_for_its_user(site: Site) -> None:
    shell, place = site.shell(), site.root / "shop"
    site.type(shell, "register the application")
    assert shell.leave() == 0
    for text in (GUIDE, guide("sign-in-with-gatewright")):
        write_files(text, place)
    with (
        site.serve("serve FastAPI", "3001", in_folder(site, "FastAPI")),
        site.serve("serve the application", "3000", place) as shop,
        httpx.Client(trust_env=False) as browser,
    ):
        asked = browser.get(f"{shop}/orders")
        shown = browser.get(site.user.open(asked.headers["location"]))

    client_id = re.search(r'"client_id": "(\w+)"', (place / "shop.json").read_text("utf-8"))
    assert client_id is not None
    assert shown.json() == {"orders of": site.user_id, "for": client_id[1]}
    assert site.user.pages == ["sign-in", "consent"]


KEY = ECKey.generate_key("P-256", {"kid": "mine", "alg": "ES256", "use": "sig"})
"""The only key that the issuer of forged tokens publishes."""
SHARED = OctKey.import_key({"kty": "oct", "k": KEY.as_dict()["x"]})
"""A secret made of the public key."""
FOREIGN = ECKey.generate_key("P-256", {"kid": "mine", "alg": "ES256"})


@dataclass(frozen=True, slots=True)
class Forger:
    """An issuer, which differs from Gatewright in that it signs everything."""

    url: str

    def token(self, header: dict[str, Any] | None = None, key: Any = KEY, **claims: Any) -> str:
        """Return an access token that is valid but for what is given; a claim that is None is left out."""
        now = int(time.time())
        caller = {"sub": "ada", "client_id": "shop", "aud": API, "scope": "orders:read"}
        whole = {"iss": self.url, "iat": now, "exp": now + 600, **caller, **claims}
        sent = {name: value for name, value in whole.items() if value is not None}
        protected = {"alg": "ES256", "kid": "mine", "typ": "at+jwt", **(header or {})}
        return jwt.encode(protected, sent, key, algorithms=[protected["alg"]])


def unsigned(token: str) -> str:
    """Return a token with its claims and without its signature."""
    header = urlsafe_b64encode(json.dumps({"alg": "none", "kid": "mine", "typ": "at+jwt"}).encode())
    return f"{header.decode().rstrip('=')}.{token.split('.')[1]}."


FORGED: dict[str, Callable[[Forger], str]] = {
    "of an ID token": lambda forger: forger.token({"typ": "JWT"}),
    "of a logout token": lambda forger: forger.token({"typ": "logout+jwt"}),
    "expired": lambda forger: forger.token(exp=int(time.time()) - 120),
    "without an end": lambda forger: forger.token(exp=None),
    "for another API": lambda forger: forger.token(aud="https://reports.example.com"),
    "for no API": lambda forger: forger.token(aud=None),
    "of another issuer": lambda forger: forger.token(iss="https://evil.example"),
    "without a client": lambda forger: forger.token(client_id=None),
    "of another key": lambda forger: forger.token(key=FOREIGN),
    "of an unknown key": lambda forger: forger.token({"kid": "other"}),
    "by the public key": lambda forger: forger.token({"alg": "HS256"}, SHARED),
    "unsigned": lambda forger: unsigned(forger.token()),
    "too long": lambda forger: "a" * 9000,
}


def ask(api: str, token: str) -> httpx.Response:
    """Call an API with a token."""
    headers = {"Authorization": f"Bearer {token}"}
    return httpx.get(f"{api}/orders", headers=headers, timeout=60, trust_env=False)


@pytest.mark.parametrize("language", ["FastAPI", "Express"])
def test_forged_tokens_are_refused(site: Site, language: str) -> None:
    place = in_folder(site, language)
    with at_another_origin(json.dumps({"keys": [KEY.as_dict(private=False)]})) as issuer:
        forger = Forger(issuer)
        with site.serve(f"serve {language}", "3001", place, **{site.issuer: issuer}) as api:
            answers = {name: ask(api, forge(forger)) for name, forge in FORGED.items()}
            assert ask(api, forger.token()).status_code == 200

    refused = {
        name: (answer.status_code, answer.headers["WWW-Authenticate"]) for name, answer in answers.items()
    }
    assert refused == dict.fromkeys(FORGED, (401, INVALID))


@pytest.mark.parametrize("language", ["FastAPI", "Express"])
def test_no_token_is_accepted_without_keys(site: Site, language: str) -> None:
    away = f"http://127.0.0.1:{free_port()}"
    with site.serve(f"serve {language}", "3001", in_folder(site, language), **{site.issuer: away}) as api:
        answer = ask(api, Forger(away).token())

    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
