"""States of the pages of connections for single sign-on."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator

from tests.labs.e2e.console_states import ODD
from tests.labs.e2e.page_walk import Site, Visitor
from tests.server.saml.test_metadata import metadata
from tests.service import PASSWORD

CONNECTIONS = {
    "acme": "state = 'active'",
    "draft": "state = 'draft'",
    "paused": "state = 'paused'",
    "configured": "source = 'config'",
}
"""Connections by provider id, with what is special about each; the first has a verified domain."""
LIST, NEW = "/console/sso", "/console/sso/new"


def add(site: Site, root: str) -> None:
    """Add connections in every state, a token of a directory that is stopped, and its last error."""
    token = site.post("/sign-in/email", {"email": root, "password": PASSWORD}).json()["token"]
    bearer = {"Authorization": f"Bearer {token}"}
    for name in CONNECTIONS:
        body = {
            "providerId": name,
            "issuer": "https://idp.example.com",
            "domain": f"{name}.example, {name}.test",
            "name": name.title(),
            "samlConfig": {"idpMetadata": {"metadata": metadata().decode()}},
        }
        site.post("/sso/register", body, **bearer)
    site.post("/scim/create-token", {"providerId": "acme", "name": "Entra ID"}, **bearer)
    with sqlite3.connect(site.directory / "gatewright.db", timeout=30) as database:
        for name, columns in CONNECTIONS.items():
            database.execute(f"UPDATE sso_connection SET {columns} WHERE provider_id = ?", (name,))
        # The walk follows the links of the newest connection.
        database.execute(
            "UPDATE sso_connection SET created_at = created_at + 3600000 WHERE provider_id = 'acme'"
        )
        database.execute("UPDATE sso_domain SET verified_at = created_at WHERE domain = 'acme.example'")
        database.execute(
            "INSERT INTO scim_directory (connection_id, window_members, window_disabled, stopped_at, created_at,"
            " updated_at) SELECT id, 20, 11, created_at, created_at, created_at FROM sso_connection"
            " WHERE provider_id = 'acme'"
        )
        database.execute(
            "INSERT INTO scim_failure (id, connection_id, method, resource, status, scim_type, message, created_at,"
            " updated_at) SELECT 'failure', id, 'PATCH', 'Users', 400, 'invalidValue',"
            " 'A value is missing or not allowed', created_at, created_at FROM sso_connection"
            " WHERE provider_id = 'acme'"
        )
    database.close()


async def states(visitor: Visitor) -> AsyncIterator[str]:
    """Yield the states of the list, the connections, and their forms."""
    await visitor.open(f"{LIST}?search=no-such-name&state=paused")
    yield "console-sso-nothing-found"
    for name in CONNECTIONS:
        await visitor.open(f"{LIST}/providers/{name}")
        yield f"console-sso-providers-{name}"
    await visitor.open(f"{LIST}/providers/configured/delete")
    yield "console-sso-delete-configured"
    await visitor.open(f"{LIST}/providers/acme/delete")
    await visitor.send(f"{LIST}/providers/acme/delete", typedConnection="another")
    yield "console-sso-delete-refused"
    await visitor.open(f"{LIST}/providers/acme")
    await visitor.send(f"{LIST}/providers/acme/add-domains", domains="gmail.com")
    yield "console-sso-domains-refused"
    await visitor.open(f"{LIST}/providers/acme")
    await visitor.send(f"{LIST}/providers/acme/create-token", tokenName="Okta")
    yield "console-sso-token"
    await visitor.open(f"{LIST}/providers/acme/settings")
    await visitor.send(f"{LIST}/providers/acme/settings", name="")
    yield "console-sso-settings-refused"
    await visitor.open(f"{LIST}/providers/acme/provider")
    await visitor.send(f"{LIST}/providers/acme/provider", metadata="<html/>")
    yield "console-sso-provider-refused"
    await visitor.open(f"{LIST}/providers/acme/test?error=saml_audience")
    yield "console-sso-test-refused"
    await visitor.open(f"{NEW}?type=oidc")
    yield "console-sso-new-oidc"
    await visitor.open(f"{NEW}?type=saml")
    await visitor.send(NEW, name="Acme", providerId="acme 2", metadata="<html/>")
    yield "console-sso-new-refused"


async def odd_states(visitor: Visitor) -> AsyncIterator[str]:
    """Yield the list and a connection with odd texts."""
    await asyncio.to_thread(_change, visitor.site)
    await visitor.open(LIST)
    yield "console-sso-odd"
    await visitor.open(f"{LIST}/providers/acme")
    yield "console-sso-providers-odd"


def _change(site: Site) -> None:
    with sqlite3.connect(site.directory / "gatewright.db", timeout=30) as database:
        database.execute(
            "UPDATE sso_connection SET name = ?, issuer = ? WHERE provider_id = 'acme'",
            (ODD[0][:64], f"https://{'long.' * 40}example.com/"),
        )
    database.close()
