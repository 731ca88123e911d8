"""Second factors."""

from dataclasses import dataclass
from time import time

import pyotp

from tests.labs.upgrades.possessions import Story, possession
from tests.labs.upgrades.site import Site, cookies_of
from tests.security.second_factor import TRUST, secret_in
from tests.service import PASSWORD


@dataclass(frozen=True)
class _Owner:
    email: str
    session: str
    secret: str
    codes: list[str]


async def _enrolled(site: Site) -> _Owner:
    email = site.email("factor")
    session = await site.join(email, verified=True)
    begun = await site.post("/two-factor/enable", session, password=PASSWORD)
    secret = secret_in(begun["totpURI"])
    confirmed = await site.post("/two-factor/verify-totp", session, code=pyotp.TOTP(secret).now())
    return _Owner(email, confirmed.get("token") or session, secret, begun["backupCodes"])


async def _pending(site: Site, owner: _Owner) -> str:
    body = await site.sign_in(owner.email)
    assert body.get("twoFactorRedirect") is True, body
    return str(body["token"])


@possession(since="0002")
async def authenticator(site: Site) -> Story:
    """The code of an authenticator finishes a sign-in, and is accepted once."""
    owner = await _enrolled(site)
    site = yield
    # A code counts once, so the next one is used; the service accepts a clock that is 30 seconds ahead.
    code = pyotp.TOTP(owner.secret).at(int(time()) + 30)
    entered = await site.post("/two-factor/verify-totp", await _pending(site, owner), code=code)
    assert await site.is_live(entered["token"])
    pending = await _pending(site, owner)
    again = await site.request("POST", "/two-factor/verify-totp", pending, json={"code": code})
    assert again.status_code == 401, again.text
    assert await site.is_live(owner.session)


@possession(since="0002")
async def backup_code(site: Site) -> Story:
    """Each backup code finishes one sign-in."""
    owner = await _enrolled(site)
    used = owner.codes[0]
    await site.post("/two-factor/verify-backup-code", await _pending(site, owner), code=used)
    site = yield
    await site.post("/two-factor/verify-backup-code", await _pending(site, owner), code=owner.codes[1])
    pending = await _pending(site, owner)
    again = await site.request("POST", "/two-factor/verify-backup-code", pending, json={"code": used})
    assert again.status_code == 401, again.text


@possession(since="0002")
async def trusted_device(site: Site) -> Story:
    """A trusted device signs in without a code."""
    owner = await _enrolled(site)
    body = {"code": owner.codes[0], "trustDevice": True}
    answer = await site.request(
        "POST", "/two-factor/verify-backup-code", await _pending(site, owner), json=body
    )
    trusted = {TRUST: cookies_of(answer)[TRUST]}
    site = yield
    known = {"email": owner.email, "password": PASSWORD}
    answer = await site.request("POST", "/sign-in/email", cookies=trusted, json=known)
    assert await site.is_live(answer.json()["token"])


@possession(since="0002")
async def begun_sign_in(site: Site) -> Story:
    """A sign-in that waits for a code is finished with the code that was sent by email."""
    owner = await _enrolled(site)
    pending = await _pending(site, owner)
    await site.post("/two-factor/send-otp", pending)
    code = await site.code(owner.email, "otp")
    site = yield
    entered = await site.post("/two-factor/verify-otp", pending, code=code)
    assert await site.is_live(entered["token"])
