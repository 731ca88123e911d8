"""Sign-in by email."""

from tests.labs.upgrades.possessions import Story, possession
from tests.labs.upgrades.site import Site
from tests.service import PASSWORD


@possession(since="0009")
async def magic_link(site: Site) -> Story:
    """A link signs in once."""
    email = site.email("link")
    await site.post("/sign-in/magic-link", email=email)
    token = await site.link(email, "magic-link")
    site = yield
    entered = await site.post("/magic-link/verify", token=token)
    assert (await site.user(entered["token"]))["email"] == email
    again = await site.request("POST", "/magic-link/verify", json={"token": token})
    assert again.status_code == 401, again.text


@possession(since="0009")
async def sign_in_code(site: Site) -> Story:
    """A code signs in."""
    email = site.email("code")
    await site.post("/email-otp/send-verification-otp", email=email, type="sign-in")
    code = await site.code(email, "sign-in-code")
    site = yield
    entered = await site.post("/sign-in/email-otp", email=email, otp=code)
    assert await site.is_live(entered["token"])


@possession(since="0009")
async def reset_code(site: Site) -> Story:
    """A code sets a new password."""
    email, new = site.email("code"), "nine words that nobody else would ever guess here"
    await site.join(email)
    await site.post("/email-otp/request-password-reset", email=email)
    code = await site.code(email, "reset-password-code")
    site = yield
    await site.post("/email-otp/reset-password", email=email, otp=code, password=new)
    assert [await site.opens(email, each) for each in (PASSWORD, new)] == [False, True]
