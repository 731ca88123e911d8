"""What a user is in the middle of when the process is killed, and what must be true of them afterwards."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import httpx
import pyotp

from tests.authenticator import Authenticator
from tests.handlers.steps import NEW_PASSWORD, token_in
from tests.labs.faults.places import Place, Visitor
from tests.service import PASSWORD


@dataclass(slots=True)
class Victim:
    """One user, what they were given before, and what they were told, if anything."""

    kind: str
    email: str
    token: str = ""
    mailed: str = ""
    secret: str = ""
    codes: list[str] = field(default_factory=list)
    device: Authenticator = field(default_factory=Authenticator)
    created: dict[str, object] = field(default_factory=dict)
    """The response of the authenticator."""
    answer: httpx.Response | None = None

    @property
    def was_told(self) -> bool:
        """Return whether the answer arrived that it is done. Every answer that arrived says so."""
        if self.answer is not None:
            assert self.answer.status_code == 200, f"{self.kind} {self.email}: {self.answer.text}"
        return self.answer is not None


async def prepare(place: Place, visitor: Visitor, kind: str, email: str) -> Victim:
    """Return a user who has all that the step needs."""
    victim = Victim(kind, email)
    if kind not in ("sign-up", "code"):
        victim.token = await visitor.join(email)
    if kind == "reset":
        victim.mailed = await visitor.reset_token(place, email)
    if kind in _MAILED:
        template, path, body = _MAILED[kind]
        await visitor.post(path, email=email, **body)
        sent = await place.mail(email, template)
        victim.mailed = token_in(sent["link"]) if kind == "link" else sent["code"]
    if kind == "verify":
        victim.secret, victim.codes = await visitor.begin_enrolment(victim.token)
    if kind == "passkey":
        victim.created = await _create(visitor, victim)
    return victim


_MAILED: dict[str, tuple[str, str, dict[str, str]]] = {
    "link": ("magic-link", "/sign-in/magic-link", {}),
    "code": ("sign-in-code", "/email-otp/send-verification-otp", {"type": "sign-in"}),
    "reset-code": ("reset-password-code", "/email-otp/request-password-reset", {}),
}
"""By kind the email that the step needs, the operation that it is requested of, and what it is asked besides."""


_STEPS: dict[str, Callable[[Visitor, Victim], Awaitable[httpx.Response]]] = {
    "sign-up": lambda visitor, victim: visitor.sign_up(victim.email),
    "reset": lambda visitor, victim: visitor.post(
        "/reset-password", token=victim.mailed, newPassword=NEW_PASSWORD
    ),
    "link": lambda visitor, victim: visitor.get(f"/magic-link/verify?token={victim.mailed}"),
    "code": lambda visitor, victim: visitor.post("/sign-in/email-otp", email=victim.email, otp=victim.mailed),
    "reset-code": lambda visitor, victim: visitor.post(
        "/email-otp/reset-password", email=victim.email, otp=victim.mailed, password=NEW_PASSWORD
    ),
    "enable": lambda visitor, victim: visitor.post("/two-factor/enable", victim.token, password=PASSWORD),
    "verify": lambda visitor, victim: visitor.post(
        "/two-factor/verify-totp", victim.token, code=pyotp.TOTP(victim.secret).now()
    ),
    "delete": lambda visitor, victim: visitor.post("/delete-user", victim.token, password=PASSWORD),
    "passkey": lambda visitor, victim: visitor.post(
        "/passkey/verify-registration", victim.token, response=victim.created
    ),
}
"""By kind what the user does."""


def take(visitor: Visitor, victim: Victim, kind: str = "") -> Awaitable[httpx.Response]:
    """Take the step of a user, or one of another kind."""
    return _STEPS[kind or victim.kind](visitor, victim)


async def act(visitor: Visitor, victim: Victim) -> None:
    """Take the step; nothing is known of it when nobody answers."""
    try:
        victim.answer = await take(visitor, victim)
    except httpx.TransportError:
        victim.answer = None


async def check(visitor: Visitor, victim: Victim) -> None:
    """See that the step was taken whole or not at all, and was if the user was told so; if not, it can be taken."""
    was_told = victim.was_told
    is_done = await _CHECKS[victim.kind](visitor, victim)
    assert is_done or not was_told, f"{victim.kind} {victim.email}: told so, and not done"


async def _create(visitor: Visitor, victim: Victim) -> dict[str, object]:
    options = await visitor.get("/passkey/generate-register-options", victim.token)
    return victim.device.create(options.json())


async def _check_add(visitor: Visitor, victim: Victim) -> bool:
    listed = (await visitor.get("/passkey/list-user-passkeys", victim.token)).json()
    if not listed:
        victim.created = await _create(visitor, victim)
        assert (await take(visitor, victim)).status_code == 200
    options = (await visitor.get("/passkey/generate-authenticate-options")).json()
    used = await visitor.post("/passkey/verify-authentication", response=victim.device.get(options))
    assert used.status_code == 200, used.text
    return bool(listed)


async def _check_sign_up(visitor: Visitor, victim: Victim) -> bool:
    is_there = await visitor.opens(victim.email, PASSWORD)
    if victim.answer is not None:
        assert await visitor.is_live(victim.answer.json()["token"])
    if not is_there:
        await visitor.join(victim.email)
        assert await visitor.opens(victim.email, PASSWORD)
    return is_there


async def _check_link(visitor: Visitor, victim: Victim) -> bool:
    """The address was not verified, so what was there before is removed with the link."""
    is_done = not await visitor.opens(victim.email, PASSWORD)
    assert await visitor.is_live(victim.token) is not is_done
    again = await take(visitor, victim)
    assert again.status_code == (401 if is_done else 200), again.text
    assert not await visitor.opens(victim.email, PASSWORD)
    return is_done


async def _check_code(visitor: Visitor, victim: Victim) -> bool:
    if victim.answer is not None:
        assert await visitor.is_live(victim.answer.json()["token"])
    again = await take(visitor, victim)
    assert again.status_code in (200, 400), again.text
    return again.status_code == 400


async def _check_reset(visitor: Visitor, victim: Victim) -> bool:
    passwords = [await visitor.opens(victim.email, password) for password in (PASSWORD, NEW_PASSWORD)]
    assert sorted(passwords) == [False, True], f"{victim.email}: the old, the new password work: {passwords}"
    is_done = passwords[1]
    assert await visitor.is_live(victim.token) is not is_done
    again = await take(visitor, victim)
    assert again.status_code == (400 if is_done else 200), again.text
    assert await visitor.opens(victim.email, NEW_PASSWORD)
    return is_done


async def _check_enable(visitor: Visitor, victim: Victim) -> bool:
    if victim.answer is None:
        assert (await take(visitor, victim)).status_code == 200
        return False
    # The secret that was shown counts: it switches the second factor on.
    victim.secret = victim.answer.json()["totpURI"].partition("secret=")[2].partition("&")[0]
    assert (await take(visitor, victim, "verify")).status_code == 200
    assert await _is_on(visitor, victim)
    return True


async def _check_verify(visitor: Visitor, victim: Victim) -> bool:
    is_done = await _is_on(visitor, victim)
    if not is_done:
        assert (await take(visitor, victim)).status_code == 200
        assert await _is_on(visitor, victim)
    pending = (await visitor.sign_in(victim.email)).json()["token"]
    entered = await visitor.post("/two-factor/verify-backup-code", pending, code=victim.codes[0])
    assert entered.status_code == 200, entered.text
    return is_done


async def _is_on(visitor: Visitor, victim: Victim) -> bool:
    """Return whether sign-in asks for a second factor; the user's own page says the same."""
    answer = await visitor.sign_in(victim.email)
    shown = await visitor.get("/get-session", victim.token)
    asks = bool(answer.json().get("twoFactorRedirect"))
    assert bool(shown.json()["user"]["twoFactorEnabled"]) == asks
    return asks


async def _check_delete(visitor: Visitor, victim: Victim) -> bool:
    is_there = await visitor.opens(victim.email, PASSWORD)
    assert await visitor.is_live(victim.token) is is_there
    if is_there:
        assert (await take(visitor, victim)).status_code == 200
    await visitor.join(victim.email)
    return not is_there


_CHECKS: dict[str, Callable[[Visitor, Victim], Awaitable[bool]]] = {
    "sign-up": _check_sign_up,
    "reset": _check_reset,
    "link": _check_link,
    "code": _check_code,
    "reset-code": _check_reset,
    "enable": _check_enable,
    "verify": _check_verify,
    "delete": _check_delete,
    "passkey": _check_add,
}
