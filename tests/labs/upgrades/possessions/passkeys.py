"""Passkeys."""

from tests.authenticator import Authenticator
from tests.labs.upgrades.possessions import Story, possession
from tests.labs.upgrades.site import Site


@possession(since="0011")
async def passkey(site: Site) -> Story:
    """A passkey signs in, and keeps its name."""
    email, device = site.email("passkey"), Authenticator()
    session = await site.join(email)
    options = await site.get("/passkey/generate-register-options", session)
    created = device.create(options)
    await site.post("/passkey/verify-registration", session, response=created, name="Laptop")
    site = yield
    options = await site.get("/passkey/generate-authenticate-options")
    entered = await site.post("/passkey/verify-authentication", response=device.get(options))
    assert (await site.user(entered["session"]["token"]))["email"] == email
    [listed] = await site.get("/passkey/list-user-passkeys", session)
    assert listed["name"] == "Laptop"


@possession(since="0011")
async def begun_passkey(site: Site) -> Story:
    """A challenge of one process is accepted by another."""
    device, session = Authenticator(), await site.join(site.email("passkey"))
    created = device.create(await site.get("/passkey/generate-register-options", session))
    site = yield
    await site.post("/passkey/verify-registration", session, response=created)
