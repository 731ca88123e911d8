"""Links that were sent by email."""

from tests.labs.upgrades.possessions import Story, possession
from tests.labs.upgrades.site import Site
from tests.service import PASSWORD

NEW = "nine words that nobody else would ever guess here"


@possession(since="0001")
async def reset_link(site: Site) -> Story:
    """The link of a forgotten password sets a new one, once."""
    email = site.email("reset")
    session = await site.join(email)
    await site.post("/request-password-reset", email=email)
    token = await site.link(email, "reset-password")
    site = yield
    await site.post("/reset-password", token=token, newPassword=NEW)
    assert await site.opens(email, NEW)
    assert not await site.is_live(session)
    again = await site.request("POST", "/reset-password", json={"token": token, "newPassword": NEW})
    assert again.status_code == 400


@possession(since="0001")
async def verification_link(site: Site) -> Story:
    """The link of a sign-up verifies the email address."""
    email = site.email("verify")
    session = await site.join(email)
    token = await site.link(email, "verify-email")
    site = yield
    await site.get("/verify-email", token=token)
    assert (await site.user(session))["emailVerified"] is True


@possession(since="0001")
async def change_of_email(site: Site) -> Story:
    """The link to a new email address changes it."""
    email, new = site.email("change"), site.email("changed")
    session = await site.join(email, verified=True)
    await site.post("/change-email", session, newEmail=new)
    token = await site.link(new, "change-email")
    site = yield
    await site.get("/verify-email", session, token=token)
    assert (await site.user(session))["email"] == new


@possession(since="0001")
async def deletion_link(site: Site) -> Story:
    """The link to confirm the deletion of a user deletes the user."""
    email = site.email("delete")
    session = await site.join(email)
    await site.post("/delete-user", session, password=PASSWORD)
    token = await site.link(email, "delete-account")
    site = yield
    await site.get("/delete-user/callback", session, token=token)
    assert not await site.is_live(session)
    assert not await site.opens(email, PASSWORD)
