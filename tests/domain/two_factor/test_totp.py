"""Authenticator apps as others build them: they read the URI, and show the codes the service wants.

pyotp is what the service itself counts with; passlib's `totp` is an implementation of its own, by other authors.
"""

import re
from base64 import b32decode
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import unquote

import pyotp
import pytest
from passlib.totp import TOTP

from domain.two_factor.totp import step_of
from tests.conftest import MakeService
from tests.handlers import steps
from tests.handlers.steps import ADA, EVE, bearer, code
from tests.security import second_factor
from tests.security.second_factor import Owner, challenge, cookie, enrol, enter, mailed_code, session_count
from tests.service import PASSWORD, Service

URI = re.compile(
    r"otpauth://totp/(?P<issuer>[^:?&#]+):(?P<email>[^:?&#]+)"
    r"\?secret=(?P<secret>[A-Z2-7]{32})&issuer=(?P<again>[^?&#]+)&digits=6&period=30"
)
"""The form of behaviour 6.1."""

ISSUERS = (
    "Gatewright",
    "Acme Corp",
    "Café & Söhne",
    "100% sure?",
    "a/b#c+d=e",
    "认证服务",
    "i" * 64,
)
ADDRESSES = ("ada@example.com", "ada+codes@example.com", "a.b_c-d'e%f@example.com")


async def uri_of(service: Service, session: dict[str, str], **more: Any) -> str:
    """Begin an enrolment; give the URI an app would scan."""
    answer = await service.post("/two-factor/enable", {"password": PASSWORD, **more}, headers=session)
    assert answer.status_code == 200, answer.text
    uri: str = answer.json()["totpURI"]
    return uri


class TestUri:
    @pytest.mark.parametrize("issuer", ISSUERS)
    async def test_is_read_alike_by_two_apps_which_show_the_same_codes(
        self, service: Service, issuer: str
    ) -> None:
        session = await steps.join(service)
        uri = await uri_of(service, session, issuer=issuer)

        one, other = pyotp.parse_uri(uri), TOTP.from_uri(uri)

        assert isinstance(one, pyotp.TOTP)
        assert (one.issuer, one.name, one.digits, one.interval) == (issuer, ADA, 6, 30)
        assert (other.issuer, other.label, other.digits, other.period) == (issuer, ADA, 6, 30)
        assert other.alg == "sha1"
        now = int(service.clock.now.timestamp())
        for moment in (0, 59, 1_111_111_109, now, now + 29, now + 30, 20_000_000_000):
            assert one.at(moment) == other.generate(moment).token
        shown = other.generate(now).token
        confirmed = await enter(service, "totp", shown, session)
        assert confirmed.status_code == 200

    @pytest.mark.parametrize("email", ADDRESSES)
    async def test_names_the_account(self, service: Service, email: str) -> None:
        uri = await uri_of(service, await steps.join(service, email))

        found = URI.fullmatch(uri)

        assert found is not None, uri
        assert (unquote(found["email"]), unquote(found["issuer"])) == (email, "Gatewright")
        assert found["issuer"] == found["again"]
        assert len(b32decode(found["secret"])) == 20
        for app in (pyotp.parse_uri(uri), TOTP.from_uri(uri)):
            assert app.issuer == "Gatewright"
        assert (pyotp.parse_uri(uri).name, TOTP.from_uri(uri).label) == (email, email)

    async def test_is_repeated_with_the_stored_issuer(self, service: Service) -> None:
        session = await steps.join(service)
        uri = await uri_of(service, session, issuer="Acme Corp")

        open_ = await service.post("/two-factor/get-totp-uri", {"password": PASSWORD}, headers=session)
        await enter(service, "totp", TOTP.from_uri(uri).generate(service.clock.now).token, session)
        live = await service.post("/two-factor/get-totp-uri", {"password": PASSWORD}, headers=session)

        assert open_.json() == live.json() == {"totpURI": uri}

    async def test_takes_its_issuer_from_the_settings(self, make_service: MakeService) -> None:
        service = await make_service({"two_factor.issuer": "Acme Sign-in"})

        uri = await uri_of(service, await steps.join(service))

        assert pyotp.parse_uri(uri).issuer == "Acme Sign-in"

    @pytest.mark.parametrize("issuer", ["a:b", "i" * 65, "a\nb", "a\x7fb", "a\x00b", 7, None, ["a"]])
    async def test_refuses_an_issuer_that_would_break_it(self, service: Service, issuer: Any) -> None:
        session = await steps.join(service)
        body = {"password": PASSWORD, "issuer": issuer}

        answer = await service.post("/two-factor/enable", body, headers=session)

        assert code(answer) == "400 VALIDATION_ERROR"
        assert "issuer" in answer.json()["message"]
        assert await service.rows("SELECT user_id FROM two_factor") == []

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
    "12345",
    "1234567",
    "abcdef",
    "12a456",
    " 12345",
    "-12345",
    "+12345",
    "1e4567",
    "0x1234",
    "٤٩٢٠٣٩",
    "۴۹۲۰۳۹",
    "\uff14\uff19\uff12\uff10\uff13\uff19",
    "²³¹²³¹",
    "1234 56",
    "x" * 32,
    "'; --",
)
"""Of the form of a code, and wrong."""


class TestBadCodes:
    """What is no code answers 400 and costs nothing; what is a wrong one 401, and an attempt (behaviour 5.6)."""

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

    async def test_another_challenges_mail_code_is_none(self, service: Service, ada: Owner) -> None:
        first, second = bearer(await challenge(service)), bearer(await challenge(service))
        mailed = await mailed_code(service, first)

        elsewhere = await enter(service, "otp", mailed, second)
        with_session = await enter(service, "otp", mailed, ada.session)

        assert (code(elsewhere), code(with_session)) == ("400 OTP_HAS_EXPIRED", "400 OTP_HAS_EXPIRED")
        assert code(await enter(service, "otp", mailed, first)) == "200"

    async def test_a_sessions_mail_code_opens_no_challenge(self, service: Service, ada: Owner) -> None:
        mailed = await mailed_code(service, ada.session)
        pending = bearer(await challenge(service))

        assert code(await enter(service, "otp", mailed, pending)) == "400 OTP_HAS_EXPIRED"

    async def test_an_older_mail_code_is_wrong(self, service: Service, ada: Owner) -> None:
        pending = bearer(await challenge(service))
        older = await mailed_code(service, pending)
        newer = await mailed_code(service, pending)
        while newer == older:
            newer = await mailed_code(service, pending)

        assert code(await enter(service, "otp", older, pending)) == "401 INVALID_CODE"
        assert code(await enter(service, "otp", newer, pending)) == "200"

    @pytest.mark.parametrize(("seconds", "expected"), [(179, "200"), (180, "400 OTP_HAS_EXPIRED")])
    async def test_a_mail_code_lives_three_minutes(
        self, service: Service, ada: Owner, seconds: int, expected: str
    ) -> None:
        pending = bearer(await challenge(service))
        mailed = await mailed_code(service, pending)
        service.clock.advance(seconds=seconds)

        assert code(await enter(service, "otp", mailed, pending)) == expected

    @pytest.mark.parametrize(("seconds", "expected"), [(599, "200"), (600, "401 INVALID_TWO_FACTOR_COOKIE")])
    @pytest.mark.parametrize("name", ["", "service.two-factor"])
    async def test_a_challenge_lives_ten_minutes(
        self, service: Service, ada: Owner, name: str, seconds: int, expected: str
    ) -> None:
        token = await challenge(service)
        pending = cookie(name, token) if name else bearer(token)
        service.clock.advance(seconds=seconds)

        assert code(await enter(service, "totp", ada.code(service), pending)) == expected

    async def test_with_a_session_a_mail_code_has_five_tries(self, service: Service, ada: Owner) -> None:
        mailed = await mailed_code(service, ada.session)
        other = f"{(int(mailed) + 1) % 1_000_000:06}"

        wrong = [await enter(service, "otp", other, ada.session) for _ in range(5)]
        sixth = await enter(service, "otp", mailed, ada.session)
        seventh = await enter(service, "otp", mailed, ada.session)

        assert [code(answer) for answer in wrong] == ["401 INVALID_CODE"] * 5
        assert (code(sixth), code(seventh)) == (
            "400 TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE",
            "400 OTP_HAS_EXPIRED",
        )

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

    async def test_a_code_by_mail_is_in_no_answer(self, service: Service, ada: Owner) -> None:
        """V25: the code travels by mail only."""
        for headers in (bearer(await challenge(service)), ada.session):
            answer = await service.post("/two-factor/send-otp", headers=headers)
            mailed = (await service.inbox(ADA, "otp"))[-1]

            assert answer.json() == {"status": True}
            assert mailed["code"] not in answer.text
            assert all(mailed["code"] not in value for value in answer.headers.values())
            assert mailed["link"] is None
