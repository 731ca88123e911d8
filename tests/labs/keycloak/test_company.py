"""A person who administers a company connects Keycloak by the wizard, and knows what the pages say and nothing else."""

import os
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

from tests.labs.e2e.browser import browsing, picture
from tests.labs.keycloak.server import GROUP, VARIABLE, Realm
from tests.labs.keycloak.site import Site, Visitor
from tests.service import PASSWORD

pytestmark = pytest.mark.skipif(VARIABLE not in os.environ, reason="needs Keycloak: make test-keycloak")

GROUPS: dict[str, Any] = {
    "name": "groups",
    "protocol": "saml",
    "protocolMapper": "saml-group-membership-mapper",
    "config": {
        "attribute.name": "groups",
        "full.path": "false",
        "single": "true",
        "attribute.nameformat": "Basic",
    },
}
"""The mapper that sends the groups, as the page asks for them."""


async def sign_in(page: Page, site: Site, email: str) -> None:
    """Sign in with the password, to the page of the organizations."""
    await page.goto(f"{site.url}/account/sign-in?callbackURL=/account/organizations")
    await page.locator("#identifier").fill(email)
    await page.locator("#password").fill(PASSWORD)
    await page.get_by_role("button", name="Sign in", exact=True).click()
    await page.wait_for_url(f"{site.url}/account/organizations*")


async def set_up(page: Page, site: Site, realm: Realm) -> None:
    """Go through the steps of the wizard, and do at Keycloak and in the DNS what they say."""
    await page.get_by_role("link", name="Manage", exact=True).click()
    await page.get_by_role("link", name="Set up a connection").click()
    await page.get_by_role("link", name="Keycloak: SAML 2.0").click()
    client = {
        "clientId": await page.locator("#entity").inner_text(),
        "protocol": "saml",
        "redirectUris": [await page.locator("#acs").inner_text()],
        "adminUrl": await page.locator("#acs").inner_text(),
        "attributes": {"saml_name_id_format": "email", "saml.client.signature": "false"},
        "protocolMappers": [GROUPS],
    }
    await expect(
        page.get_by_text("Name ID format: email; Keys > Client signature required: Off")
    ).to_be_visible()
    realm.add_client(client)
    await page.get_by_role("link", name="Continue").click()
    await page.locator("#metadata").fill(realm.metadata())
    await page.get_by_role("button", name="Continue").click()
    await page.locator("#domains").fill(realm.domain)
    await page.get_by_role("button", name="Add", exact=True).click()
    record = await page.locator("#record-1").inner_text()
    site.names.texts[record.lower()] = [await page.locator("#token-1").inner_text()]
    await page.get_by_role("button", name="Check now").click()
    await page.get_by_role("link", name="Continue").click()


async def test_connects_tests_and_requires_it_and_a_colleague_signs_in(
    visitor: Visitor, browser: Browser
) -> None:
    site, realm = visitor.site, visitor.realm
    owner = site.join("Chris", f"chris@{realm.name}.test")
    site.found(realm, owner)
    site.join("Ada", realm.email)
    await sign_in(visitor.page, site, realm.email)

    async with browsing(browser) as page:
        page.set_default_timeout(120_000)
        await sign_in(page, site, f"chris@{realm.name}.test")
        await page.get_by_role("link", name=realm.name.title(), exact=True).click()
        await set_up(page, site, realm)
        await page.get_by_role("link", name="Settings").click()
        await page.locator("#groupRoles").fill(f"{GROUP} = admin")
        await page.get_by_role("button", name="Save").click()

        await page.get_by_role("link", name="Test the sign-in").click()
        await page.get_by_role("button", name="Test the sign-in").click()
        await Visitor(page, site, realm).enter_password()
        await page.wait_for_url(f"{site.url}/**/test?**")
        shown = await page.locator("main").inner_text()
        await picture(page, "keycloak-test-sign-in")
        await page.get_by_role("link", name="Back").click()

        await page.get_by_role("button", name="Switch on").click()
        await page.get_by_role("link", name="Domains").first.click()
        await page.get_by_role("link", name=f"Require: {realm.domain}").click()
        await page.get_by_label("End their sessions from other ways to sign in").check()
        await page.get_by_role("button", name="Require").click()
        await expect(page.get_by_text("must sign in with this connection now")).to_be_visible()

    assert "There is a user with this email address." in shown
    assert f"Administrator (from the rule for the group “{GROUP}”)" in shown
    assert await visitor.session() is None
    assert site.refusal_of_password(realm.email) == "SSO_REQUIRED"
    assert await visitor.sign_in() == ""
    assert (await visitor.email(), await visitor.role()) == (realm.email, "admin")
