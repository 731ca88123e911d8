"""Keycloak as the OpenID provider of a connection."""

import os

import pytest

from tests.labs.keycloak.server import VARIABLE, Realm
from tests.labs.keycloak.site import Site, Visitor

pytestmark = pytest.mark.skipif(VARIABLE not in os.environ, reason="needs Keycloak: make test-keycloak")

CLIENT, SECRET = "gatewright", "a secret of the client at Keycloak"


def connect(site: Site, realm: Realm) -> None:
    """Connect the service and a realm."""
    groups = {"claim.name": "groups", "full.path": "false", "id.token.claim": "true"}
    realm.add_client(
        {
            "clientId": CLIENT,
            "secret": SECRET,
            "redirectUris": [f"{site.url}/sso/callback/{realm.name}"],
            "attributes": {
                "backchannel.logout.url": f"{site.url}/sso/backchannel-logout/{realm.name}",
                "backchannel.logout.session.required": "true",
                "post.logout.redirect.uris": f"{site.url}/*",
            },
            "protocolMappers": [
                {"name": "groups", "protocol": "openid-connect",
                 "protocolMapper": "oidc-group-membership-mapper", "config": groups},
            ],
        }
    )  # fmt: skip
    (site.folder / "secret.txt").write_text(SECRET, "utf-8")
    site.connect(realm, "--issuer", realm.issuer, "--client-id", CLIENT, "--client-secret-file", "secret.txt")


async def test_a_user_signs_in_and_has_the_role_of_their_group(visitor: Visitor) -> None:
    connect(visitor.site, visitor.realm)

    error = await visitor.sign_in()

    known = await visitor.session()
    assert error == ""
    assert known is not None
    assert (known["user"]["email"], known["user"]["name"]) == (visitor.realm.email, "Ada Lovelace")
    assert await visitor.role() == "admin"

    visitor.realm.remove_from_group()
    await visitor.page.context.clear_cookies()
    assert await visitor.sign_in() == ""
    assert await visitor.role() == "member"


async def test_a_sign_out_here_is_one_at_the_provider(visitor: Visitor) -> None:
    connect(visitor.site, visitor.realm)
    await visitor.sign_in()

    await visitor.sign_out()
    # Without an ID token of the session, Keycloak asks first.
    await visitor.page.locator("#kc-logout").click()
    await visitor.page.wait_for_url(f"{visitor.site.url}/**")

    assert await visitor.session() is None
    await visitor.begin()
    await visitor.page.locator("#kc-login").wait_for()


async def test_a_sign_out_at_the_provider_is_one_here(visitor: Visitor) -> None:
    connect(visitor.site, visitor.realm)
    await visitor.sign_in()

    await visitor.page.goto(f"{visitor.realm.issuer}/protocol/openid-connect/logout")
    await visitor.page.locator("#kc-logout").click()
    await visitor.page.get_by_role("heading", name="You are logged out").wait_for()

    assert await visitor.session() is None


async def test_an_administrator_of_the_provider_ends_the_sessions(visitor: Visitor) -> None:
    connect(visitor.site, visitor.realm)
    await visitor.sign_in()

    visitor.realm.end_sessions()

    assert await visitor.session() is None


async def test_a_new_key_of_the_provider_is_accepted_at_once(visitor: Visitor) -> None:
    realm = visitor.realm
    connect(visitor.site, realm)
    old = realm.signing_key()
    before = await visitor.sign_in()

    realm.add_key()
    realm.change_key(old, enabled="false")
    await visitor.page.context.clear_cookies()
    after = await visitor.sign_in()
    known = await visitor.email()
    # Its logout token is signed by the new key, too.
    realm.end_sessions()

    assert (before, after, known) == ("", "", realm.email)
    assert realm.signing_key() != old
    assert await visitor.session() is None
