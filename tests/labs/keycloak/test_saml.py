"""Keycloak as the SAML identity provider of a connection."""

import os
from base64 import b64decode
from typing import Any
from urllib.parse import parse_qs

import pytest
from playwright.async_api import Request

from tests.labs.keycloak.server import VARIABLE, Realm
from tests.labs.keycloak.site import Site, Visitor

pytestmark = pytest.mark.skipif(VARIABLE not in os.environ, reason="needs Keycloak: make test-keycloak")

BASIC = {"attribute.nameformat": "Basic"}
INITIATED = "gatewright"
"""The end of the URL at Keycloak that signs in to the service without a request."""


def connect(site: Site, realm: Realm, **fields: Any) -> str:
    """Connect the service and a realm by the metadata of each; return the id of the client in Keycloak."""
    site.connect(realm, "--metadata", site.metadata_file(realm), **fields)
    client = realm.import_metadata(site.own_metadata(realm))
    groups = {"attribute.name": "groups", "full.path": "false", "single": "true", **BASIC}
    client["protocolMappers"] = [
        *(_attribute(name) for name in ("email", "firstName", "lastName")),
        {
            "name": "groups",
            "protocol": "saml",
            "protocolMapper": "saml-group-membership-mapper",
            "config": groups,
        },
    ]
    client["attributes"]["saml_idp_initiated_sso_url_name"] = INITIATED
    return realm.add_client(client)


def _attribute(name: str) -> dict[str, Any]:
    return {
        "name": name, "protocol": "saml", "protocolMapper": "saml-user-property-mapper",
        "config": {"user.attribute": name, "attribute.name": name, **BASIC},
    }  # fmt: skip


def responses_of(visitor: Visitor) -> list[str]:
    """Return a list that receives the SAML responses that the browser posts from now on."""
    seen: list[str] = []

    def look(request: Request) -> None:
        fields = parse_qs(request.post_data or "") if request.method == "POST" else {}
        seen.extend(b64decode(each).decode() for each in fields.get("SAMLResponse", ()))

    visitor.page.on("request", look)
    return seen


async def test_a_user_signs_in_and_has_the_role_of_their_group(visitor: Visitor) -> None:
    connect(visitor.site, visitor.realm)

    error = await visitor.sign_in()

    known = await visitor.session()
    assert (error, known is not None) == ("", True)
    assert known is not None
    assert (known["user"]["email"], known["user"]["name"]) == (visitor.realm.email, "Ada Lovelace")
    assert await visitor.role() == "admin"

    visitor.realm.remove_from_group()
    visitor.realm.end_sessions()
    await visitor.page.context.clear_cookies()
    assert await visitor.sign_in() == ""
    assert await visitor.role() == "member"


async def test_assertions_are_encrypted_by_the_key_of_the_metadata(visitor: Visitor) -> None:
    connect(visitor.site, visitor.realm)
    responses = responses_of(visitor)

    assert await visitor.sign_in() == ""

    assert await visitor.email() == visitor.realm.email
    (response,) = responses
    assert "EncryptedAssertion" in response
    assert visitor.realm.email not in response


async def test_plain_assertions_are_accepted(visitor: Visitor) -> None:
    client = connect(visitor.site, visitor.realm)
    visitor.realm.change_client(client, {"saml.encrypt": "false"})
    responses = responses_of(visitor)

    assert await visitor.sign_in() == ""

    assert await visitor.email() == visitor.realm.email
    (response,) = responses
    assert visitor.realm.email in response


async def test_requests_are_signed_as_the_provider_wants(visitor: Visitor) -> None:
    connect(visitor.site, visitor.realm)
    visitor.site.update(visitor.realm, samlConfig={"authnRequestsSigned": False})

    await visitor.begin()
    await visitor.page.wait_for_url(f"{visitor.realm.url}/**")
    refused = await visitor.page.locator("#kc-error-message").inner_text()
    visitor.site.update(visitor.realm, samlConfig={"authnRequestsSigned": True})
    error = await visitor.sign_in()

    assert "Invalid requester" in refused
    assert error == ""
    assert await visitor.email() == visitor.realm.email


async def test_a_sign_in_that_the_provider_begins_needs_to_be_switched_on(visitor: Visitor) -> None:
    connect(visitor.site, visitor.realm)
    initiated = f"{visitor.realm.issuer}/protocol/saml/clients/{INITIATED}"

    await visitor.page.goto(initiated)
    await visitor.enter_password()
    refused = await visitor.arrive()
    before = await visitor.session()
    visitor.site.update(visitor.realm, idpInitiated=True)
    await visitor.page.goto(initiated)
    error = await visitor.arrive()

    assert (refused, before) == ("saml_unsolicited", None)
    assert error == ""
    assert await visitor.email() == visitor.realm.email


async def test_a_sign_out_here_is_one_at_the_provider(visitor: Visitor) -> None:
    connect(visitor.site, visitor.realm)
    await visitor.sign_in()

    await visitor.sign_out()
    await visitor.page.wait_for_url(f"{visitor.site.url}/**")
    after = await visitor.session()

    assert after is None
    # A provider with a session would not ask for the password.
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
    client = connect(visitor.site, visitor.realm)
    # Then Keycloak posts its request itself, without a browser.
    visitor.realm.change_client(client, frontchannelLogout=False)
    await visitor.sign_in()

    visitor.realm.end_sessions()

    assert await visitor.session() is None


async def test_a_new_key_of_the_provider_is_accepted_with_its_metadata(visitor: Visitor) -> None:
    site, realm = visitor.site, visitor.realm
    connect(site, realm)
    old = realm.signing_key()

    async def error() -> str:
        await visitor.page.context.clear_cookies()
        return await visitor.sign_in()

    new = realm.add_key()
    unknown = await error()
    site.update(realm, "--metadata", site.metadata_file(realm))
    with_both = await error()
    realm.change_key(old, enabled="false")
    site.update(realm, "--metadata", site.metadata_file(realm))
    with_new = await error()
    realm.change_key(old, enabled="true", priority="300")
    with_old = await error()

    assert (unknown, with_old) == ("saml_signature_invalid", "saml_signature_invalid")
    assert (with_both, with_new) == ("", "")
    assert realm.signing_key() == old != new
