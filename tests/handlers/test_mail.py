"""The operations of openapi/paths/mail.yaml."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select

from domain.localization import LANGUAGES
from domain.mail import administration, outbox
from domain.mail.templates import templates
from models import MailState, Outbox
from tests.conftest import MakeService
from tests.handlers import steps
from tests.handlers.mailings import add_mail, state_of
from tests.handlers.people import Person, add_person
from tests.service import START, Service
from tests.trail import only

pytestmark = pytest.mark.both_databases


@pytest.fixture
async def admin(service: Service) -> Person:
    """An administrator of the service; the outbox is empty."""
    person = await add_person(service, "admin")
    await steps.execute(service, "DELETE FROM outbox")
    return person


async def page(service: Service, by: Person, **query: Any) -> dict[str, Any]:
    answer = await service.get("/admin/list-mails", headers=by.headers, params=query)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def found(service: Service, by: Person, **query: Any) -> list[str]:
    return [mail["id"] for mail in (await page(service, by, **query))["mails"]]


async def act(service: Service, by: Person, name: str, mail_id: str) -> str:
    """Send an email again or give it up; return the status and the code."""
    answer = await service.post(f"/admin/{name}", {"mailId": mail_id}, headers=by.headers)
    return "200" if answer.status_code == 200 else steps.code(answer)


@pytest.mark.operation("mail.list_messages")
class TestList:
    async def test_an_email_is_listed_without_its_text(self, service: Service, admin: Person) -> None:
        await add_mail(service, "a", user_id=admin.id, payload={"to": "ada@example.com", "code": "492039"})

        listed = await service.get("/admin/list-mails", headers=admin.headers)

        assert listed.json() == {
            "mails": [
                {
                    "id": "a",
                    "state": "failed",
                    "template": "password-changed",
                    "recipient": "ada@example.com",
                    "userId": admin.id,
                    "createdAt": "2026-01-01T12:00:00.000Z",
                    "updatedAt": "2026-01-01T12:00:00.000Z",
                    "attempts": 1,
                    "nextAttempt": None,
                    "error": "smtp: 550 5.1.1",
                    "canSendAgain": True,
                }
            ],
            "nextCursor": None,
        }
        assert "492039" not in listed.text

    async def test_of_a_sent_email_only_the_recipient_is_kept(self, service: Service, admin: Person) -> None:
        await service.post("/request-password-reset", {"email": admin.email})
        await service.services.worker.drain()

        [sent] = (await page(service, admin))["mails"]

        assert (sent["state"], sent["template"], sent["recipient"]) == ("sent", "reset-password", admin.email)
        [row] = await service.rows("SELECT payload FROM outbox")
        assert service.services.cipher.decrypt(outbox.PURPOSE, bytes(row[0])) == f'{{"to": "{admin.email}"}}'

    async def test_every_filter_finds_its_emails(self, service: Service, admin: Person) -> None:
        ada = await add_person(service, email="ada@example.com")
        await steps.execute(service, "DELETE FROM outbox")
        mails: list[tuple[MailState, dict[str, Any]]] = [
            (MailState.QUEUED, {"user_id": ada.id}),
            (MailState.UNRESOLVED, {"payload": {"email": "eve@example.com", "target": None}}),
            (MailState.FAILED, {"template": "magic-link"}),
            (MailState.SENT, {"user_id": ada.id, "payload": None}),
            (MailState.SENT, {"payload": {"to": outbox.DECOY_ADDRESS}}),
        ]
        for number, (state, more) in enumerate(mails):
            await add_mail(
                service, str(number), state, next_attempt=START - timedelta(minutes=number), **more
            )

        for query, expected in [
            ({}, "01234"),
            ({"state": "waiting"}, "01"),
            ({"state": "failed"}, "2"),
            ({"state": "sent"}, "34"),
            ({"template": "magic-link"}, "2"),
            ({"template": "nothing"}, ""),
            ({"recipient": ada.id}, "03"),
            ({"recipient": "ADA@example.com", "state": "sent"}, "3"),
            ({"recipient": "nobody"}, ""),
        ]:
            assert "".join(await found(service, admin, **query)) == expected, query
        recipients = [mail["recipient"] for mail in (await page(service, admin))["mails"]]
        assert recipients == ["ada@example.com", "eve@example.com", "ada@example.com", None, None]

    @pytest.mark.threat("C6")
    async def test_pages_follow_each_other_although_many_emails_have_the_same_time(
        self, service: Service, admin: Person
    ) -> None:
        for number in range(7):
            await add_mail(service, str(number), (MailState.FAILED, MailState.SENT)[number % 2])
        seen: list[str] = []
        query: dict[str, Any] = {"limit": 2}
        while True:
            one = await page(service, admin, **query)
            seen += [mail["id"] for mail in one["mails"]]
            if one["nextCursor"] is None:
                break
            query["cursor"] = one["nextCursor"]

        assert seen == ["6", "5", "4", "3", "2", "1", "0"]

    @pytest.mark.threat("C6")
    @pytest.mark.parametrize(
        "query", ["cursor=x", "cursor=1", "state=queued", "limit=0", "limit=1&limit=2", "recipient="]
    )
    async def test_a_malformed_filter_is_named(self, service: Service, admin: Person, query: str) -> None:
        answer = await service.get(f"/admin/list-mails?{query}", headers=admin.headers)

        assert steps.code(answer) == "400 VALIDATION_ERROR"
        assert answer.json()["fields"][0]["name"] == query.partition("=")[0]


@pytest.mark.operation("mail.send_again")
class TestSendAgain:
    async def test_a_failed_email_is_sent_once_more(self, service: Service, admin: Person) -> None:
        await add_mail(service, "a", user_id=admin.id, to=admin.email)

        assert await act(service, admin, "send-mail-again", "a") == "200"
        await service.services.worker.drain()

        [mail] = await service.inbox(to=admin.email, template="password-changed")
        assert await state_of(service, "a") == (MailState.SENT, None)
        assert (await only(service, "mail.sent_again")).details == {
            "mail": "a",
            "template": "password-changed",
        }
        assert mail["id"] == "a"

    async def test_a_request_that_failed_is_looked_up_again(self, service: Service, admin: Person) -> None:
        payload = {"email": admin.email, "target": None}
        await add_mail(service, "a", payload=payload, template="reset-password")

        await act(service, admin, "send-mail-again", "a")
        await service.services.worker.drain()

        assert len(await service.inbox(to=admin.email, template="reset-password")) == 1

    async def test_it_ends_with_its_link(self, service: Service, admin: Person) -> None:
        expires = START + timedelta(minutes=10)
        payload = {"to": admin.email, "name": "", "locale": "en", "expires": expires.isoformat(), "link": "x"}
        await add_mail(service, "a", payload=payload)
        assert await act(service, admin, "send-mail-again", "a") == "200"

        async with service.services.database.begin() as db:
            assert [row.expires_at for row in await db.execute(select(Outbox))] == [expires]
        await steps.execute(service, "UPDATE outbox SET state = 'failed'")
        service.clock.advance(minutes=10)
        assert await act(service, admin, "send-mail-again", "a") == "409 MAIL_EXPIRED"

    async def test_what_cannot_be_sent_again_is_refused(self, service: Service, admin: Person) -> None:
        await add_mail(service, "waits", MailState.QUEUED)
        await add_mail(service, "sent", MailState.SENT, payload={"to": "ada@example.com"})
        await add_mail(service, "erased", payload={"to": "ada@example.com"})
        await add_mail(service, "unknown-key", payload=None)

        refused = [
            await act(service, admin, "send-mail-again", name)
            for name in ("waits", "sent", "erased", "unknown-key", "x")
        ]

        assert refused == [
            "409 MAIL_NOT_FAILED",
            "409 MAIL_NOT_FAILED",
            "409 MAIL_EXPIRED",
            "409 MAIL_EXPIRED",
            "404 MAIL_NOT_FOUND",
        ]

    @pytest.mark.threat("C8")
    async def test_of_ten_at_once_one_succeeds_and_one_email_goes_out(
        self, service: Service, admin: Person
    ) -> None:
        await add_mail(service, "a", to=admin.email)

        done = await asyncio.gather(*(act(service, admin, "send-mail-again", "a") for _ in range(10)))
        await service.services.worker.drain()

        assert sorted(done) == ["200", *["409 MAIL_NOT_FAILED"] * 9]
        assert len(await service.inbox(to=admin.email, template="password-changed")) == 1

    @pytest.mark.threat("C8")
    async def test_a_late_result_of_an_earlier_attempt_has_no_effect(
        self, service: Service, admin: Person
    ) -> None:
        await add_mail(service, "a", attempts=3)
        late = outbox.LeasedMail("a", "password-changed", "file", 3, START, START, {"to": "ada@example.com"})
        await act(service, admin, "send-mail-again", "a")

        await service.services.unit_of_work.run(lambda ctx: outbox.mark_failed(ctx, late, "time-out"))

        assert await state_of(service, "a") == (MailState.QUEUED, None)


@pytest.mark.operation("mail.give_up")
class TestGiveUp:
    async def test_an_email_that_waits_is_not_tried_again(self, service: Service, admin: Person) -> None:
        await add_mail(service, "a", MailState.QUEUED, to=admin.email)

        assert await act(service, admin, "give-up-mail", "a") == "200"
        await service.services.worker.drain()

        assert await state_of(service, "a") == (MailState.FAILED, administration.GIVEN_UP)
        assert await service.inbox(to=admin.email, template="password-changed") == []
        assert (await only(service, "mail.given_up")).actor_id == admin.id
        assert await act(service, admin, "give-up-mail", "a") == "409 MAIL_NOT_WAITING"
        assert await act(service, admin, "give-up-mail", "x") == "404 MAIL_NOT_FOUND"
        assert await act(service, admin, "send-mail-again", "a") == "200"

    @pytest.mark.threat("C8")
    async def test_an_email_that_is_being_sent_is_not_given_up(self, service: Service, admin: Person) -> None:
        await add_mail(service, "a", MailState.QUEUED)
        await service.services.unit_of_work.run(lambda ctx: outbox.claim(ctx, outbox.mails_for("file"), 1))

        assert await act(service, admin, "give-up-mail", "a") == "409 MAIL_BEING_SENT"

        service.clock.advance(seconds=61)
        assert await act(service, admin, "give-up-mail", "a") == "200"


@pytest.mark.operation("mail.list_templates", "mail.preview")
class TestPreview:
    async def test_every_template_and_every_language_can_be_seen(
        self, service: Service, admin: Person
    ) -> None:
        listed = (await service.get("/admin/list-mail-templates", headers=admin.headers)).json()["templates"]
        assert [one["name"] for one in listed] == list(templates())

        pairs = [(name, "de") for name in templates()] + [("otp", language) for language in LANGUAGES]
        for name, language in pairs:
            query = {"template": name, "language": language}
            answer = await service.get("/admin/preview-mail", headers=admin.headers, params=query)
            assert answer.status_code == 200, answer.text
            shown = answer.json()
            assert (shown["template"], shown["language"]) == (name, language)
            assert shown["subject"]
            assert "</html>" in shown["html"]

    async def test_an_unknown_template_is_refused(self, service: Service, admin: Person) -> None:
        query = {"template": "../secret"}
        answer = await service.get("/admin/preview-mail", headers=admin.headers, params=query)

        assert steps.code(answer) == "404 MAIL_TEMPLATE_NOT_FOUND"


@pytest.mark.operation("mail.send_preview")
class TestSendPreview:
    async def send(self, service: Service, by: Person, template: str = "password-changed") -> str:
        body = {"template": template, "language": "de"}
        answer = await service.post("/admin/send-mail-preview", body, headers=by.headers)
        return "200" if answer.status_code == 200 else steps.code(answer)

    async def test_it_goes_to_the_caller(self, service: Service, admin: Person) -> None:
        assert await self.send(service, admin) == "200"
        await service.services.worker.drain()

        [mail] = await service.inbox(template="password-changed")
        assert mail["to"] == admin.email
        assert "Passwort" in mail["subject"]
        assert await self.send(service, admin, "nothing") == "404 MAIL_TEMPLATE_NOT_FOUND"

    async def test_every_template_can_be_sent_and_none_has_a_valid_link(
        self, make_service: MakeService
    ) -> None:
        service = await make_service({"limits.enabled": "false"})
        admin = await add_person(service, "admin")
        await steps.execute(service, 'DELETE FROM "grant"')

        for name in templates():
            assert await self.send(service, admin, name) == "200"

        await service.services.worker.drain()
        assert {mail["template"] for mail in await service.inbox(to=admin.email)} >= set(templates())
        [valid] = await service.rows('SELECT count(*) FROM "grant" WHERE user_id IS NOT NULL')
        assert valid[0] == 0

    @pytest.mark.threat("V74")
    async def test_a_mailbox_is_not_flooded(self, service: Service, admin: Person) -> None:
        done = [await self.send(service, admin) for _ in range(30)]

        assert done[-1] == "429 TOO_MANY_REQUESTS"

    async def test_without_a_sender_it_says_so(self, make_service: MakeService) -> None:
        service = await make_service({"mail.sender": "none"})
        admin = await add_person(service, "admin")

        assert await self.send(service, admin) == "400 MAIL_SENDER_NOT_CONFIGURED"


@pytest.mark.threat("ADM24")
async def test_only_those_who_manage_the_service_may(service: Service, admin: Person) -> None:
    user = await add_person(service)
    await add_mail(service, "failed")
    await add_mail(service, "waits", MailState.QUEUED)
    answers = [
        await service.get("/admin/list-mails", headers=user.headers),
        await service.get("/admin/list-mail-templates", headers=user.headers),
        await service.get("/admin/preview-mail?template=password-changed", headers=user.headers),
        await service.post("/admin/send-mail-again", {"mailId": "failed"}, headers=user.headers),
        await service.post("/admin/give-up-mail", {"mailId": "waits"}, headers=user.headers),
        await service.post(
            "/admin/send-mail-preview", {"template": "password-changed"}, headers=user.headers
        ),
    ]

    assert {steps.code(answer) for answer in answers} == {"403 YOU_ARE_NOT_ALLOWED_TO_MANAGE_SERVICE"}
    assert (await state_of(service, "failed"))[0] == MailState.FAILED
    assert (await state_of(service, "waits"))[0] == MailState.QUEUED
