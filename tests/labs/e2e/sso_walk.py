"""The part of the walk through every hosted page that shows the single sign-on of an organization."""

import html
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx

from tests.handlers.sso_saml_steps import answer_to, attributes, id_in
from tests.server.saml.provider import NOW
from tests.server.saml.test_metadata import metadata

if TYPE_CHECKING:
    from tests.labs.e2e.page_walk import Visitor

CONNECTION = "acme-okta"


async def single_sign_on(visitor: "Visitor") -> AsyncIterator[str]:
    """Yield the name of every state, for an owner of the organization Acme who is signed in."""
    await visitor.open("/account/organizations")
    await visitor.page.locator('main h3 a:has-text("Acme")').click()
    await visitor.page.wait_for_load_state()
    home = f"{urlsplit(visitor.page.url).path}/sso"
    await visitor.open(home)
    yield "sso-connections-empty"
    for part in (_wizard, _domains, _test, _connection, _directory):
        async for name in part(visitor, home):
            yield name
    await visitor.open(home)
    yield "sso-connections"
    await visitor.open(f"{home}/connection/delete?connection={CONNECTION}")
    yield "sso-delete"
    await visitor.send(f"{home}/connection/delete", typedConnection="other")
    yield "sso-delete-refused"


async def _wizard(visitor: "Visitor", home: str) -> AsyncIterator[str]:
    await visitor.open(f"{home}/new")
    yield "sso-providers"
    for provider, protocol in (("other", "saml"), ("entra", "oidc"), ("okta", "saml")):
        await visitor.open(f"{home}/new/copy?provider={provider}&protocol={protocol}")
        yield f"sso-values-{provider}"
        await visitor.page.locator("main a.primary").click()
        await visitor.page.wait_for_load_state()
        yield f"sso-creation-{provider}"
    action = f"{home}/new/provider"
    await visitor.send(action, name=" ", metadata="<html/>", metadataUrl="https://example.com/")
    yield "sso-creation-refused"
    await visitor.send(action, name="Acme", metadataUrl="", metadata=metadata().decode())
    yield "sso-created"


async def _domains(visitor: "Visitor", home: str) -> AsyncIterator[str]:
    action = f"{home}/connection/domains"
    await visitor.send(action, domains="gmail.com")
    yield "sso-domains-refused"
    await visitor.send(action, domains=f"acme.example, {'a-long-name-' * 4}x.acme.test")
    yield "sso-domains-pending"
    visitor.site.execute("UPDATE sso_domain SET verified_at = created_at WHERE domain = 'acme.example'")
    await visitor.open(f"{action}?connection={CONNECTION}")
    await visitor.open(f"{action}/require?connection={CONNECTION}&domain=acme.example")
    yield "sso-require"
    await visitor.send(f"{action}/require")
    yield "sso-domains"
    await visitor.page.locator("main a[href*='/domains/remove']").first.click()
    await visitor.page.wait_for_load_state()
    yield "sso-domain-remove"


async def _test(visitor: "Visitor", home: str) -> AsyncIterator[str]:
    here = f"{home}/connection/test"
    await visitor.open(f"{here}?connection={CONNECTION}")
    yield "sso-test"
    await visitor.open(await _return(visitor, here))
    yield "sso-test-result"
    await visitor.page.reload()
    yield "sso-test-gone"
    await visitor.open(f"{here}?connection={CONNECTION}&error=saml_signature_invalid")
    yield "sso-test-refused"


async def _return(visitor: "Visitor", action: str) -> str:
    """Send the form of a test, and sign in at the identity provider; return the path to which the browser returns."""
    sent = await visitor.form(action).evaluate("form => Object.fromEntries(new FormData(form))")
    browser, origin = visitor.page.request, visitor.site.origin
    led = await browser.post(visitor.site.url(action), form=sent, headers={"origin": origin})
    target = re.findall(r'href="(https://[^"]*SAMLRequest=[^"]*)"', await led.text())[0]
    url = httpx.URL(html.unescape(target))
    later = (datetime.now(UTC) - NOW).total_seconds()
    acs = f"{origin}/sso/saml2/sp/acs/{CONNECTION}"
    entity_id = f"{origin}/sso/saml2/sp/metadata?providerId={CONNECTION}"
    came = attributes("ada@acme.example", displayName="Ada Lovelace", groups="it-admins")
    message = answer_to(id_in(url), later, acs=acs, entity_id=entity_id, attributes=came)
    form: dict[str, str | float | bool] = {"SAMLResponse": message, "RelayState": url.params["RelayState"]}
    posted = await browser.post(acs, form=form, max_redirects=0)
    return httpx.URL(posted.headers["location"]).raw_path.decode()


async def _directory(visitor: "Visitor", home: str) -> AsyncIterator[str]:
    here = f"{home}/connection/directory"
    await visitor.open(f"{here}?connection={CONNECTION}")
    yield "sso-directory-empty"
    await visitor.send(here, tokenName="Okta")
    yield "sso-token"
    visitor.site.execute(
        "INSERT INTO scim_directory (connection_id, window_members, window_disabled, stopped_at, created_at,"
        " updated_at) SELECT id, 20, 11, created_at, created_at, created_at FROM sso_connection"
    )
    await visitor.open(f"{here}?connection={CONNECTION}")
    yield "sso-directory-stopped"
    await visitor.send(here, tokenName="Okta")
    yield "sso-directory-refused"
    await visitor.page.locator("main a[href*='/directory/revoke']").first.click()
    await visitor.page.wait_for_load_state()
    yield "sso-token-revoke"


async def _connection(visitor: "Visitor", home: str) -> AsyncIterator[str]:
    here = f"{home}/connection"
    await visitor.open(f"{here}?connection={CONNECTION}")
    yield "sso-connection-draft"
    await visitor.send(f"{here}/state")
    yield "sso-connection"
    await visitor.open(f"{here}/settings?connection={CONNECTION}")
    yield "sso-settings"
    await visitor.send(f"{here}/settings", groupRoles="everybody")
    yield "sso-settings-refused"
    await visitor.open(f"{here}/provider?connection={CONNECTION}")
    yield "sso-provider"
    await visitor.send(f"{here}/provider")
    yield "sso-provider-refused"
    visitor.site.execute("UPDATE sso_connection SET source = 'config'")
    await visitor.open(f"{here}?connection={CONNECTION}")
    yield "sso-connection-configured"
    visitor.site.execute("UPDATE sso_connection SET source = 'operation'")
