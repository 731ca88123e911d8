"""Steps with a second factor: enrol an authenticator, sign in up to the code, enter one, count what came of it."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pyotp

from models import Session
from tests.conftest import Carry, Headers
from tests.handlers import steps
from tests.handlers.steps import ADA, bearer
from tests.service import PASSWORD, Service

PENDING = "service.two-factor"
TRUST = "service.trust-device"
SESSION = "service.session-token"
WRONG_BACKUP_CODE = "aaaaa-aaaaa"
METHODS = ("totp", "otp", "backup-code")


@dataclass(frozen=True, slots=True)
class Owner:
    """A user with an authenticator: the session that enrolled it, the secret, the backup codes."""

    email: str
    session: Headers
    secret: str
    backup_codes: list[str]

    def code(self, service: Service, steps: int = 0) -> str:
        """Return what the authenticator shows now, or so many steps of 30 s later."""
        return pyotp.TOTP(self.secret).at(int(service.clock.now.timestamp()) + 30 * steps)

    def wrong_code(self, service: Service) -> str:
        """Return six digits that no step near the present one has."""
        near = {self.code(service, step) for step in range(-3, 4)}
        return next(code for code in ("000000", "111111", "222222", *_COUNTED) if code not in near)


_COUNTED = tuple(f"{number:06}" for number in range(1, 9))


async def enrol(service: Service, email: str = ADA, **more: Any) -> Owner:
    """Make a user, verify the address, and switch two-factor sign-in on with an authenticator."""
    session = await steps.join(service, email, **more)
    await steps.verify(service, email)
    return await enrol_again(service, email, session)


async def enrol_again(service: Service, email: str, session: Headers) -> Owner:
    """Enrol an authenticator for a user who is there already."""
    secret, backup_codes = await begin(service, session)
    owner = Owner(email, session, secret, backup_codes)
    confirmed = await service.post("/two-factor/verify-totp", {"code": owner.code(service)}, headers=session)
    assert confirmed.status_code == 200, confirmed.text
    return owner


async def begin(service: Service, session: Headers, **more: Any) -> tuple[str, list[str]]:
    """Open an enrolment; give its secret and backup codes, not confirmed yet."""
    answer = await service.post("/two-factor/enable", {"password": PASSWORD, **more}, headers=session)
    assert answer.status_code == 200, answer.text
    body = answer.json()
    return secret_in(body["totpURI"]), body["backupCodes"]


def secret_in(uri: str) -> str:
    """Return the secret of an authenticator's URI."""
    return parse_qs(urlsplit(uri).query)["secret"][0]


async def sign_in(service: Service, email: str = ADA, **options: Any) -> httpx.Response:
    """Sign in with the password; `options` go to the client, such as `headers`."""
    return await service.post("/sign-in/email", {"email": email, "password": PASSWORD}, **options)


async def challenge(service: Service, email: str = ADA) -> str:
    """Sign in with the password; give the pending token."""
    answer = await sign_in(service, email)
    assert is_pending(answer), answer.text
    token: str = answer.json()["token"]
    return token


def is_pending(answer: httpx.Response) -> bool:
    """Return whether a sign-in waits for a code: no session, neither in the body nor in a cookie nor in a header."""
    if answer.status_code != 200 or not answer.json().get("twoFactorRedirect"):
        return False
    assert "set-auth-token" not in answer.headers
    assert not set_cookies(answer).get(SESSION)
    return True


async def enter(service: Service, method: str, code: str, headers: Headers, **more: Any) -> httpx.Response:
    """Enter a code of one of the three methods."""
    return await service.post(f"/two-factor/verify-{method}", {"code": code, **more}, headers=headers)


async def mailed_code(service: Service, headers: Headers, email: str = ADA) -> str:
    """Ask for a code by mail, and give it."""
    answer = await service.post("/two-factor/send-otp", headers=headers)
    assert answer.status_code == 200, answer.text
    code: str = (await service.inbox(email, "otp"))[-1]["code"]
    return code


async def right_code(service: Service, owner: Owner, method: str, headers: Headers) -> str:
    """Return a code that the method accepts."""
    if method == "totp":
        return owner.code(service)
    if method == "otp":
        return await mailed_code(service, headers, owner.email)
    return owner.backup_codes[0]


async def spend(service: Service, owner: Owner, carry: Carry = bearer, times: int = 5) -> None:
    """Sign in, and enter wrong codes by each method in turn."""
    pending = carry(await challenge(service, owner.email))
    mailed = await mailed_code(service, pending, owner.email)
    wrong = {
        "totp": (owner.wrong_code(service), "401 INVALID_CODE"),
        "otp": (f"{(int(mailed) + 1) % 1_000_000:06}", "401 INVALID_CODE"),
        "backup-code": (WRONG_BACKUP_CODE, "401 INVALID_BACKUP_CODE"),
    }
    for method in islice(cycle(METHODS), times):
        code, refusal = wrong[method]
        assert steps.code(await enter(service, method, code, pending)) == refusal


async def lock(service: Service, owner: Owner, carry: Carry = bearer) -> None:
    """Enter ten wrong codes in a row, which locks the second factor."""
    for _ in range(2):
        await spend(service, owner, carry)


async def trusted_device(service: Service, owner: Owner) -> str:
    """Sign in with a code and trust the device; give the value of the cookie."""
    pending = bearer(await challenge(service, owner.email))
    code = owner.backup_codes.pop()
    answer = await enter(service, "backup-code", code, pending, trustDevice=True)
    assert answer.status_code == 200, answer.text
    return set_cookies(answer)[TRUST]


def set_cookies(answer: httpx.Response) -> dict[str, str]:
    """Return the cookies an answer sets, by name; those it clears have the value `""`."""
    pairs = [line.partition(";")[0].partition("=") for line in answer.headers.get_list("set-cookie")]
    names = [name for name, _, _ in pairs]
    assert len(names) == len(set(names)), "one Set-Cookie per name"
    return {name: value for name, _, value in pairs}


def cookie(name: str, value: str) -> Headers:
    """Return the header that carries a cookie."""
    return {"Cookie": f"{name}={value}"}


def also(headers: Headers, name: str, value: str) -> Headers:
    """Return the headers with one cookie more."""
    known = f"{headers['Cookie']}; " if "Cookie" in headers else ""
    return {**headers, "Cookie": f"{known}{name}={value}"}


def token_in(headers: Headers) -> str:
    """Return the session token that headers carry by bearer."""
    return headers["Authorization"].removeprefix("Bearer ")


def flipped(value: str) -> str:
    """Return the value with one bit of its last character changed, still of the form of a token."""
    return value[:-1] + ("b" if value[-1] == "a" else "a")


def told(answers: Iterable[httpx.Response]) -> Counter[str]:
    """Count answers by status and code, as in `401 INVALID_CODE`; a success is `200`."""
    return Counter(steps.code(answer) for answer in answers)


async def session_count(service: Service) -> int:
    """Return the number of stored sessions."""
    return await steps.count(service, Session)


def strings(value: Any) -> list[str]:
    """Return every string in a JSON value, however deep."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for part in value.values() for text in strings(part)]
    return [text for part in value for text in strings(part)] if isinstance(value, list) else []
