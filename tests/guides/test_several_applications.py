"""The guide "Several applications": two that share a cookie, and two that sign users in by OpenID Connect."""

import time
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from tests.docs.typing_in import Shell, blocks, commands, guide, placed, surroundings, typed, write_files
from tests.guides.protected import running
from tests.guides.test_sign_in import AS_WRITTEN
from tests.labs.relying_parties.user import EMAIL, User
from tests.live import serving
from tests.ports import free_port
from tests.service import NO_TLS

GUIDE = guide("several-applications")
TIME_LIMIT = 60.0
"""Seconds until an application has learned of a logout."""


def without_installing(command: str) -> str:
    """Return commands without those that install packages, which are those of this environment."""
    return "".join(line for line in command.splitlines(keepends=True) if not line.startswith("pip "))


def test_applications_of_a_domain_share_the_session(tmp_path: Path) -> None:
    own, first, second = (free_port() for _ in range(3))
    # Without TLS; every name is a port of this machine.
    text = GUIDE.replace("https://", "http://").replace("https%3A", "http%3A")
    places = {"127.0.0.1:8000": f"127.0.0.1:{own}", "3001": str(first), "3002": str(second)}
    write_files(text, tmp_path)
    folder = tmp_path / "shared"
    ports = {"auth": own, "app1": first, "app2": second}
    lines = [f'connect-to = "{name}.example.com:80:127.0.0.1:{port}"' for name, port in ports.items()]
    (folder / ".curlrc").write_text("\n".join([*lines, 'noproxy = "*"']), "utf-8")
    settings = {"session.cookie_secure": "false", "trusted_proxies": "127.0.0.1/32"}
    serve = placed(without_installing(commands(text, "serve shared")), places)

    with serving(folder, settings, port=own), running(serve, folder, second, folder / "printed.txt"):
        shell = Shell(folder, surroundings({"CURL_HOME": str(folder), "HOME": str(folder)}))
        shell.type(f"until curl -s http://127.0.0.1:{first}/; do :; done")
        printed = shell.type(commands(text, "try shared"))
        assert shell.leave() == 0

    shown = [block.text for block in blocks(text, "text")]
    assert [line for line in printed.splitlines() if line] == shown[0].splitlines()


class Browser:
    """A browser that opens applications, with the cookies of each of them."""

    def __init__(self, user: User) -> None:
        self._client = httpx.Client(verify=NO_TLS, trust_env=False, timeout=TIME_LIMIT)
        self._user = user

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def open(self, url: str) -> httpx.Response:
        """Open an application, sign in at Gatewright if it asks, and return the page where that ends."""
        response = self._client.get(url)
        while response.is_redirect:
            response = self._client.get(self._user.open(str(response.next_request.url)))  # type: ignore[union-attr]
        return response

    def sign_out(self, url: str) -> str:
        """Press the button of an application, and return where that leads."""
        response = self._client.post(f"{url}/sign-out")
        return self._user.open(response.headers["location"])

    def is_signed_in(self, url: str) -> bool:
        """Return whether an application knows the user, without following its redirect."""
        return self._client.get(url).is_success

    def post(self, url: str, form: dict[str, str]) -> int:
        """Send a form; return the status."""
        return self._client.post(url, data=form).status_code


@pytest.mark.parametrize("leaving", ["shop", "wiki"])
def test_applications_of_several_domains_sign_in_and_out_together(tmp_path: Path, leaving: str) -> None:
    own, *ports = (free_port() for _ in range(3))
    # Two hosts that are different sites for browsers, as two domains are.
    urls = {"shop": f"http://localhost:{ports[0]}", "wiki": f"http://127.0.0.1:{ports[1]}"}
    issuer = f"http://127.0.0.1:{own}"
    places = {
        "https://shop.example.org": urls["shop"], "https://wiki.example.net": urls["wiki"],
        "https://auth.example.com": issuer,
    }  # fmt: skip
    write_files(placed(GUIDE, places), tmp_path)
    folder = tmp_path / "separate"
    typed(commands(GUIDE, "secrets"), folder)
    start = placed(without_installing(commands(GUIDE, "serve shop")), places)
    settings = {**AS_WRITTEN, "base_url": issuer, "session.cookie_secure": "false"}

    with ExitStack() as ends:
        live = ends.enter_context(serving(folder, settings, port=own))
        for (name, url), port in zip(urls.items(), ports, strict=True):
            # The line about the wiki names what differs.
            command = start.replace("shop", name).replace(f"APP_URL={urls['shop']}", f"APP_URL={url}")
            ends.enter_context(
                running(command.replace("3001", str(port)), folder, port, tmp_path / f"{name}.txt")
            )
        user = User(issuer)
        ends.callback(user.close)
        user.sign_up()
        browser = ends.enter_context(Browser(user))

        shown = [browser.open(f"{url}/").json() for url in urls.values()]
        forged = [
            browser.post(f"{url}/backchannel-logout", {"logout_token": "a.b.c"}) for url in urls.values()
        ]
        both = [browser.is_signed_in(f"{url}/") for url in urls.values()]
        back = browser.sign_out(urls[leaving])
        deadline = time.monotonic() + TIME_LIMIT
        while any(browser.is_signed_in(f"{url}/") for url in urls.values()):
            assert time.monotonic() < deadline, [(tmp_path / f"{name}.txt").read_text() for name in urls]
        assert live.output.faults() == []

    assert shown == [{"application": name, "user": EMAIL} for name in urls]
    assert user.pages == ["sign-in"]
    assert forged == [400, 400]
    assert both == [True, True]
    assert back.partition("?")[0] == f"{urls[leaving]}/"
