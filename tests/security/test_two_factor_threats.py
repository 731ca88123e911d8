"""The attacks on the second factor, one group of tests per row of the threat list, each marked with its row."""

from collections.abc import Callable
from itertools import cycle
from typing import Any

import pytest

from models import TrustedDevice
from tests.conftest import Headers, MakeService
from tests.contract.reading import JSON_OPERATIONS, bodies
from tests.handlers import steps
from tests.handlers.steps import ADA, EVE, NEW_PASSWORD, bearer, code, works
from tests.security import second_factor
from tests.security.conftest import Carry
from tests.security.second_factor import (
    METHODS,
    PENDING,
    SESSION,
    TRUST,
    WRONG_BACKUP_CODE,
    Owner,
    challenge,
    cookie,
    enrol,
    enter,
    flipped,
    is_pending,
    mailed_code,
    right_code,
    session_count,
    set_cookies,
    sign_in,
    token_in,
    told,
    trusted_device,
)
from tests.service import PASSWORD, Service

NOTHING: tuple[Any, ...] = ("", None, 0, 123456, [], {}, True)
DEAD = "401 INVALID_TWO_FACTOR_COOKIE"
SPENT = "400 TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE"
LOCKED = "429 ACCOUNT_TEMPORARILY_LOCKED"
WRONG = {"totp": "401 INVALID_CODE", "otp": "401 INVALID_CODE", "backup-code": "401 INVALID_BACKUP_CODE"}
WITH_PASSWORD = ("enable", "disable", "get-totp-uri", "generate-backup-codes")
"""The operations that change or show the second factor."""

FOR_SESSIONS = [
    operation
    for operation in JSON_OPERATIONS.values()
    if operation.spec.get("security") is None
    or [*operation.spec["security"], {"apiKeyAuth": []}][:3]
    == [{"bearerAuth": []}, {"cookieAuth": []}, {"apiKeyAuth": []}]
]
"""The operations that want a session, as the contract says."""


WITHOUT_LIMITS = {"limits.enabled": "false"}


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    """The service without the limits of chapter 10: what stops guessing here is the second factor's own defence."""
    return await make_service(WITHOUT_LIMITS)


async def is_on(service: Service, owner: Owner) -> bool:
    """Return whether the owner's password alone ends pending."""
    return is_pending(await sign_in(service, owner.email))


async def opens(service: Service, headers: Headers, method: str, code_: str) -> bool:
    """Return whether a code completes the sign-in."""
    answer = await enter(service, method, code_, headers)
    return answer.status_code == 200 and await works(service, bearer(answer.json()["token"]))


@pytest.mark.threat("V26")
class TestForgedCookies:
    """A cookie proves something only if the service made it, for this user, and it still lives."""

    async def test_a_changed_pending_token_is_none(
        self, service: Service, ada: Owner, carry_pending: Carry
    ) -> None:
        token = await challenge(service)
        forged = (
            flipped(token),
            token.lower(),
            token.removeprefix("2fa_"),
            "2fa_" + "x" * 32,
            f"2fa_{token}",
            token + "x",
            "2fa_",
        )

        answers = [
            await enter(service, "totp", ada.code(service), carry_pending(value))
            for value in forged
            if value != token
        ]

        assert told(answers) == {DEAD: len(answers)}
        assert await opens(service, carry_pending(token), "totp", ada.code(service))

    async def test_a_changed_session_token_from_a_code_is_none(self, service: Service, ada: Owner) -> None:
        answer = await enter(service, "totp", ada.code(service), bearer(await challenge(service)))
        token = answer.json()["token"]

        assert not await works(service, bearer(flipped(token)))
        assert not await works(service, cookie(SESSION, flipped(token)))
        assert await works(service, cookie(SESSION, token))

    async def test_an_invented_trust_cookie_is_ignored_and_cleared(
        self, service: Service, ada: Owner
    ) -> None:
        trusted = await trusted_device(service, ada)
        user = await steps.user_of(service, ada.session)

        for value in (flipped(trusted), "x" * 32, user["id"], trusted + "x", "true", "%", ""):
            answer = await sign_in(service, headers=cookie(TRUST, value))

            assert is_pending(answer), value
            assert set_cookies(answer).get(TRUST, "") == ""
        assert not is_pending(await sign_in(service, headers=cookie(TRUST, trusted)))

    async def test_no_other_secret_is_a_trust_cookie(self, service: Service, ada: Owner) -> None:
        session, pending = token_in(ada.session), await challenge(service)

        for value in (session, pending, pending.removeprefix("2fa_")):
            assert is_pending(await sign_in(service, headers=cookie(TRUST, value)))


@pytest.mark.threat("V34")
class TestPlantedTokens:
    """A token that the caller brought along never becomes valid."""

    @pytest.mark.parametrize("method", METHODS)
    async def test_a_planted_session_cookie_is_not_adopted(
        self, service: Service, ada: Owner, method: str
    ) -> None:
        eve = token_in(await steps.join(service, EVE))
        for planted in ("x" * 32, eve, token_in(ada.session)):
            pending = bearer(await challenge(service))
            code_ = await right_code(service, ada, method, pending)
            if method == "backup-code":
                ada.backup_codes.pop(0)

            answer = await enter(service, method, code_, {**pending, **cookie(SESSION, planted)})
            service.clock.advance(seconds=30)

            token = answer.json()["token"]
            assert token not in (planted, eve)
            assert set_cookies(answer)[SESSION] == token
            assert (await steps.user_of(service, bearer(token)))["email"] == ADA
        assert not await works(service, bearer("x" * 32))
        assert (await steps.user_of(service, bearer(eve)))["email"] == EVE

    async def test_the_pending_cookie_wins_over_a_planted_session_cookie(
        self, service: Service, ada: Owner
    ) -> None:
        eve = token_in(await steps.join(service, EVE))
        both = {"Cookie": f"{SESSION}={eve}; {PENDING}={await challenge(service)}"}

        answer = await enter(service, "totp", ada.code(service), both)

        assert answer.json()["user"]["email"] == ADA
        assert set_cookies(answer)[PENDING] == ""

    async def test_a_planted_pending_token_is_not_adopted(
        self, service: Service, ada: Owner, carry_pending: Carry
    ) -> None:
        planted = "2fa_" + "x" * 32

        answer = await sign_in(service, headers=cookie(PENDING, planted))

        assert answer.json()["token"] != planted
        assert code(await enter(service, "totp", ada.code(service), carry_pending(planted))) == DEAD


@pytest.mark.threat("V39")
class TestHalfSignedIn:
    """Half signed in is not signed in."""

    @pytest.mark.threat("V49")
    @pytest.mark.parametrize("operation", FOR_SESSIONS, ids=lambda operation: operation.path)
    async def test_a_pending_token_opens_nothing_but_the_four(
        self, service: Service, ada: Owner, operation: Any
    ) -> None:
        pending = await challenge(service)
        body = {"password": PASSWORD, "currentPassword": PASSWORD}
        for content in bodies(operation).values():
            body = {**content.get("example", {}), **body}

        for headers in (
            bearer(pending),
            cookie(PENDING, pending),
            cookie(SESSION, pending),
            bearer(pending.removeprefix("2fa_")),
        ):
            answer = await service.client.request(
                operation.method.upper(),
                operation.path,
                headers=headers,
                json=body if operation.method == "post" else None,
            )

            assert answer.status_code == 401, operation.path
        assert await works(service, ada.session)
        assert await opens(service, bearer(pending), "totp", ada.code(service))

    def test_covers_the_operations_that_matter(self) -> None:
        paths = {operation.path for operation in FOR_SESSIONS}

        assert paths >= {
            "/get-session", "/list-sessions", "/revoke-session", "/revoke-sessions", "/revoke-other-sessions",
            "/update-user", "/delete-user", "/change-password", "/change-email",
            *(f"/two-factor/{name}" for name in WITH_PASSWORD),
        }  # fmt: skip


@pytest.mark.threat("V43")
class TestPasswordStep:
    """The password step hands out nothing that works as a session."""

    @pytest.mark.parametrize("path", ["/sign-in/email", "/sign-in/username"])
    async def test_nothing_in_the_pending_answer_is_a_session(self, service: Service, path: str) -> None:
        owner = await enrol(service, username="ada_l")
        before = await session_count(service)
        who = {"username": "ada_l"} if path.endswith("username") else {"email": owner.email}

        answer = await service.post(path, {**who, "password": PASSWORD, "callbackURL": "/welcome"})

        assert is_pending(answer)
        cookies = set_cookies(answer)
        assert set(cookies) == {PENDING, SESSION}
        assert cookies[SESSION] == ""
        found = [*second_factor.strings(answer.json()), *cookies.values(), *answer.headers.values()]
        candidates = {text for text in found if text} | {text[-32:] for text in found if len(text) > 32}
        for text in candidates:
            for headers in ({"Authorization": f"Bearer {text}"}, cookie(SESSION, text)):
                assert (await service.get("/get-session", headers=headers)).status_code == 401
        assert await session_count(service) == before

    async def test_neither_database_nor_mail_holds_the_pending_token(
        self, service: Service, ada: Owner
    ) -> None:
        token = await challenge(service)

        [row] = await service.rows("SELECT * FROM \"grant\" WHERE purpose = 'challenge'")

        assert token not in repr(row)
        assert token.removeprefix("2fa_") not in repr(row)


@pytest.mark.threat("V44")
class TestGuessedCodes:
    """Codes cannot be guessed: five tries a sign-in, ten in a row lock the second factor of the account."""

    async def test_attempts_are_shared_by_the_methods_and_not_renewed_by_a_mail(
        self, service: Service, ada: Owner, carry_pending: Carry
    ) -> None:
        pending = carry_pending(await challenge(service))
        await mailed_code(service, pending)

        wrong = [
            await enter(service, method, self.wrong(service, ada, method), pending)
            for method in ("totp", "otp", "backup-code", "totp", "otp")
        ]
        fresh = await mailed_code(service, pending)
        sixth = await enter(service, "otp", fresh, pending)

        assert told(wrong) == {"401 INVALID_CODE": 4, "401 INVALID_BACKUP_CODE": 1}
        assert code(sixth) == SPENT

    async def test_the_lock_ends_and_counts_anew(
        self, service: Service, ada: Owner, carry_pending: Carry
    ) -> None:
        for _ in range(2):
            await self.spend(service, ada, carry_pending)
        service.clock.advance(minutes=14, seconds=59)
        early = await enter(service, "totp", ada.code(service), carry_pending(await challenge(service)))
        service.clock.advance(seconds=1)

        await self.spend(service, ada, carry_pending)
        late = await enter(service, "totp", ada.code(service), carry_pending(await challenge(service)))

        assert (code(early), code(late)) == (LOCKED, "200")
        assert len(await service.inbox(ADA, "second-factor-locked")) == 1

    async def test_a_right_code_resets_the_count_and_a_right_password_does_not(
        self, service: Service, ada: Owner, carry_pending: Carry
    ) -> None:
        for _ in range(3):
            await self.spend(service, ada, carry_pending, 4)
            assert await opens(
                service, carry_pending(await challenge(service)), "backup-code", ada.backup_codes.pop()
            )
        for _ in range(5):
            await self.spend(service, ada, carry_pending, 2)
            assert is_pending(await sign_in(service))

        answer = await enter(service, "totp", ada.code(service), carry_pending(await challenge(service)))

        assert code(answer) == LOCKED

    async def test_covers_users_with_mail_codes_only(self, service: Service, carry_pending: Carry) -> None:
        session = await steps.join(service)
        await steps.verify(service)
        body = {"password": PASSWORD, "method": "otp"}
        assert (await service.post("/two-factor/enable", body, headers=session)).status_code == 200

        spare = carry_pending(await challenge(service))
        right = await mailed_code(service, spare)

        for _ in range(2):
            pending = carry_pending(await challenge(service))
            mailed = await mailed_code(service, pending)
            wrong = [await enter(service, "otp", self.other_than(mailed), pending) for _ in range(5)]
            assert told(wrong) == {"401 INVALID_CODE": 5}
        answer = await enter(service, "otp", right, spare)

        assert code(answer) == LOCKED

    async def test_lock_of_one_user_leaves_others_alone(
        self, service: Service, ada: Owner, carry_pending: Carry
    ) -> None:
        eve = await enrol(service, EVE)
        for _ in range(2):
            await self.spend(service, ada, carry_pending)

        assert await opens(service, carry_pending(await challenge(service, EVE)), "totp", eve.code(service))

    def wrong(self, service: Service, owner: Owner, method: str) -> str:
        return WRONG_BACKUP_CODE if method == "backup-code" else owner.wrong_code(service)

    def other_than(self, code_: str) -> str:
        return f"{(int(code_) + 1) % 1_000_000:06}"

    async def spend(self, service: Service, owner: Owner, carry: Carry, times: int = 5) -> None:
        """Sign in and enter wrong codes, by each method in turn."""
        pending = carry(await challenge(service, owner.email))
        mailed = await mailed_code(service, pending, owner.email)
        wrong = {
            "totp": owner.wrong_code(service),
            "otp": self.other_than(mailed),
            "backup-code": WRONG_BACKUP_CODE,
        }
        for method, _ in zip(cycle(METHODS), range(times), strict=False):
            answer = await enter(service, method, wrong[method], pending)
            assert code(answer) == WRONG[method]


@pytest.mark.threat("V48")
class TestUnconfirmedEnrolment:
    """An enrolment that is not confirmed is none, and locks nobody out."""

    async def test_wrong_codes_do_not_confirm(
        self, service: Service, carry: Callable[[str], Headers]
    ) -> None:
        session = carry(token_in(await steps.join(service)))
        secret, backup_codes = await second_factor.begin(service, session)
        owner = Owner(ADA, session, secret, backup_codes)

        wrong = [await enter(service, "totp", owner.wrong_code(service), session) for _ in range(3)]

        assert told(wrong) == {"401 INVALID_CODE": 3}
        assert not is_pending(await sign_in(service))

    async def test_an_intruder_in_a_session_cannot_lock_the_owner_out(
        self, service: Service, ada: Owner, carry_pending: Carry
    ) -> None:
        """Wrong codes with a session do not count for the lock, and enrolling takes the password."""
        for _ in range(12):
            await enter(service, "totp", ada.wrong_code(service), ada.session)
            await enter(service, "backup-code", WRONG_BACKUP_CODE, ada.session)

        assert await opens(service, carry_pending(await challenge(service)), "totp", ada.code(service))


@pytest.mark.threat("V49")
class TestChangesOfTheSecondFactor:
    """The second factor is changed and shown only to who has a session and knows the password."""

    @pytest.mark.parametrize("name", WITH_PASSWORD)
    async def test_not_for_nobody_and_not_in_another_users_name(
        self, service: Service, ada: Owner, name: str
    ) -> None:
        eve = await steps.join(service, EVE, password=NEW_PASSWORD)
        who = {"userId": (await steps.user_of(service, ada.session))["id"], "email": ADA}

        nobody = await service.post(f"/two-factor/{name}", {"password": PASSWORD, **who})
        with_adas = await service.post(f"/two-factor/{name}", {"password": PASSWORD, **who}, headers=eve)
        await service.post(f"/two-factor/{name}", {"password": NEW_PASSWORD, **who}, headers=eve)

        assert (code(nobody), code(with_adas)) == ("401 UNAUTHORIZED", "400 INVALID_PASSWORD")
        await self.unchanged(service, ada)

    async def unchanged(self, service: Service, owner: Owner) -> None:
        """Two-factor is on, nothing was enrolled beside, and the owner's codes work."""
        assert await is_on(service, owner)
        uri = await service.post("/two-factor/get-totp-uri", {"password": PASSWORD}, headers=owner.session)
        assert second_factor.secret_in(uri.json()["totpURI"]) == owner.secret
        assert await opens(service, bearer(await challenge(service)), "totp", owner.code(service))
        assert await opens(service, bearer(await challenge(service)), "backup-code", owner.backup_codes[-1])


@pytest.mark.threat("V50")
class TestWaysAround:
    """No other way leads around the second factor."""

    async def test_a_reset_password_still_needs_a_code(
        self, service: Service, ada: Owner, carry_pending: Carry
    ) -> None:
        token = await steps.reset_token(service)

        reset = await service.post("/reset-password", {"token": token, "newPassword": NEW_PASSWORD})
        signed_in = await steps.sign_in(service, password=NEW_PASSWORD)

        assert code(reset) == "200"
        assert set(reset.json()) == {"status", "user"}
        assert reset.json()["user"]["twoFactorEnabled"] is True
        assert not {SESSION, PENDING, TRUST} & set(set_cookies(reset))
        assert "set-auth-token" not in reset.headers
        assert is_pending(signed_in)
        assert await session_count(service) == 0
        assert await opens(service, carry_pending(signed_in.json()["token"]), "totp", ada.code(service))

    async def test_a_reset_leaves_the_lock(self, service: Service, ada: Owner, carry_pending: Carry) -> None:
        for _ in range(2):
            await TestGuessedCodes().spend(service, ada, carry_pending)
        token = await steps.reset_token(service)
        await service.post("/reset-password", {"token": token, "newPassword": NEW_PASSWORD})
        pending = (await steps.sign_in(service, password=NEW_PASSWORD)).json()["token"]

        answer = await enter(service, "totp", ada.code(service), carry_pending(pending))

        assert code(answer) == LOCKED

    async def test_links_of_mails_do_not_sign_in(self, service: Service, ada: Owner) -> None:
        await service.post("/change-email", {"newEmail": "ada@new.test"}, headers=ada.session)
        link = steps.local(await steps.last_link(service, "change-email"))
        before = await session_count(service)

        answer = await service.get(link)

        assert code(answer) == "200"
        assert set_cookies(answer) == {}
        assert "token" not in answer.json()
        assert await session_count(service) == before
        assert is_pending(await sign_in(service, "ada@new.test"))


@pytest.mark.threat("V51")
class TestPasswordIsAskedAgain:
    """What asks for the password or a fresh session goes on asking, whatever opened or used the session."""

    @pytest.mark.parametrize("method", METHODS)
    async def test_a_session_from_a_code_is_not_a_password(
        self, service: Service, ada: Owner, method: str
    ) -> None:
        pending = bearer(await challenge(service))
        answer = await enter(service, method, await right_code(service, ada, method, pending), pending)
        session = bearer(answer.json()["token"])

        for name in WITH_PASSWORD:
            refused = await service.post(f"/two-factor/{name}", {"password": "wrong"}, headers=session)
            assert code(refused) == "400 INVALID_PASSWORD"
        body = {"currentPassword": "wrong", "newPassword": NEW_PASSWORD}
        assert code(await service.post("/change-password", body, headers=session)) == "400 INVALID_PASSWORD"
        assert await is_on(service, ada)

    @pytest.mark.parametrize("method", METHODS)
    async def test_a_code_does_not_make_an_old_session_fresh(
        self, service: Service, ada: Owner, carry: Callable[[str], Headers], method: str
    ) -> None:
        session = carry(token_in(ada.session))
        service.clock.advance(days=1, seconds=1)

        checked = await enter(service, method, await right_code(service, ada, method, session), session)
        refused = await service.post("/delete-user", headers=session)

        assert code(checked) == "200"
        assert checked.json()["token"] == token_in(ada.session)
        assert code(refused) == "400 SESSION_EXPIRED"


@pytest.mark.threat("V52")
class TestTrustedDevices:
    """A trusted device is remembered by the service, and forgotten by it."""

    async def test_signing_out_and_revoking_leave_devices_alone(self, service: Service, ada: Owner) -> None:
        trusted = await trusted_device(service, ada)

        await service.post("/revoke-sessions", headers=ada.session)

        assert not is_pending(await sign_in(service, headers=cookie(TRUST, trusted)))

    async def test_asking_without_wanting_trust_gives_none(self, service: Service, ada: Owner) -> None:
        wishes: list[dict[str, Any]] = [{}, {"trustDevice": False}, {"trustDevice": "false"}]
        for number, wanted in enumerate(wishes):
            pending = bearer(await challenge(service))
            answer = await enter(service, "backup-code", ada.backup_codes[number], pending, **wanted)
            assert TRUST not in set_cookies(answer)
        with_session = await enter(service, "totp", ada.code(service), ada.session, trustDevice=True)

        assert TRUST not in set_cookies(with_session)
        assert await steps.count(service, TrustedDevice) == 0

    async def worthless(self, service: Service, trusted: str) -> bool:
        return is_pending(await sign_in(service, headers=cookie(TRUST, trusted)))


@pytest.mark.threat("V53")
class TestBackupCodes:
    """New backup codes replace the old ones, and each works once."""

    async def test_after_new_codes_no_old_one_works_and_every_new_one_once(
        self, service: Service, ada: Owner, carry: Callable[[str], Headers]
    ) -> None:
        session = carry(token_in(ada.session))
        answer = await service.post(
            "/two-factor/generate-backup-codes", {"password": PASSWORD}, headers=session
        )
        new_codes: list[str] = answer.json()["backupCodes"]

        old = [await enter(service, "backup-code", value, session) for value in ada.backup_codes]
        *most, last = new_codes
        first = [await enter(service, "backup-code", value, session) for value in most]
        second = [await enter(service, "backup-code", value, session) for value in most]

        assert len(set(new_codes)) == len(new_codes) == 10
        assert not set(new_codes) & set(ada.backup_codes)
        assert told(old) == {WRONG["backup-code"]: 10}
        assert told(first) == {"200": 9}
        assert told(second) == {WRONG["backup-code"]: 9}
        assert code(await enter(service, "backup-code", last, session)) == "200"

    async def test_the_database_shows_no_code(self, service: Service, ada: Owner) -> None:
        rows = repr(await service.rows("SELECT * FROM backup_code"))

        for value in ada.backup_codes:
            assert value not in rows
            assert value.replace("-", "") not in rows
        assert ada.secret not in repr(await service.rows("SELECT * FROM two_factor"))
