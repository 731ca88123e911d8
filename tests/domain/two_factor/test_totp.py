"""Authenticator apps as others build them: they read the URI, and show the codes the service wants.

pyotp is what the service itself counts with; passlib's `totp` is an implementation of its own, by other authors.
"""

from datetime import UTC, datetime, timedelta

import pyotp
import pytest
from passlib.totp import TOTP

from domain.two_factor.totp import step_of
from tests.conftest import MakeService
from tests.handlers import steps
from tests.handlers.steps import ADA, EVE, bearer, code
from tests.security import second_factor
from tests.security.second_factor import METHODS, Owner, challenge, enrol, enter, mailed_code, session_count
from tests.service import PASSWORD, Service


class TestUri:
    @pytest.mark.parametrize(
        ("issuer", "email"),
        [
            ("Acme Corp", ADA),
            ("Café & Söhne", ADA),
            ("100% sure?", "a.b_c-d'e%f+g@example.com"),
            ("a/b#c+d=e", ADA),
            ("认证服务", ADA),
            ("i" * 64, ADA),
        ],
    )
    async def test_is_read_alike_by_two_apps_which_show_the_same_codes(
        self, service: Service, issuer: str, email: str
    ) -> None:
        session = await steps.join(service, email)
        body = {"password": PASSWORD, "issuer": issuer}
        uri = (await service.post("/two-factor/enable", body, headers=session)).json()["totpURI"]

        one, other = pyotp.parse_uri(uri), TOTP.from_uri(uri)

        assert isinstance(one, pyotp.TOTP)
        assert (one.issuer, one.name, one.digits, one.interval) == (issuer, email, 6, 30)
        assert (other.issuer, other.label, other.digits, other.period) == (issuer, email, 6, 30)
        assert other.alg == "sha1"
        assert len(one.secret) == 32
        now = int(service.clock.now.timestamp())
        for moment in (0, 59, 1_111_111_109, now, now + 29, now + 30, 20_000_000_000):
            assert one.at(moment) == other.generate(moment).token
        shown = other.generate(now).token
        confirmed = await enter(service, "totp", shown, session)
        assert confirmed.status_code == 200


def test_of_two_steps_that_share_a_code_the_later_one_counts() -> None:
    """Else the replay guard would leave the later one behind, and the code could be used twice."""
    secret, now = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP", datetime(2026, 3, 23, 7, 18, tzinfo=UTC)
    app = pyotp.TOTP(secret)
    shown = app.at(now)
    assert app.at(now + timedelta(seconds=30)) == shown, "a pair that was searched for"

    step = step_of(secret, shown, now, 1)

    assert step == int(now.timestamp()) // 30 + 1


WRONG = (
    *("12345", "1234567", "abcdef", "12a456", " 12345", "-12345", "+12345", "1e4567", "0x1234", "1234 56"),
    *("٤٩٢٠٣٩", "۴۹۲۰۳۹", "\uff14\uff19\uff12\uff10\uff13\uff19", "²³¹²³¹", "x" * 32, "'; --"),
)
"""Of the form of a code, and wrong."""

PATIENT = {
    "limits.failures": "0",
    "two_factor.challenge_attempts": "100",
    "two_factor.otp_attempts": "100",
    "two_factor.lock_after": "100",
}
"""Settings with which a sign-in survives all of them."""


class TestBadCodes:
    """What is a wrong code answers 401, and costs an attempt."""

    @pytest.fixture
    async def ada(self, service: Service) -> Owner:
        return await enrol(service)

    @pytest.mark.parametrize("method", METHODS)
    async def test_wrong_code(self, make_service: MakeService, method: str) -> None:
        service = await make_service(PATIENT)
        ada = await enrol(service)
        pending = bearer(await challenge(service))
        right = await second_factor.right_code(service, ada, method, pending)

        told = {value: code(await enter(service, method, value, pending)) for value in WRONG}

        expected = "401 INVALID_BACKUP_CODE" if method == "backup-code" else "401 INVALID_CODE"
        assert told == dict.fromkeys(WRONG, expected)
        assert await session_count(service) == 1
        [(attempts,)] = await service.rows("SELECT attempts FROM \"grant\" WHERE purpose = 'challenge'")
        assert attempts == len(WRONG)
        assert (await enter(service, method, right, pending)).status_code == 200

    async def test_the_right_code_in_other_characters_is_wrong(self, service: Service, ada: Owner) -> None:
        pending = bearer(await challenge(service))
        digits, backup_code = ada.code(service), ada.backup_codes[0]
        arabic = digits.translate({ord("0") + n: 0x0660 + n for n in range(10)})

        assert code(await enter(service, "totp", arabic, pending)) == "401 INVALID_CODE"
        assert code(await enter(service, "totp", f"{digits} ", pending)) == "401 INVALID_CODE"
        for value in (f"{backup_code}\u00a0", backup_code.replace("-", "\u2010")):
            assert code(await enter(service, "backup-code", value, pending)) == "401 INVALID_BACKUP_CODE"
        assert code(await enter(service, "totp", digits, pending)) == "200"

    async def test_a_backup_code_is_read_generously(self, service: Service, ada: Owner) -> None:
        one, two, three, four, five, *_ = ada.backup_codes
        unhyphened, spaced = three.replace("-", ""), four.replace("-", " ")
        for value in (one.upper(), two.title(), unhyphened, spaced, f"  {' '.join(five)} "):
            answer = await enter(service, "backup-code", value, bearer(await challenge(service)))
            assert code(answer) == "200", value

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


@pytest.mark.parametrize("secret", ["JBSWY3DPEHPK3PXP", "JBSWY3DPEHPK3PXPJBSWY", "JBSWY3DPEHPK3PXP" * 13])
def test_short_and_long_secrets_of_other_programs_have_their_codes(secret: str) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    app = TOTP(secret.ljust(-(-len(secret) // 8) * 8, "="), alg="sha1")

    assert step_of(secret, app.generate(now).token, now, window=0) == int(now.timestamp()) // 30
    assert step_of(secret, app.generate(now + timedelta(minutes=5)).token, now, window=1) is None
