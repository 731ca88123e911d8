"""What goes on record (behaviour chapter 11), through the public door and on both databases."""

import io
import json
from collections.abc import Awaitable, Callable
from typing import Any

import bcrypt
import pytest

from domain import errors
from domain.admin import operator
from domain.context import Context, StaleRead
from models import Audit, Outcome, Session, User
from tests.conftest import MakeService
from tests.handlers import steps
from tests.handlers.steps import ADA, EVE, NEW_PASSWORD, bearer, join, last_link, local
from tests.security import second_factor
from tests.security.second_factor import TRUST, WRONG_BACKUP_CODE, Owner, challenge, cookie, enrol, enter
from tests.service import PASSWORD, START, Service
from tests.trail import forget, only, told, trail

AGENT = {"User-Agent": "a browser"}

Journey = Callable[[Service], Awaitable[Any]]


async def operate(
    service: Service, rule: Callable[..., Awaitable[Any]], *arguments: Any, **named: Any
) -> Any:
    """Run a rule as the operator's commands do."""

    async def job(ctx: Context) -> Any:
        return await rule(ctx, *arguments, **named)

    return await service.services.unit_of_work.run(job)


async def sign_in_with(service: Service, password: str, email: str = ADA) -> None:
    await steps.sign_in(service, email, password)


async def sign_in_with_an_older_hash(service: Service) -> None:
    await steps.set_hash(service, bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode())
    await steps.sign_in(service)


async def sign_up_again(service: Service) -> None:
    await service.post("/sign-up/email", {"name": "Ada", "email": ADA, "password": PASSWORD})


async def reset(service: Service) -> None:
    token = await steps.reset_token(service)
    for _ in range(2):
        await service.post("/reset-password", {"token": token, "newPassword": NEW_PASSWORD})


def posting(path: str, **body: Any) -> Journey:
    """Return a journey of one request, signed in as the user who is there already."""

    async def journey(service: Service) -> None:
        session = (await steps.sign_in(service)).json()["token"]
        service.client.cookies.clear()
        await forget(service)
        await service.post(path, body, headers=bearer(session))

    return journey


async def revoke_one(service: Service) -> None:
    sessions = [(await steps.sign_in(service)).json()["token"] for _ in range(2)]
    service.client.cookies.clear()
    await forget(service)
    for _ in range(2):
        await service.post("/revoke-session", {"token": sessions[1]}, headers=bearer(sessions[0]))


async def verify_address(service: Service) -> None:
    link = local(await last_link(service, "verify-email"))
    for _ in range(2):
        await service.get(link)


async def change_verified_address(service: Service) -> None:
    await steps.verify(service)
    await posting("/change-email", newEmail=EVE)(service)
    await service.get(local(await last_link(service, "change-email")))


async def ask_without_session(service: Service) -> None:
    for address in (ADA, "nobody@example.com"):
        await service.post("/send-verification-email", {"email": address})
        await service.post("/request-password-reset", {"email": address})
    await service.inbox()


JOURNEYS: dict[str, tuple[Journey, list[str]]] = {
    "sign-in": (lambda service: sign_in_with(service, PASSWORD), ["sign_in.succeeded"]),
    "wrong password": (
        lambda service: sign_in_with(service, "wrong"),
        ["sign_in.failed failure INVALID_EMAIL_OR_PASSWORD"],
    ),
    "unknown address": (
        lambda service: sign_in_with(service, "wrong", EVE),
        ["sign_in.failed failure INVALID_EMAIL_OR_PASSWORD"],
    ),
    "older hash": (sign_in_with_an_older_hash, ["password.rehashed", "sign_in.succeeded"]),
    "taken address": (
        sign_up_again,
        ["user.created refused USER_ALREADY_EXISTS_USE_ANOTHER_EMAIL"],
    ),
    "reset": (
        reset,
        [
            "password_reset.completed",
            "password_reset.failed failure INVALID_TOKEN",
            "password_reset.requested",
            "user.unproven_access_removed",
        ],
    ),
    "requests without session": (
        ask_without_session,
        [
            "email.verification_requested",
            "email.verification_requested failure",
            "password_reset.requested",
            "password_reset.requested failure",
        ],
    ),
    "sign-out": (posting("/sign-out"), ["sign_out"]),
    "revoke one": (revoke_one, ["session.revoked"]),
    "revoke all": (posting("/revoke-sessions"), ["session.revoked_all"]),
    "revoke others": (posting("/revoke-other-sessions"), ["session.revoked_others"]),
    "change password": (
        posting("/change-password", currentPassword=PASSWORD, newPassword=NEW_PASSWORD),
        ["password.changed"],
    ),
    "change password and end sessions": (
        posting(
            "/change-password",
            currentPassword=PASSWORD,
            newPassword=NEW_PASSWORD,
            revokeOtherSessions=True,
        ),
        ["password.changed", "session.created", "session.revoked_all"],
    ),
    "check password": (
        posting("/verify-password", password="wrong"),
        ["password.check_failed failure INVALID_PASSWORD"],
    ),
    "update": (posting("/update-user", name="Countess"), ["user.updated"]),
    "delete": (posting("/delete-user", password=PASSWORD), ["user.deleted"]),
    "verify address": (verify_address, ["email.verified"]),
    "ask for verification": (
        posting("/send-verification-email", email=ADA),
        ["email.verification_requested"],
    ),
    "change address": (posting("/change-email", newEmail=EVE), ["email.changed"]),
    "change verified address": (change_verified_address, ["email.change_requested", "email.changed"]),
    "enrol": (posting("/two-factor/enable", password=PASSWORD), ["two_factor.enrolment_started"]),
    "foreign origin": (
        lambda service: service.post("/sign-out", headers={"Origin": "https://evil.test"}),
        ["origin.refused refused INVALID_ORIGIN"],
    ),
    "untrusted redirect": (
        lambda service: service.get("/verify-email?token=x&callbackURL=https://evil.test"),
        ["redirect.refused refused INVALID_CALLBACK_URL"],
    ),
    "operator bans": (
        lambda service: operate(service, operator.ban, ADA, reason="spam", until=None),
        ["session.revoked_all", "user.banned"],
    ),
    "operator deletes": (
        lambda service: operate(service, operator.delete, ADA),
        ["user.deleted"],
    ),
}


class TestEvents:
    @pytest.mark.parametrize("name", JOURNEYS)
    async def test_every_journey_leaves_its_records_and_no_other(self, service: Service, name: str) -> None:
        journey, expected = JOURNEYS[name]
        await join(service)
        await forget(service)

        await journey(service)

        assert told(await trail(service)) == expected

    async def test_a_sign_up_tells_of_the_user_and_of_the_session(self, service: Service) -> None:
        await join(service)

        records = await trail(service)
        assert told(records) == ["sign_in.succeeded", "user.created"]
        assert len({record.user_id for record in records}) == 1

    async def test_a_ban_and_an_unproven_address_are_told_from_a_wrong_password(
        self, make_service: MakeService
    ) -> None:
        service = await make_service({"email_verification.required": "true"})
        await service.post("/sign-up/email", {"name": "Ada", "email": ADA, "password": PASSWORD})
        await forget(service)

        await sign_in_with(service, PASSWORD)
        await steps.set_user(service, banned=True)
        await sign_in_with(service, PASSWORD)

        assert told(await trail(service)) == [
            "sign_in.banned refused BANNED_USER",
            "sign_in.failed refused EMAIL_NOT_VERIFIED",
        ]

    async def test_a_ban_that_has_ended_is_lifted_on_record(self, service: Service) -> None:
        await join(service)
        await steps.set_user(service, banned=True, ban_expires=START)
        await forget(service)

        await sign_in_with(service, PASSWORD)

        assert told(await trail(service)) == ["sign_in.succeeded", "user.updated"]
        fields = ["ban_expires", "ban_reason", "banned"]
        assert (await only(service, "user.updated")).details == {"fields": fields}

    async def test_looking_around_leaves_no_record(self, service: Service) -> None:
        session = await join(service)
        await forget(service)

        for path in ("/get-session", "/list-sessions", "/list-accounts", "/ok", "/ready"):
            await service.get(path, headers=session)
        await service.get("/get-session")

        assert await trail(service) == []

    async def test_a_deletion_by_mail_is_told_twice(self, make_service: MakeService) -> None:
        service = await make_service({"delete_user.confirm_by_mail": "true"})
        session = await join(service)
        await forget(service)

        await service.post("/delete-user", headers=session)
        await service.get(local(await last_link(service, "delete-account")), headers=session)

        assert told(await trail(service)) == ["user.deleted", "user.deletion_requested"]


async def switch_off_twice(service: Service, owner: Owner) -> None:
    for _ in range(2):
        await service.post("/two-factor/disable", {"password": PASSWORD}, headers=owner.session)


async def make_new_codes(service: Service, owner: Owner) -> None:
    body = {"password": PASSWORD, "method": "otp"}
    await service.post("/two-factor/enable", body, headers=owner.session)
    await service.post("/two-factor/generate-backup-codes", {"password": PASSWORD}, headers=owner.session)


async def sign_in_by_authenticator(service: Service, owner: Owner) -> None:
    pending = bearer(await challenge(service))
    await enter(service, "totp", owner.wrong_code(service), pending)
    await enter(service, "totp", owner.code(service), pending)


async def sign_in_by_mail(service: Service, owner: Owner) -> None:
    pending = bearer(await challenge(service))
    await enter(service, "otp", "123456", pending)
    await enter(service, "otp", await second_factor.mailed_code(service, pending), pending)


async def trust_a_device(service: Service, owner: Owner) -> None:
    device = await second_factor.trusted_device(service, owner)
    await second_factor.sign_in(service, headers=cookie(TRUST, device))
    body = {"currentPassword": PASSWORD, "newPassword": NEW_PASSWORD}
    await service.post("/change-password", body, headers=owner.session)


async def enter_codes_under_a_session(service: Service, owner: Owner) -> None:
    await enter(service, "backup-code", WRONG_BACKUP_CODE, owner.session)
    await enter(service, "backup-code", owner.backup_codes[0], owner.session)


async def enter_four_wrong_codes(service: Service, owner: Owner) -> None:
    pending = bearer(await challenge(service))
    for _ in range(4):
        await enter(service, "totp", owner.wrong_code(service), pending)


WRONG_CODE = "two_factor.failed failure INVALID_CODE"
LOCKED = "two_factor.failed refused ACCOUNT_TEMPORARILY_LOCKED"
SPENT = "two_factor.failed refused TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE"

OF_OWNERS: dict[Callable[[Service, Owner], Awaitable[None]], list[str]] = {
    switch_off_twice: ["two_factor.disabled"],
    make_new_codes: ["backup_codes.generated", "backup_codes.generated", "two_factor.enabled"],
    sign_in_by_authenticator: ["sign_in.pending", "sign_in.succeeded", WRONG_CODE, "two_factor.verified"],
    sign_in_by_mail: [
        "sign_in.pending", "sign_in.succeeded", "two_factor.failed failure OTP_HAS_EXPIRED",
        "two_factor.otp_requested", "two_factor.verified",
    ],
    trust_a_device: [
        "backup_code.used", "password.changed", "sign_in.pending", "sign_in.succeeded", "sign_in.succeeded",
        "trusted_device.added", "trusted_device.removed", "trusted_device.used", "two_factor.verified",
    ],
    enter_codes_under_a_session: [
        "backup_code.used", "two_factor.failed failure INVALID_BACKUP_CODE", "two_factor.verified",
    ],
}  # fmt: skip


class TestSecondFactor:
    async def test_an_enrolment_leaves_its_records(self, service: Service) -> None:
        await enrol(service)

        events = [event for event in told(await trail(service)) if event.startswith("two_factor")]
        assert events == ["two_factor.enabled", "two_factor.enrolment_started", "two_factor.verified"]

    @pytest.mark.parametrize(("journey", "expected"), OF_OWNERS.items())
    async def test_every_journey_leaves_its_records_and_no_other(
        self, service: Service, journey: Callable[[Service, Owner], Awaitable[None]], expected: list[str]
    ) -> None:
        owner = await enrol(service)
        await forget(service)

        await journey(service, owner)

        assert told(await trail(service)) == expected

    @pytest.mark.parametrize(
        ("settings", "expected"),
        [
            ({"two_factor.lock_after": "2"}, [WRONG_CODE, WRONG_CODE, LOCKED, LOCKED, "two_factor.locked"]),
            ({"two_factor.challenge_attempts": "3"}, [WRONG_CODE, WRONG_CODE, WRONG_CODE, SPENT]),
        ],
    )
    async def test_the_last_wrong_code_is_told_once_and_what_is_refused_each_time(
        self, make_service: MakeService, settings: dict[str, str], expected: list[str]
    ) -> None:
        service = await make_service(settings)
        owner = await enrol(service)
        await forget(service)

        await enter_four_wrong_codes(service, owner)

        assert told(await trail(service)) == ["sign_in.pending", *expected]

    async def test_a_record_names_the_method(self, service: Service) -> None:
        owner = await enrol(service)
        await forget(service)

        await sign_in_by_authenticator(service, owner)

        assert {record.event: record.method for record in await trail(service)} == {
            "sign_in.pending": "password",
            "sign_in.succeeded": "totp",
            "two_factor.failed": "totp",
            "two_factor.verified": "totp",
        }


class TestRecord:
    async def test_says_who_when_from_where_and_how(self, service: Service) -> None:
        session = await join(service)
        user = await steps.user_of(service, session)
        await forget(service)

        answer = await service.post("/sign-in/email", {"email": ADA, "password": PASSWORD}, headers=AGENT)
        service.client.cookies.clear()

        record = await only(service, "sign_in.succeeded")
        listed = (await service.get("/list-sessions", headers=bearer(answer.json()["token"]))).json()
        assert {
            name: value for name, value in record._asdict().items() if name not in {"id", "session_id"}
        } == {
            "time": START,
            "event": "sign_in.succeeded",
            "outcome": "success",
            "code": None,
            "user_id": user["id"],
            "hint": None,
            "actor_id": user["id"],
            "method": "password",
            "address": "127.0.0.1",
            "user_agent": "a browser",
            "request_id": answer.headers["x-request-id"],
            "details": {},
        }
        assert record.session_id in {row["id"] for row in listed}

    async def test_a_failure_names_the_user_or_holds_a_hint_that_is_the_same_for_any_spelling(
        self, service: Service
    ) -> None:
        user = await steps.user_of(service, await join(service))
        await sign_in_with(service, "wrong")
        known = await only(service, "sign_in.failed")
        await forget(service)

        for address in ("eve@example.com", "EVE@Example.com", "bob@example.com"):
            await sign_in_with(service, PASSWORD, address)

        records = await trail(service)
        hints = [record.hint for record in records]
        assert (known.user_id, known.hint, known.actor_id) == (user["id"], None, None)
        assert {record.user_id for record in records} == {None}
        assert sorted(map(hints.count, hints)) == [1, 2, 2]
        assert all("eve" not in (hint or "") for hint in hints)

    async def test_a_request_of_the_background_says_who_asked(self, service: Service) -> None:
        user = await steps.user_of(service, await join(service))
        await forget(service)

        asked = await service.post("/request-password-reset", {"email": ADA}, headers=AGENT)
        await service.inbox()

        record = await only(service, "password_reset.requested")
        assert (record.user_id, record.actor_id) == (user["id"], None)
        assert (record.address, record.user_agent) == ("127.0.0.1", "a browser")
        assert record.request_id == asked.headers["x-request-id"]

    async def test_the_operator_is_nobody_and_named_in_the_details(self, service: Service) -> None:
        await join(service)
        await forget(service)

        user = await operate(service, operator.delete, ADA)

        record = await only(service, "user.deleted")
        assert (record.user_id, record.actor_id, record.details) == (user.id, None, {"by": "operator"})

    async def test_holds_no_address_of_the_user_and_no_value(self, service: Service) -> None:
        session = await join(service)

        await service.post("/update-user", {"name": "Countess"}, headers=session)
        await service.post("/change-email", {"newEmail": EVE}, headers=session)

        written = " ".join(str(record) for record in await trail(service))
        assert "user.updated" in written
        for value in (ADA, EVE, "Countess", steps.token_of(session), PASSWORD):
            assert value not in written

    async def test_an_origin_refusal_under_a_session_names_whose_browser_it_was(
        self, service: Service
    ) -> None:
        session = await join(service)
        user = await steps.user_of(service, session)
        carried = cookie("service.session-token", steps.token_of(session))

        await service.post("/delete-user", headers={**carried, "Origin": "https://evil.test"})

        record = await only(service, "origin.refused")
        assert (record.user_id, record.details) == (user["id"], {"path": "/delete-user"})


class TestTransaction:
    """No record, no action; and what is refused is refused whatever becomes of the record."""

    @pytest.fixture
    async def unwritable(self, service: Service) -> Any:
        """Run the service, and then take no record any more."""
        await join(service)
        await steps.execute(service, "ALTER TABLE audit RENAME TO elsewhere")
        yield service
        await steps.execute(service, "ALTER TABLE elsewhere RENAME TO audit")

    async def test_without_a_record_nothing_happens(self, unwritable: Service) -> None:
        before = [await steps.count(unwritable, model) for model in (User, Session)]

        answers = [
            await steps.sign_in(unwritable),
            await unwritable.post("/sign-up/email", {"name": "Eve", "email": EVE, "password": PASSWORD}),
        ]

        assert [await steps.count(unwritable, model) for model in (User, Session)] == before
        assert [answer.status_code for answer in answers] == [500, 500]
        assert all("set-cookie" not in answer.headers for answer in answers)

    async def test_a_refusal_stays_what_it_is(self, unwritable: Service) -> None:
        wrong = await steps.sign_in(unwritable, password="wrong")
        unknown = await steps.sign_in(unwritable, EVE)
        foreign = await unwritable.post("/sign-out", headers={"Origin": "https://evil.test"})

        assert steps.code(wrong) == steps.code(unknown) == "401 INVALID_EMAIL_OR_PASSWORD"
        assert steps.code(foreign) == "403 INVALID_ORIGIN"

    async def test_a_counted_attempt_stays_counted_though_its_record_is_lost(self, service: Service) -> None:
        owner = await enrol(service)
        pending = bearer(await challenge(service))
        await steps.execute(service, "ALTER TABLE audit RENAME TO elsewhere")

        answers = [await enter(service, "totp", owner.wrong_code(service), pending) for _ in range(6)]

        await steps.execute(service, "ALTER TABLE elsewhere RENAME TO audit")
        assert [steps.code(answer) for answer in answers] == [
            *["401 INVALID_CODE"] * 5,
            "400 TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE",
        ]

    async def test_a_repeated_request_is_recorded_once(self, service: Service) -> None:
        tries = 0

        async def job(ctx: Context) -> None:
            nonlocal tries
            tries += 1
            ctx.records.append(record("sign_in.failed", Outcome.FAILURE))
            ctx.records.append(record("sign_out", Outcome.SUCCESS))
            if tries < 3:
                raise StaleRead

        await service.services.unit_of_work.run(job)

        assert told(await trail(service)) == ["sign_in.failed failure", "sign_out"]

    async def test_a_refused_request_records_no_success(self, service: Service) -> None:
        async def job(ctx: Context) -> None:
            ctx.records.append(record("sign_out", Outcome.SUCCESS))
            ctx.records.append(record("sign_in.failed", Outcome.FAILURE))
            raise errors.BadRequest

        with pytest.raises(errors.BadRequest):
            await service.services.unit_of_work.run(job)

        assert told(await trail(service)) == ["sign_in.failed failure"]


def record(event: str, outcome: Outcome, **more: Any) -> Audit:
    """Make a record."""
    return Audit(**{"id": event, "time": START, "event": event, "outcome": outcome, "details": {}, **more})


class TestDeletion:
    async def test_records_keep_the_id_and_lose_where_the_user_was(self, service: Service) -> None:
        session = await join(service)
        user = await steps.user_of(service, session)
        await join(service, EVE)
        await sign_in_with(service, "wrong")

        await service.post("/delete-user", {"password": PASSWORD}, headers=session)

        records = await trail(service)
        of_ada = [record for record in records if record.user_id == user["id"]]
        others = [record for record in records if record.user_id != user["id"]]
        assert {"user.created", "sign_in.failed", "user.deleted"} <= {record.event for record in of_ada}
        assert {(record.address, record.user_agent) for record in of_ada} == {(None, None)}
        assert {record.address for record in others} == {"127.0.0.1"}


class TestLog:
    async def test_one_line_per_record_with_the_same_words(
        self, service: Service, log_stream: io.BytesIO
    ) -> None:
        await sign_in_with(service, "wrong")

        [line] = [
            json.loads(line) for line in log_stream.getvalue().splitlines() if b"sign_in.failed" in line
        ]
        kept = await only(service, "sign_in.failed")
        assert line["level"] == "warning"
        assert {name: line[name] for name in ("id", "hint", "code", "address", "request_id")} == {
            "id": kept.id,
            "hint": kept.hint,
            "code": "INVALID_EMAIL_OR_PASSWORD",
            "address": "127.0.0.1",
            "request_id": kept.request_id,
        }
        assert line["time"] == steps.AT
