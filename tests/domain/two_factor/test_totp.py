"""Authenticator apps as others build them: they read the URI, and show the codes the service wants.

pyotp is what the service itself counts with; passlib's `totp` is an implementation of its own, by other authors.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

import pyotp
import pytest
from passlib.totp import TOTP

from domain.two_factor.totp import step_of
from tests.handlers import steps
from tests.handlers.steps import ADA, EVE, bearer, code
from tests.security import second_factor
from tests.security.second_factor import Owner, challenge, cookie, enrol, enter, mailed_code, session_count
from tests.service import PASSWORD, Service


async def uri_of(service: Service, session: dict[str, str], **more: Any) -> str:
    """Begin an enrolment; give the URI an app would scan."""
    answer = await service.post("/two-factor/enable", {"password": PASSWORD, **more}, headers=session)
    assert answer.status_code == 200, answer.text
    uri: str = answer.json()["totpURI"]
    return uri


class TestUri:
    @pytest.mark.parametrize("email", [ADA, "a.b_c-d'e%f@example.com"])
    @pytest.mark.parametrize(
        "issuer", ["Acme Corp", "Café & Söhne", "100% sure?", "a/b#c+d=e", "认证服务", "i" * 64]
    )
    async def test_is_read_alike_by_two_apps_which_show_the_same_codes(
        self, service: Service, issuer: str, email: str
    ) -> None:
        session = await steps.join(service, email)
        uri = await uri_of(service, session, issuer=issuer)

        one, other = pyotp.parse_uri(uri), TOTP.from_uri(uri)

        assert isinstance(one, pyotp.TOTP)
        assert (one.issuer, one.name, one.digits, one.interval) == (issuer, email, 6, 30)
        assert (other.issuer, other.label, other.digits, other.period) == (issuer, email, 6, 30)
        assert other.alg == "sha1"
        now = int(service.clock.now.timestamp())
        for moment in (0, 59, 1_111_111_109, now, now + 29, now + 30, 20_000_000_000):
            assert one.at(moment) == other.generate(moment).token
        shown = other.generate(now).token
        confirmed = await enter(service, "totp", shown, session)
        assert confirmed.status_code == 200

    async def test_every_secret_is_another(self, service: Service) -> None:
        session = await steps.join(service)

        assert len({(await second_factor.begin(service, session))[0] for _ in range(5)}) == 5


def test_of_two_steps_that_share_a_code_the_later_one_counts() -> None:
    """Else the replay guard would leave the later one behind, and the code could be used twice."""
    secret, now = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP", datetime(2026, 3, 23, 7, 18, tzinfo=UTC)
    app = pyotp.TOTP(secret)
    shown = app.at(now)
    assert app.at(now + timedelta(seconds=30)) == shown, "a pair that was searched for"

    step = step_of(secret, shown, now, 1)

    assert step == int(now.timestamp()) // 30 + 1


INVALID: tuple[Any, ...] = ("", "x" * 33, 123456, 1.5, None, True, [], {}, ["492039"], "49\x002039")
"""No codes: 400, and no attempt is taken."""
WRONG = (
    *("12345", "1234567", "abcdef", "12a456", " 12345", "-12345", "+12345", "1e4567", "0x1234", "1234 56"),
    *("٤٩٢٠٣٩", "۴۹۲۰۳۹", "\uff14\uff19\uff12\uff10\uff13\uff19", "²³¹²³¹", "x" * 32, "'; --"),
)
"""Of the form of a code, and wrong."""


class TestBadCodes:
    """What is no code answers 400 and costs nothing; what is a wrong one 401, and an attempt."""

    @pytest.fixture
    async def ada(self, service: Service) -> Owner:
        return await enrol(service)

    @pytest.mark.parametrize("method", second_factor.METHODS)
    async def test_no_code(self, service: Service, ada: Owner, method: str) -> None:
        pending = bearer(await challenge(service))
        right = await second_factor.right_code(service, ada, method, pending)
        before = await session_count(service)

        for value in INVALID:
            answer = await service.post(f"/two-factor/verify-{method}", {"code": value}, headers=pending)
            assert code(answer) == "400 VALIDATION_ERROR", value
            assert "[body.code]" in answer.json()["message"]

        assert await session_count(service) == before
        assert (await enter(service, method, right, pending)).status_code == 200

    @pytest.mark.parametrize("value", WRONG)
    @pytest.mark.parametrize("method", second_factor.METHODS)
    async def test_wrong_code(self, service: Service, ada: Owner, method: str, value: str) -> None:
        pending = bearer(await challenge(service))
        right = await second_factor.right_code(service, ada, method, pending)
        before = await session_count(service)

        answer = await enter(service, method, value, pending)

        expected = "401 INVALID_BACKUP_CODE" if method == "backup-code" else "401 INVALID_CODE"
        assert code(answer) == expected
        assert await session_count(service) == before
        [(attempts,)] = await service.rows("SELECT attempts FROM \"grant\" WHERE purpose = 'challenge'")
        assert attempts == 1
        assert (await enter(service, method, right, pending)).status_code == 200

    async def test_the_right_digits_in_another_script_are_wrong(self, service: Service, ada: Owner) -> None:
        pending = bearer(await challenge(service))
        arabic = ada.code(service).translate({ord("0") + n: 0x0660 + n for n in range(10)})

        assert code(await enter(service, "totp", arabic, pending)) == "401 INVALID_CODE"
        assert code(await enter(service, "totp", f"{ada.code(service)} ", pending)) == "401 INVALID_CODE"
        assert code(await enter(service, "totp", ada.code(service), pending)) == "200"

    async def test_a_backup_code_is_read_generously(self, service: Service, ada: Owner) -> None:
        one, two, three, four, five, *_ = ada.backup_codes
        forms = (
            one.upper(),
            two.title(),
            three.replace("-", ""),
            four.replace("-", " "),
            f"  {' '.join(five)} ",
        )
        for value in forms:
            answer = await enter(service, "backup-code", value, bearer(await challenge(service)))
            assert code(answer) == "200", value

    async def test_a_backup_code_is_read_as_ascii(self, service: Service, ada: Owner) -> None:
        pending = bearer(await challenge(service))
        right = ada.backup_codes[0]

        answers = [
            await enter(service, "backup-code", wrong, pending)
            for wrong in (f"{right}\u00a0", right.replace("-", "\u2010"))
        ]

        assert [code(answer) for answer in answers] == ["401 INVALID_BACKUP_CODE"] * 2
        assert code(await enter(service, "backup-code", right, pending)) == "200"

    async def test_another_users_codes_are_wrong(self, service: Service, ada: Owner) -> None:
        eve = await enrol(service, EVE)
        eves = bearer(await challenge(service, EVE))
        eves_mailed = await mailed_code(service, eves, EVE)
        pending = bearer(await challenge(service))
        mailed = await mailed_code(service, pending)
        if mailed == eves_mailed:
            pytest.skip("the same code by chance, one in a million")

        answers = [
            await enter(service, "totp", eve.code(service), pending),
            await enter(service, "otp", eves_mailed, pending),
            await enter(service, "backup-code", eve.backup_codes[0], pending),
        ]

        assert [code(answer) for answer in answers] == [
            "401 INVALID_CODE",
            "401 INVALID_CODE",
            "401 INVALID_BACKUP_CODE",
        ]
        assert code(await enter(service, "backup-code", eve.backup_codes[0], eves)) == "200"

    @pytest.mark.parametrize(("seconds", "expected"), [(179, "200"), (180, "400 OTP_HAS_EXPIRED")])
    async def test_a_mail_code_lives_three_minutes(
        self, service: Service, ada: Owner, seconds: int, expected: str
    ) -> None:
        pending = bearer(await challenge(service))
        mailed = await mailed_code(service, pending)
        service.clock.advance(seconds=seconds)

        assert code(await enter(service, "otp", mailed, pending)) == expected

    @pytest.mark.parametrize("method", second_factor.METHODS)
    @pytest.mark.parametrize(
        "headers",
        [
            {},
            bearer("x" * 32),
            bearer("2fa_"),
            bearer("2fa_" + "x" * 32),
            bearer("2fa_" + "x" * 31),
            bearer("2FA_" + "x" * 32),
            cookie("service.two-factor", "2fa_" + "x" * 32),
            cookie("service.two-factor", "%"),
            cookie("service.session-token", "x" * 32),
        ],
        ids=str,
    )
    async def test_without_a_challenge(
        self, service: Service, ada: Owner, method: str, headers: dict[str, str]
    ) -> None:
        assert code(await enter(service, method, ada.code(service), headers)) == (
            "401 INVALID_TWO_FACTOR_COOKIE"
        )
