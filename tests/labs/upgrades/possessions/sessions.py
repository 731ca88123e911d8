"""Sessions and passwords."""

from tests.labs.upgrades.possessions import Story, possession
from tests.labs.upgrades.site import Site
from tests.security.second_factor import SESSION
from tests.service import PASSWORD


@possession(since="0001")
async def sessions(site: Site) -> Story:
    """Sessions, remembered or not, are found by header and cookie, listed, and end one by one."""
    email = site.email("sessions")
    first = await site.join(email)
    second = str((await site.sign_in(email, rememberMe=False))["token"])
    site = yield
    assert await site.is_live(first)
    by_cookie = await site.request("GET", "/get-session", cookies={SESSION: second})
    assert by_cookie.json()["user"]["email"] == email
    listed = await site.get("/list-sessions", first)
    assert {first, second} == {session["token"] for session in listed}
    await site.post("/revoke-session", first, token=second)
    assert not await site.is_live(second)
    assert await site.is_live(first)


@possession(since="0001")
async def password(site: Site) -> Story:
    """A password signs in by email address and by username, and can be changed."""
    email, new = site.email("password"), "nine words that nobody else would ever guess here"
    username = email.partition("@")[0].replace("-", "_")
    body = {"name": "Ada", "email": email, "password": PASSWORD, "username": username}
    token = str((await site.post("/sign-up/email", **body))["token"])
    site = yield
    assert await site.opens(email, PASSWORD)
    await site.post("/sign-in/username", username=username, password=PASSWORD)
    await site.post("/change-password", token, currentPassword=PASSWORD, newPassword=new)
    assert [await site.opens(email, each) for each in (PASSWORD, new)] == [False, True]


@possession(since="0001")
async def profile(site: Site) -> Story:
    """A user has the name and the picture that they have chosen."""
    token = await site.join(site.email("profile"))
    await site.post("/update-user", token, name="Countess", image="https://example.com/ada.png")
    site = yield
    user = await site.user(token)
    assert (user["name"], user["image"]) == ("Countess", "https://example.com/ada.png")
    await site.post("/update-user", token, name="Augusta")
    assert (await site.user(token))["name"] == "Augusta"
