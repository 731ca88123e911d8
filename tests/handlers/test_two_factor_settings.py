"""The settings `two_factor.*` and the names of the cookies do what they say."""

import httpx
import pytest

from tests.conftest import MakeService
from tests.handlers.steps import ADA, bearer, code
from tests.security.second_factor import (
    PENDING,
    TRUST,
    Owner,
    challenge,
    cookie,
    enrol,
    enter,
    mailed_code,
    set_cookies,
    sign_in,
    trusted_device,
)
from tests.service import PASSWORD, Service

LOCKED = "429 ACCOUNT_TEMPORARILY_LOCKED"
SMALL = {
    "two_factor.backup_code_count": "3",
    "two_factor.challenge_expires_in": "1m",
    "two_factor.otp_expires_in": "20s",
    "two_factor.trust_expires_in": "1h",
    "two_factor.challenge_attempts": "2",
    "two_factor.lock_after": "4",
    "two_factor.lock_for": "1m",
}
"""Less of everything than by default; one service for several tests."""


@pytest.mark.threat("V47")
@pytest.mark.parametrize(
    ("settings", "accepted"),
    [
        ({}, [-1, 0, 1]),
        ({"two_factor.totp_window": "0"}, [0]),
        ({"two_factor.totp_window": "2"}, [-2, -1, 0, 1, 2]),
    ],
    ids=["one step", "none", "two steps"],
)
async def test_the_window_of_the_authenticator(
    make_service: MakeService, settings: dict[str, str], accepted: list[int]
) -> None:
    service = await make_service(settings)
    ada = await enrol(service)

    told = [
        step
        for step in range(-3, 4)
        if code(await enter(service, "totp", ada.code(service, step), bearer(await challenge(service))))
        == "200"
    ]

    assert told == accepted


async def test_the_number_of_backup_codes(make_service: MakeService) -> None:
    service = await make_service(SMALL)
    ada = await enrol(service)

    body = {"password": PASSWORD}
    again = await service.post("/two-factor/generate-backup-codes", body, headers=ada.session)

    assert (len(ada.backup_codes), len(again.json()["backupCodes"])) == (3, 3)


@pytest.mark.threat("V52")
@pytest.mark.parametrize(
    ("settings", "of_challenge", "of_code", "of_trust"),
    [({}, 600, 180, 30 * 24 * 3600), (SMALL, 60, 20, 3600)],
    ids=["by default", "shorter"],
)
async def test_the_lives(
    make_service: MakeService, settings: dict[str, str], of_challenge: int, of_code: int, of_trust: int
) -> None:
    service = await make_service(settings)
    ada = await enrol(service)
    device = await trusted_device(service, ada)
    waiting = await sign_in(service)
    by_mail, by_mail_late = [bearer(await challenge(service)) for _ in range(2)]
    by_app, by_app_late = bearer(waiting.json()["token"]), cookie(PENDING, await challenge(service))
    mailed = [await mailed_code(service, pending) for pending in (by_mail, by_mail_late)]

    service.clock.advance(seconds=of_code - 1)
    mail_in_time = await enter(service, "otp", mailed[0], by_mail)
    service.clock.advance(seconds=1)
    late_mail = await enter(service, "otp", mailed[1], by_mail_late)
    service.clock.advance(seconds=of_challenge - of_code - 1)
    in_time = await enter(service, "totp", ada.code(service), by_app)
    service.clock.advance(seconds=1)
    late = await enter(service, "backup-code", ada.backup_codes[0], by_app_late)
    still_late = await enter(service, "totp", ada.code(service), by_mail_late)
    service.clock.advance(seconds=of_trust - of_challenge - 1)
    trusted = await sign_in(service, headers=cookie(TRUST, device))
    service.clock.advance(seconds=of_trust)
    forgotten = await sign_in(service, headers=cookie(TRUST, set_cookies(trusted)[TRUST]))

    assert max_age(waiting, PENDING) == of_challenge
    assert (code(mail_in_time), code(late_mail)) == ("200", "400 OTP_HAS_EXPIRED")
    assert code(in_time) == "200"
    assert code(late) == code(still_late) == "401 INVALID_TWO_FACTOR_COOKIE"
    assert (set_cookies(late), set_cookies(still_late)) == ({PENDING: ""}, {})
    assert trusted.json()["user"]["email"] == ADA
    assert max_age(trusted, TRUST) == of_trust
    assert forgotten.json()["twoFactorRedirect"]
    assert set_cookies(forgotten)[TRUST] == ""


async def test_the_attempts_and_the_lock(make_service: MakeService) -> None:
    service = await make_service(SMALL)
    ada = await enrol(service)

    told = await spend(service, ada, 3) + await spend(service, ada, 2) + await spend(service, ada, 1)
    service.clock.advance(minutes=1)
    unlocked = await enter(service, "totp", ada.code(service), bearer(await challenge(service)))

    wrong = "401 INVALID_CODE"
    assert told == [wrong, wrong, "400 TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE", wrong, wrong, LOCKED]
    assert code(unlocked) == "200"


async def spend(service: Service, owner: Owner, times: int) -> list[str]:
    """Sign in, and enter wrong codes."""
    pending = bearer(await challenge(service))
    return [code(await enter(service, "totp", owner.wrong_code(service), pending)) for _ in range(times)]


async def test_the_cookies_have_other_names(make_service: MakeService) -> None:
    """The whole way under names of the operator's, and none of the usual ones counts."""
    service = await make_service({"session.cookie_name": "sid", "session.cookie_prefix": "my."})
    ada = await enrol(service)
    waiting = await sign_in(service)
    token = waiting.json()["token"]

    usual = await enter(service, "totp", ada.code(service), cookie("service.two-factor", token))
    entered = await enter(
        service, "totp", ada.code(service), cookie("my.two-factor", token), trustDevice=True
    )
    device = set_cookies(entered)["my.trust-device"]
    untrusted = await sign_in(service, headers=cookie("service.trust-device", device))
    trusted = await sign_in(service, headers=cookie("my.trust-device", device))

    assert set_cookies(waiting) == {"my.two-factor": token, "sid": ""}
    assert code(usual) == "401 INVALID_TWO_FACTOR_COOKIE"
    opened = entered.json()["token"]
    assert set_cookies(entered) == {"sid": opened, "my.two-factor": "", "my.trust-device": device}
    assert untrusted.json()["twoFactorRedirect"]
    assert set(set_cookies(trusted)) == {"sid", "my.trust-device"}


def max_age(answer: httpx.Response, name: str) -> int:
    """Return how long a browser keeps the cookie, in seconds."""
    [line] = [line for line in answer.headers.get_list("set-cookie") if line.startswith(f"{name}=")]
    return int(line.partition("Max-Age=")[2].partition(";")[0])
