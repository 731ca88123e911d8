"""The rows V75 to V85 and V88: what users are called, what is mailed to them, and what errors say."""

import asyncio
from collections.abc import AsyncIterator
from email.message import EmailMessage
from itertools import cycle
from typing import Any

import httpx
import pytest

from models import Account, Session, User
from tests.conftest import Headers, MakeService
from tests.domain.test_identifiers import LOOK_ALIKES, NO_ADDRESSES, STEERING
from tests.handlers import steps
from tests.handlers.steps import (
    ADA,
    EVE,
    NEW_PASSWORD,
    bearer,
    code,
    count,
    join,
    set_user,
    sign_in,
    user_of,
)
from tests.security.conftest import UNLIMITED, OpenInstance
from tests.security.mailing import Page, Post, by_smtp, part
from tests.security.second_factor import SESSION, cookie, token_in
from tests.service import BASE_URL, PASSWORD, Service
from tests.smtp_peer import SmtpPeer

MIKE = "mike@example.com"
BY_MAIL = {"delete_user.confirm_by_mail": "true"}


async def told_of(service: Service, email: Any, eve: Headers) -> set[str]:
    """Use something as an address wherever one is taken; give how it was answered."""
    answers = [
        await service.post("/sign-up/email", {"name": "Eve", "email": email, "password": PASSWORD}),
        await service.post("/sign-in/email", {"email": email, "password": PASSWORD}),
        await service.post("/request-password-reset", {"email": email}),
        await service.post("/send-verification-email", {"email": email}),
        await service.post("/send-verification-email", {"email": email}, headers=eve),
        await service.post("/change-email", {"newEmail": email}, headers=eve),
    ]
    service.client.cookies.clear()
    return {code(answer) for answer in answers}


@pytest.fixture(scope="module")
async def peer() -> AsyncIterator[SmtpPeer]:
    """An SMTP server that takes everything."""
    peer = SmtpPeer()
    await peer.start()
    yield peer
    await peer.stop()


@pytest.fixture
async def post(peer: SmtpPeer, make_service: MakeService) -> Post:
    """A service that sends by SMTP, without limits, and that asks for a mailed link before it deletes."""
    service = await make_service({"limits.enabled": "false", **BY_MAIL, **by_smtp(peer.port)})
    peer.envelopes.clear()
    return Post(service, peer)


async def everything_mailed(post: Post, name: str, email: str = MIKE) -> None:
    """Take a user of this name through everything that sends mail; the name may be one that no sign-up allows."""
    service = post.service
    mike = await join(service, email)
    await post.delivered()
    await set_user(service, email, name=name)
    await service.post("/send-verification-email", {"email": email})
    await service.post("/request-password-reset", {"email": email})
    await post.service.services.worker.drain()
    await set_user(service, email, email_verified=True)
    enabled = await service.post("/two-factor/enable", {"password": PASSWORD, "method": "otp"}, headers=mike)
    assert enabled.status_code == 200
    await service.post("/two-factor/send-otp", headers=mike)
    await service.post("/two-factor/disable", {"password": PASSWORD}, headers=mike)
    await service.post("/delete-user", headers=mike)
    body = {"currentPassword": PASSWORD, "newPassword": NEW_PASSWORD}
    assert (await service.post("/change-password", body, headers=mike)).status_code == 200
    await service.post("/change-email", {"newEmail": EVE}, headers=mike)


@pytest.mark.threat("V75", "V76", "V78")
async def test_no_operation_takes_what_is_not_one_plain_address(make_service: MakeService) -> None:
    """Something becomes another address by normalisation, looks like one, or holds two: its owner loses the mail."""
    service = await make_service(UNLIMITED)
    for victim in (MIKE, "a@b.test", "c@d.test"):
        await join(service, victim)
    eve = await join(service, EVE)
    mails = await service.inbox()
    no_texts = [[MIKE, EVE], {"0": MIKE, "1": EVE}, [[EVE]], {"address": EVE}]

    told = {
        repr(email): await told_of(service, email, eve) for email in (*NO_ADDRESSES, *LOOK_ALIKES, *no_texts)
    }

    refused = {"400 VALIDATION_ERROR", "400 INVALID_EMAIL"}
    assert {email: answers for email, answers in told.items() if not answers <= refused} == {}
    assert await service.inbox() == mails
    assert await count(service, User) == 4


@pytest.mark.threat("V75")
async def test_mail_goes_to_the_stored_spelling_alone(post: Post) -> None:
    await join(post.service, MIKE)
    await post.delivered()

    await post.service.post("/request-password-reset", {"email": "MIKE@EXAMPLE.com"})
    await post.service.post("/send-verification-email", {"email": "Mike@Example.Com"})

    assert await post.recipients() == [[MIKE], [MIKE]]


@pytest.mark.threat("V76")
class TestInvisibleCharacters:
    """Invisible or reversing characters make a name look like another."""

    @pytest.mark.threat("V79")
    @pytest.mark.parametrize(
        "name", [*(f"Ada{character}Eve" for character in STEERING), "a" * 257], ids=ascii
    )
    async def test_no_name_reverses_or_breaks_a_line(self, service: Service, name: str) -> None:
        eve = await join(service, EVE)

        answers = [
            await service.post("/sign-up/email", {"name": name, "email": ADA, "password": PASSWORD}),
            await service.post("/update-user", {"name": name}, headers=eve),
        ]
        shown = await service.post("/update-user", {"displayUsername": name}, headers=eve)

        assert [code(answer) for answer in answers] == ["400 VALIDATION_ERROR"] * 2
        assert all(answer.json()["message"].startswith("[body.name] ") for answer in answers)
        assert shown.status_code == 400
        assert await count(service, User) == 1

    async def test_no_mail_shows_what_cannot_be_seen(self, post: Post) -> None:
        hidden = "\u200b\u00ad\ufeff\u2060\u034f\u202e\u2066"
        await everything_mailed(post, f"A{hidden}da")

        mails = await post.delivered()

        texts = [part(mail, kind) for mail in mails for kind in ("plain", "html")]
        assert len(mails) >= 8
        assert [text for text in texts if set(hidden[:3] + hidden[5:]) & set(text)] == []


@pytest.mark.threat("V77")
class TestCase:
    """Another case of an address makes a second account, or is not recognised as the first."""

    async def test_every_operation_finds_the_user_in_any_case(self, service: Service) -> None:
        signed_up = await service.post(
            "/sign-up/email", {"name": "A", "email": "A@X.test", "password": PASSWORD}
        )
        ada = bearer(signed_up.json()["token"])
        eve = await join(service, EVE)
        await service.inbox()

        again = await service.post(
            "/sign-up/email", {"name": "A", "email": "a@X.TEST", "password": NEW_PASSWORD}
        )
        signed_in = await sign_in(service, "a@x.TEST")
        same = await service.post("/change-email", {"newEmail": "a@X.test"}, headers=ada)
        for path in ("/request-password-reset", "/send-verification-email"):
            await service.post(path, {"email": "A@x.TesT"})
        await service.post("/change-email", {"newEmail": "A@X.TEST"}, headers=eve)
        moved = await service.post("/change-email", {"newEmail": "New@X.TEST"}, headers=eve)

        assert signed_up.json()["user"]["email"] == "a@x.test"
        assert code(again) == "422 USER_ALREADY_EXISTS_USE_ANOTHER_EMAIL"
        assert (code(signed_in), code(same), code(moved)) == ("200", "400 VALIDATION_ERROR", "200")
        mailed = {mail["template"] for mail in await service.inbox("a@x.test")}
        assert mailed == {"verify-email", "reset-password"}
        assert (await user_of(service, eve))["email"] == "new@x.test"
        assert await count(service, User) == 2

    @pytest.mark.both_databases
    async def test_of_ten_at_once_in_mixed_case_one_is_made(self, open_instance: OpenInstance) -> None:
        instances = [await open_instance(), await open_instance()]
        emails = ["ada@x.test", "ADA@x.test", "Ada@X.test", "aDa@x.TEST", "adA@X.TEST"] * 2

        answers = await asyncio.gather(
            *(
                service.post("/sign-up/email", {"name": "A", "email": email, "password": PASSWORD})
                for service, email in zip(cycle(instances), emails, strict=False)
            )
        )

        told = [code(answer) for answer in answers]
        assert sorted(set(told)) == ["200", "422 USER_ALREADY_EXISTS_USE_ANOTHER_EMAIL"]
        assert told.count("200") == 1
        made = [await count(instances[0], model) for model in (User, Account, Session)]
        assert made == [1, 1, 1]
        assert len(await instances[0].inbox()) == 1


@pytest.mark.threat("V78")
class TestTwoAddressesInOne:
    """Two addresses in one, or another one in a comment, send the secret to the attacker."""

    async def test_every_mail_has_one_recipient_and_it_is_the_stored_address(self, post: Post) -> None:
        await everything_mailed(post, "Mike")

        recipients = await post.recipients()

        assert all(len(addresses) == 1 for addresses in recipients)
        assert {address for [address] in recipients} == {MIKE, EVE}
        assert recipients.count([EVE]) == 1, "the link that proves the new address"


HOSTILE_NAMES = [
    "x\r\nBcc: eve@example.com\n\nhello\rTo: eve@example.com",
    "x\u2028Bcc: eve@example.com\u2029Subject: won",
    "x\x0bBcc: eve@example.com\x0c\x85Bcc: a@b.test\x1eTo: a@b.test",
    "=?utf-8?q?x=0d=0aBcc:_eve=40example.com?=",
    "\r\n.\r\nMAIL FROM:<eve@example.com>",
]


@pytest.mark.threat("V79")
class TestLineBreaks:
    """A line break in a name, an address or a header writes headers or commands of the mail."""

    @pytest.mark.parametrize("name", HOSTILE_NAMES, ids=ascii)
    async def test_one_that_was_stored_otherwise_writes_none(self, post: Post, name: str) -> None:
        await everything_mailed(post, name)

        mails = await post.delivered()

        expected = {
            "from", "to", "subject", "date", "message-id", "auto-submitted", "mime-version", "content-type",
            "x-peer", "x-mailfrom", "x-rcptto",
        }  # fmt: skip
        assert len(mails) >= 8
        for mail in mails:
            names = [header.lower() for header in mail]
            assert set(names) <= expected
            assert len(names) == len(set(names))
            assert str(mail["to"]) in (MIKE, EVE)
            assert str(mail["from"]) == "no-reply@example.com"
            lines = part(mail, "plain").splitlines()
            assert not any(line.startswith(("Bcc:", "To:", "Subject:", "MAIL", ".")) for line in lines)

    async def test_neither_does_a_user_agent(self, post: Post) -> None:
        agent = b"x\x0bBcc: eve@example.com\xe2\x80\xa8To: eve@example.com\xc2\x85y"
        mike = await join(post.service, MIKE)
        answer = await post.service.client.post(
            "/sign-in/email", json={"email": MIKE, "password": PASSWORD}, headers=[(b"User-Agent", agent)]
        )
        shown = await post.service.get("/get-session", headers=bearer(answer.json()["token"]))
        await post.service.post("/delete-user", headers=mike)

        mails = await post.delivered()

        assert shown.json()["session"]["userAgent"] == "xBcc: eve@example.comTo: eve@example.comy"
        assert all("Bcc" not in mail.as_string() for mail in mails)
        assert {str(mail["to"]) for mail in mails} == {MIKE}


MARKUP = [
    "<a href=https://evil.test>click</a> <script>alert(1)</script>",
    '"><img src=https://evil.test/x.png></p></td><h1>Pay here</h1>',
    "Template {{7*7}} ${7*7} <%= 7*7 %> #{7*7} {{ config }}",
    "{% for x in [1,2] %}49{% endfor %} {{ ''.__class__.__mro__ }}",
    "&#60;a href=https://evil.test&#62;",
]


@pytest.mark.threat("V80")
class TestNamesInMails:
    """A name brings links, pictures or template code into mails the service sends."""

    async def test_it_is_shown_as_it_was_typed(self, post: Post) -> None:
        plain = await self.mailed_to(post, "Ada")

        for name in MARKUP:
            mails = await self.mailed_to(post, name)

            assert set(mails) == set(plain)
            for subject, mail in mails.items():
                page, text = Page(part(mail, "html")), part(mail, "plain")
                assert page.tags == Page(part(plain[subject], "html")).tags, name
                assert all(link.startswith(f"{BASE_URL}/") for link in page.links), name
                assert f"Hello {name}," in page.shown.replace("\u2060", ""), name
                assert f"Hello {name}," in text.replace("\u2060", ""), name

    async def mailed_to(self, post: Post, name: str) -> dict[str, EmailMessage]:
        """Return all mails, by subject, that a user of this name gets."""
        for table in ('"user"', "outbox"):
            await steps.execute(post.service, f"DELETE FROM {table}")
        await everything_mailed(post, name)
        return {str(mail["subject"]): mail for mail in await post.delivered()}

    async def test_mail_programs_make_no_link_of_it(self, post: Post) -> None:
        name = "https://evil.test/win www.evil.test/a //evil.test evil.test"
        await everything_mailed(post, name)

        mails = await post.delivered()

        texts = [part(mail, kind) for mail in mails for kind in ("plain", "html")]
        assert [text for text in texts if any(address in text for address in name.split())] == []
        assert len(mails) >= 8


REFLECTED = [
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", '"><svg onload=alert(1)>', "javascript:alert(1)",
    "'--><h1>Sign in at evil.test</h1>", "</title><script>", "&lt;script&gt;", "{{7*7}}", "\u202egnp.exe",
    "<a href=https://evil.test>", "<meta http-equiv=refresh content=0;url=https://evil.test>",
]  # fmt: skip


@pytest.mark.threat("V81")
class TestErrorPage:
    """The error page shows what a link says, as markup."""

    @pytest.mark.parametrize("parameter", ["error", "error_description"])
    async def test_nothing_in_the_address_becomes_markup(self, service: Service, parameter: str) -> None:
        plain = Page((await service.get("/error?error=denied&error_description=No.")).text)

        for text in REFLECTED:
            params = {"error": "denied", "error_description": "No.", parameter: text}
            page = Page((await service.get("/error", params=params)).text)

            assert page.tags == plain.tags, text
            assert page.links == plain.links
            assert (text in page.shown) == (parameter == "error_description"), text

    async def test_no_script_runs_and_nobody_frames_it(self, service: Service) -> None:
        answer = await service.get("/error", params={"error": "denied", "message": REFLECTED[0]})

        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert answer.headers["content-security-policy"].startswith("default-src 'none'; ")
        assert "script-src 'self'; " in answer.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "alert" not in answer.text


@pytest.mark.threat("V83")
class TestSimultaneousResets:
    """One reset token, used by many at once, sets many passwords."""

    @pytest.mark.both_databases
    async def test_of_twenty_at_once_one_wins_and_its_password_alone_opens(
        self, open_instance: OpenInstance
    ) -> None:
        instances = [await open_instance(), await open_instance()]
        await join(instances[0])
        token = await steps.reset_token(instances[0])
        passwords = [f"{NEW_PASSWORD} {number}" for number in range(20)]

        answers = await asyncio.gather(
            *(
                service.post("/reset-password", {"token": token, "newPassword": password})
                for service, password in zip(cycle(instances), passwords, strict=False)
            )
        )

        told = [code(answer) for answer in answers]
        assert sorted(told) == ["200", *["400 INVALID_TOKEN"] * 19]
        opened = [await steps.opens(instances[1], password) for password in passwords]
        assert opened == [answer == "200" for answer in told]
        assert not await steps.opens(instances[0], PASSWORD)
        assert len(await instances[0].inbox(template="password-changed")) == 1


@pytest.mark.threat("V85")
class TestDeletionLinks:
    """A link that deletes an account deletes it twice, or for somebody else."""

    @pytest.mark.both_databases
    async def test_of_ten_at_once_one_deletes(self, open_instance: OpenInstance) -> None:
        instances = [await open_instance(BY_MAIL), await open_instance(BY_MAIL)]
        ada, eve = await join(instances[0]), await join(instances[0], EVE)
        token = await steps.deletion_token(instances[0], ada)
        turns = zip(cycle(instances), range(10), strict=False)

        answers = await asyncio.gather(
            *(
                service.get("/delete-user/callback", params={"token": token}, headers=ada)
                for service, _ in turns
            )
        )

        told = [code(answer) for answer in answers]
        assert told.count("200") == 1
        assert set(told) <= {"200", "401 UNAUTHORIZED", "404 INVALID_TOKEN"}
        assert (await user_of(instances[0], eve))["email"] == EVE
        assert await count(instances[0], User) == 1


FORBIDDEN = (
    "traceback", "file \"", ".py", "line ", "select ", "insert ", "update \"", "sqlite", "postgres", "asyncpg",
    "psycopg",
    "sqlalchemy", "aiosqlite", "exception", "errno", "/tmp", "/home", "/usr", "localhost", "127.0.0.1", "gone",
    "argon2",
    "0x", "starlette", "connexion", "uvicorn", "python", "no such", "constraint", "relation",
)  # fmt: skip
"""What a body never says: code, statements, paths, drivers, hosts."""

INPUT = "ThisWasSent"


@pytest.mark.threat("V88")
class TestErrors:
    """An error tells of stacks, statements, paths, drivers or hosts, or repeats what was sent."""

    async def refused(
        self, make_service: MakeService, capfd: pytest.CaptureFixture[str]
    ) -> list[httpx.Response]:
        """Return errors of every kind: of input, authentication and rules, and of a database that is broken."""
        service = await make_service({**UNLIMITED, "trusted_origins": "https://app.test"})
        ada = await join(service, username="ada_l")
        by_cookie = cookie(SESSION, token_in(ada))
        answers = [
            await service.get(f"/{INPUT}"),
            await service.get(f"/reset-password/{INPUT}"),
            await service.get("/sign-in/email"),
            await service.client.delete("/get-session"),
            await service.get("/get-session"),
            await service.get("/get-session", headers={"Authorization": f"Bearer {INPUT}"}),
            await service.get("/get-session", headers=cookie(SESSION, INPUT)),
            await service.client.post("/sign-in/email", content=b'{"email": "' + INPUT.encode()),
            await service.client.post("/sign-in/email", content=INPUT.encode(), headers={"Content-Type": "text/x"}),
            await service.client.post("/sign-in/email", content=INPUT.encode() * 10_000),
            await service.get(f"/ok?{INPUT * 1000}"),
            await service.get("/ok", headers={"X-Long": INPUT * 2000}),
            await service.post("/sign-in/email", {"email": INPUT, "password": PASSWORD}),
            await service.post("/sign-in/email", {"email": f"{INPUT}@x.test", "password": INPUT}),
            await service.post("/sign-up/email", {"email": [INPUT], "password": {INPUT: 1}, "name": 1}),
            await service.post("/sign-up/email", {"name": "A", "email": ADA, "password": PASSWORD}),
            await service.post("/sign-up/email", {"name": "A", "email": EVE, "password": "password"}),
            await service.post("/update-user", {"username": "ada l"}, headers=ada),
            await service.post("/update-user", {"role": INPUT}, headers=ada),
            await service.post("/update-user", {"name": INPUT}, headers={**by_cookie, "Origin": f"https://{INPUT}"}),
            await service.post("/change-email", {"newEmail": ADA}, headers=ada),
            await service.post("/change-email", {"newEmail": EVE, "callbackURL": f"//{INPUT}"}, headers=ada),
            await service.post("/two-factor/verify-totp", {"code": INPUT}, headers=ada),
            await service.post("/reset-password", {"token": INPUT, "newPassword": PASSWORD}),
        ]  # fmt: skip
        await steps.execute(service, "ALTER TABLE session RENAME TO gone")
        broken = [await service.get("/get-session", headers=ada), await sign_in(service)]
        await steps.execute(service, "ALTER TABLE gone RENAME TO session")
        defect = (500, "INTERNAL_SERVER_ERROR", "Internal server error")
        assert [steps.refusal(answer) for answer in broken] == [defect] * 2
        capfd.readouterr()  # Two defects were logged, as they should be; nobody needs to see them.
        return [*answers, *broken]

    async def test_it_is_a_message_and_a_code_and_tells_nothing_of_the_inside(
        self, make_service: MakeService, capfd: pytest.CaptureFixture[str]
    ) -> None:
        refused = await self.refused(make_service, capfd)

        statuses = {answer.status_code for answer in refused}
        assert statuses == {400, 401, 403, 404, 405, 413, 414, 415, 422, 431, 500}
        for answer in refused:
            _, code_, message = steps.refusal(answer)
            assert answer.headers["content-type"] == "application/json"
            assert code_ == code_.upper()
            assert 0 < len(message) < 200, message
            body = answer.text.lower()
            assert [word for word in (*FORBIDDEN, INPUT.lower()) if word in body] == [], body
            assert {"server", "x-powered-by", "via", "x-debug"}.isdisjoint(answer.headers)
            values = " ".join(answer.headers.values()).lower()
            software = ("uvicorn", "python", "starlette", "connexion", "gatewright")
            assert not any(word in values for word in software), values
