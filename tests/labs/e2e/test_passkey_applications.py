"""Passkeys in applications at another origin, in a real browser: the page of the guide, and Better Auth's client."""

import base64
import json
import subprocess
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import pyotp
import pytest
from playwright.async_api import Browser, Page, expect

from domain.passkeys.policy import PasskeyPolicy
from server.config.groups.passkeys import PasskeySettings
from server.services import load_settings
from tests import packages
from tests.docs.typing_in import blocks, guide
from tests.labs.e2e.browser import browsing
from tests.labs.e2e.cross_origin import at_another_origin
from tests.labs.e2e.virtual_authenticator import attach
from tests.live import serving
from tests.ports import free_port
from tests.service import PASSWORD

SHOWN = {block.title: block.text for block in blocks(guide("passkeys"))}
SUITE = Path(__file__).parent / "official_client"


@dataclass(frozen=True, slots=True)
class Place:
    """A service, and the origins of two applications that use passkeys of its domain."""

    service: str
    guide: str
    official: str


def bundled() -> str:
    """Return the official client in one script."""
    folder = packages.better_auth(SUITE)
    command = ["../node_modules/.bin/esbuild", "passkeys.mjs", "--bundle", "--format=iife"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.replace("</script", "<\\/script")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    port = free_port()
    service = f"http://localhost:{port}"
    page = SHOWN["page.html"].replace("https://auth.example.com", service)
    official = (
        f'<!doctype html><html lang="en" data-gatewright="{service}"><title>Application</title>'
        f'<input aria-label="Email" autocomplete="username webauthn"><script>{bundled()}</script></html>'
    )
    with ExitStack() as ends:
        applications = [
            ends.enter_context(at_another_origin(shown)).replace("127.0.0.1", "localhost")
            for shown in (page, official)
        ]
        settings = {
            "base_url": service,
            "trusted_origins": json.dumps(applications),
            "session.cookie_secure": "false",
            "passkey.rp_id": "localhost",
            "passkey.origins": json.dumps([service, *applications]),
        }
        ends.enter_context(serving(tmp_path_factory.mktemp("place"), settings, port=port))
        yield Place(service, *applications)


async def call(page: Page, method: str, *arguments: Any) -> Any:
    """Call a method of the official client; return its data and its error."""
    return await page.evaluate(
        "([method, given]) => method.split('.').reduce((found, name) => found[name], client)(...given)"
        ".then(({data, error}) => ({data, error}))",
        [method, list(arguments)],
    )


async def succeed(page: Page, method: str, *arguments: Any) -> Any:
    answer = await call(page, method, *arguments)
    assert answer["error"] is None, (method, answer)
    return answer["data"]


async def test_the_page_of_the_guide_adds_a_passkey_and_signs_in(browser: Browser, place: Place) -> None:
    async with browsing(browser) as page:
        await attach(page)
        await page.goto(place.guide)
        message = page.get_by_role("status")
        await page.get_by_role("button", name="Add a passkey").click()
        await expect(message).to_have_text("Unauthorized")
        user = {"name": "Ada", "email": f"ada-{uuid4().hex}@example.com", "password": PASSWORD}
        signed_up = await page.request.post(
            f"{place.service}/sign-up/email", data=user, headers={"Origin": place.guide}
        )
        assert signed_up.ok

        await page.get_by_role("button", name="Add a passkey").click()
        await expect(message).to_have_text("Laptop is added.")
        await page.context.clear_cookies()
        await page.get_by_role("button", name="Sign in with a passkey").click()
        await expect(message).to_have_text("Welcome, Ada.")


@pytest.mark.parametrize("title", ["One domain", "Subdomains", "Apps"])
def test_the_settings_of_the_guide_are_accepted(tmp_path: Path, title: str) -> None:
    (tmp_path / "gatewright.toml").write_text(SHOWN[title], "utf-8")

    settings = load_settings({"GATEWRIGHT_PROFILE": "development"}, tmp_path)

    [policy] = [one for one in settings[PasskeySettings].policies(settings) if isinstance(one, PasskeyPolicy)]
    assert (policy.rp_id, policy.on_pages) == ("example.com", True)
    named = tomllib.loads(SHOWN[title])["passkey"].get("origins", ["https://example.com"])
    assert list(policy.origins) == named


def test_the_origin_of_an_android_app_is_its_fingerprint() -> None:
    [target] = [one["target"] for one in json.loads(SHOWN["assetlinks.json"])]
    digest = bytes.fromhex(target["sha256_cert_fingerprints"][0].replace(":", ""))

    written = base64.urlsafe_b64encode(digest).decode().rstrip("=")

    assert f"android:apk-key-hash:{written}" in tomllib.loads(SHOWN["Apps"])["passkey"]["origins"]


async def test_the_official_client_works(browser: Browser, place: Place) -> None:
    email = f"ada-{uuid4().hex}@example.com"
    credentials = {"email": email, "password": PASSWORD}
    async with browsing(browser) as page, browsing(browser) as other:
        device = await attach(page)
        await page.goto(place.official)
        await succeed(page, "signUp.email", {"name": "Ada", **credentials})

        added = await succeed(page, "passkey.addPasskey", {"name": "Laptop"})
        again = await call(page, "passkey.addPasskey", {"name": "Laptop"})
        assert added["name"] == "Laptop"
        assert again["error"]["code"] == "ERROR_AUTHENTICATOR_PREVIOUSLY_REGISTERED"
        await succeed(page, "passkey.updatePasskey", {"id": added["id"], "name": "Work laptop"})
        [listed] = await succeed(page, "passkey.listUserPasskeys")
        assert (listed["id"], listed["name"]) == (added["id"], "Work laptop")

        for options in ({}, {"autoFill": True}):
            await succeed(page, "signOut")
            signed_in = await succeed(page, "signIn.passkey", options)
            assert signed_in["user"]["email"] == email
            assert (await succeed(page, "getSession"))["session"]["id"] == signed_in["session"]["id"]

        await succeed(page, "signOut")
        await device.verify_user(False)
        refused = await call(page, "signIn.passkey")
        assert refused["error"]["status"] == 400
        await device.verify_user(True)

        await attach(other)
        await other.goto(place.official)
        await succeed(other, "signIn.email", credentials)
        await succeed(other, "passkey.addPasskey", {"name": "Phone"})
        names = [one["name"] for one in await succeed(other, "passkey.listUserPasskeys")]
        assert names == ["Work laptop", "Phone"]

        enabled = await succeed(other, "twoFactor.enable", {"password": PASSWORD})
        secret = parse_qs(urlsplit(enabled["totpURI"]).query)["secret"][0]
        await succeed(other, "twoFactor.verifyTotp", {"code": pyotp.TOTP(secret).now()})
        await succeed(other, "signOut")
        assert (await succeed(other, "signIn.email", credentials))["twoFactorRedirect"]
        assert (await succeed(other, "signIn.passkey"))["user"]["twoFactorEnabled"]

        assert await succeed(other, "passkey.deletePasskey", {"id": added["id"]}) == {"status": True}
        gone = await call(page, "signIn.passkey")
        assert (gone["error"]["status"], gone["error"]["code"]) == (401, "PASSKEY_NOT_FOUND")
