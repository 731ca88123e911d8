"""Libraries for three languages sign a user in through a running service, from discovery to logout."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.labs.relying_parties.applications import API, GOODBYE, Site, site
from tests.labs.relying_parties.user import EMAIL
from tests.labs.verifiers.test_verifiers import in_go
from tests.packages import from_npm

HERE = Path(__file__).parent
PYTHON: list[str | Path] = [sys.executable, HERE / "python" / "journey.py"]


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Site]:
    """The service, its clients and a user."""
    with site(tmp_path) as running:
        yield running


def openid_client() -> list[str | Path]:
    """Return the command of the application in Node.js."""
    packages = from_npm("relying-parties-node", HERE / "node" / "package.json")
    return ["node", shutil.copy(HERE / "node" / "journey.mjs", packages)]


def go_oidc() -> list[str | Path]:
    """Return the command of the application in Go."""
    return in_go(
        "goidc",
        "github.com/coreos/go-oidc/v3@v3.21.0",
        "github.com/go-jose/go-jose/v4@v4.1.9",
        "golang.org/x/oauth2@v0.38.0",
        sources=HERE / "go",
    )


def check_user(seen: dict[str, Any], site: Site, client_id: str) -> None:
    """Check who the application has signed in."""
    assert seen["claims"]["iss"] == site.issuer
    assert seen["claims"]["aud"] == client_id
    assert seen["claims"]["sub"] == seen["user"]["sub"] == site.user_id
    assert seen["user"]["email"] == seen["claims"]["email"] == EMAIL


def check_access_token(claims: dict[str, Any], site: Site, client_id: str, subject: str) -> None:
    """Check what a resource server learns from an access token that it has verified."""
    assert {name: claims[name] for name in ("iss", "aud", "client_id", "sub", "scope")} == {
        "iss": site.issuer,
        "aud": API,
        "client_id": client_id,
        "sub": subject,
        "scope": "orders:read",
    }


def check_journey(seen: dict[str, Any], site: Site, client_id: str) -> None:
    """Check a journey of a web application, from the first sign-in to what remains after the logout."""
    check_user(seen, site, client_id)
    assert seen["user"]["name"] == "Ada"
    assert seen["refreshed"] == site.user_id
    assert seen["rotated"]
    check_access_token(seen["api"], site, client_id, site.user_id)
    assert seen["revoked"] == "invalid_grant"
    assert seen["left"] == f"{GOODBYE}?state=bye"
    assert seen["silent"] == "login_required"
    if client_id != "public":
        assert (seen["active"], seen["inactive"]) == (True, False)
        check_access_token(seen["own"], site, client_id, client_id)
    # Consent is asked for again where the scopes have grown, and not for the silent request.
    assert site.user.pages == ["sign-in", "consent", "consent"]


def check_device(seen: dict[str, Any], site: Site) -> None:
    """Check a journey of a device, from its code to the end of its grant."""
    check_user(seen, site, "device")
    assert seen["name"] == "Television"
    assert seen["rotated"]
    assert seen["revoked"] == "invalid_grant"


@pytest.mark.parametrize("pushed", [False, True], ids=["", "pushed"])
@pytest.mark.parametrize(
    ("client_id", "method"),
    [("basic", "basic"), ("basic-es256", "basic"), ("post", "post"), ("key", "key"), ("public", "none")],
)
def test_openid_client(shop: Site, client_id: str, method: str, pushed: bool) -> None:
    seen = shop.run(openid_client(), client_id, method=method, pushed=pushed)

    check_journey(seen, shop, client_id)
    assert seen["replay"] == "invalid_grant"
    assert (seen["query"] == ["client_id", "request_uri"]) is pushed


def test_openid_client_finds_a_service_below_a_path(tmp_path: Path) -> None:
    with site(tmp_path, "/api/auth") as shop:
        seen = shop.run(openid_client(), "key", method="key", pushed=True, discovery="oauth2")
        check_journey(seen, shop, "key")


def test_openid_client_on_a_device(shop: Site) -> None:
    seen = shop.run(openid_client(), "device", method="none", device=True)

    check_device(seen, shop)


@pytest.mark.parametrize(
    ("client_id", "method"),
    [
        ("basic-plain", "client_secret_basic"),
        ("post", "client_secret_post"),
        ("key", "private_key_jwt"),
        ("public", "none"),
    ],
)
def test_authlib(shop: Site, client_id: str, method: str) -> None:
    seen = shop.run(PYTHON, client_id, method=method)

    check_journey(seen, shop, client_id)
    assert seen["replay"] == "invalid_grant"


def test_the_assertions_of_authlib_live_too_long(shop: Site) -> None:
    assert shop.run(PYTHON, "key", method="private_key_jwt", lifetime="1h") == {"error": "invalid_client"}


@pytest.mark.parametrize(
    ("client_id", "method"),
    [("basic", "basic"), ("basic-es256", "basic"), ("post", "post"), ("public", "none")],
)
def test_go_oidc(shop: Site, client_id: str, method: str) -> None:
    seen = shop.run(go_oidc(), client_id, method=method)

    check_journey(seen, shop, client_id)
    assert seen["replay"] == "invalid_grant"


def test_go_oidc_on_a_device(shop: Site) -> None:
    seen = shop.run(go_oidc(), "device", method="none", device=True)

    check_device(seen, shop)
