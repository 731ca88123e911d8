"""The attacks V63 to V69 and V74 of threats.md, and of R42 what limits are for: each test is marked with its row."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from server.config.groups.limits import LimitSettings
from tests.conftest import MakeService
from tests.handlers import steps
from tests.handlers.steps import ADA, EVE, bearer, code, join
from tests.postgres import Cluster
from tests.redis_server import RedisServer
from tests.security import second_factor
from tests.security.limits import (
    CHECKED,
    LIMITED,
    PATIENT,
    PROXIED,
    TOLD,
    WRONG,
    at_once,
    coming_from,
    enter_password,
    guess,
    spend,
    told,
    wait,
)
from tests.service import PASSWORD, Service, close_service, open_service

ATTACKER, OWNER = "192.0.2.66", "198.51.100.7"
FORWARDING = ("X-Forwarded-For", "X-Real-IP", "Forwarded", "CF-Connecting-IP", "True-Client-IP")


@pytest.fixture(params=["sqlite", "postgresql", "redis"], scope="module")
async def both(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[list[Service]]:
    """One instance on SQLite; two that share a PostgreSQL database; two that share a Redis beside it."""
    directory: Path = tmp_path_factory.mktemp("limits")
    url, number, overrides = f"sqlite:///{directory / 'gatewright.db'}", 1, {"secrets": "s" * 32, **PATIENT}
    if request.param != "sqlite":
        cluster: Cluster = request.getfixturevalue("cluster")
        url, number = cluster.create(migrated=True), 2
    if request.param == "redis":
        overrides["limits.store"] = request.getfixturevalue("redis_server").url
    services = [await open_service(url, directory, overrides) for _ in range(number)]
    yield services
    for service in services:
        await close_service(service)


@pytest.fixture
async def instances(both: list[Service], request: pytest.FixtureRequest) -> list[Service]:
    """The instances, with everything forgotten."""
    for service in both:
        await service.reset()
    if both[0].services.settings[LimitSettings].store.get_secret_value() != "database":
        server: RedisServer = request.getfixturevalue("redis_server")
        server.empty()
    return both


@pytest.fixture
async def proxied(make_service: MakeService) -> Service:
    """A service behind a proxy."""
    return await make_service(PROXIED)


@pytest.mark.threat("V63")
class TestOneNetworkOneBudget:
    @pytest.mark.parametrize(
        "addresses",
        [
            [f"2001:db8:5:6:{number:x}::{number:x}" for number in range(1, 12)],
            ["2001:db8:5:6::a", "2001:DB8:5:6::A", "2001:0db8:0005:0006:0000:0000:0000:000a"] * 4,
            ["192.0.2.66", "::ffff:192.0.2.66", "::FFFF:c000:242", "192.0.2.66:4711"] * 3,
        ],
        ids=["last 64 bits", "spellings of IPv6", "IPv4 in IPv6"],
    )
    async def test_other_spellings_are_the_same_network(self, proxied: Service, addresses: list[str]) -> None:
        await join(proxied)

        answers = [await guess(proxied, address=address) for address in addresses[:11]]

        assert [code(answer) for answer in answers] == [TOLD] * 10 + [LIMITED]

    async def test_another_64_is_another_network(self, proxied: Service) -> None:
        await join(proxied)
        await spend(proxied, address="2001:db8:5:6::1")

        answer = await guess(proxied, address="2001:db8:5:7::1")

        assert code(answer) == TOLD

    async def test_the_limit_of_requests_knows_them_too(self, make_service: MakeService) -> None:
        service = await make_service({**PROXIED, "limits.requests": "3"})

        answers = [
            await service.get("/get-session", headers=coming_from(f"2001:db8:5:6::{number}"))
            for number in range(4)
        ]

        assert [answer.status_code for answer in answers] == [401, 401, 401, 429]


@pytest.mark.threat("V64")
class TestWhatIsSentIsNotBelieved:
    async def test_no_header_of_the_client_changes_its_network_or_the_address_of_its_session(
        self, service: Service
    ) -> None:
        await join(service)
        wrong, right = [{"email": ADA, "password": password} for password in (WRONG, PASSWORD)]

        spoofed = [dict.fromkeys(FORWARDING, f"203.0.113.{number}") for number in range(11)]
        signed_in = await service.post("/sign-in/email", right, headers=spoofed[0])
        answers = [await service.post("/sign-in/email", wrong, headers=headers) for headers in spoofed]

        session = await service.get("/get-session", headers=bearer(signed_in.json()["token"]))
        assert session.json()["session"]["ipAddress"] == "127.0.0.1"
        assert [code(answer) for answer in answers] == [TOLD] * 10 + [LIMITED]

    async def test_nor_the_leftmost_hop_behind_a_proxy(self, proxied: Service) -> None:
        await join(proxied)

        answers = [await guess(proxied, address=f"203.0.113.{number}, {ATTACKER}") for number in range(11)]

        assert [code(answer) for answer in answers] == [TOLD] * 10 + [LIMITED]


@pytest.mark.threat("V65")
class TestNonsenseIsNoAddress:
    async def test_the_password_is_checked_all_the_same(self, proxied: Service) -> None:
        await join(proxied)
        body = {"email": ADA, "password": WRONG}
        nonsense = ["a", "", ",", "999.1.1.1", "1" * 8000, "\N{PILE OF POO}", ", , ,", "a", "", ",", "a"]

        answers = [
            await proxied.client.post(
                "/sign-in/email", json=body, headers={b"x-forwarded-for": sent.encode()}
            )
            for sent in nonsense
        ]

        assert [code(answer) for answer in answers] == [TOLD] * 10 + [LIMITED]


@pytest.mark.threat("V66")
@pytest.mark.both_databases
class TestABurst:
    @pytest.mark.threat("R21")
    async def test_of_a_hundred_wrong_passwords_ten_are_told(self, instances: list[Service]) -> None:
        await join(instances[0])

        answers = await at_once(instances, 100, guess)

        assert told(answers) == {TOLD: 10, LIMITED: 90}
        assert code(await enter_password(instances[-1])) == LIMITED

    async def test_unknown_accounts_behave_alike(self, instances: list[Service]) -> None:
        answers = await at_once(instances, 100, guess, email=EVE)

        assert told(answers) == {TOLD: 10, LIMITED: 90}

    async def test_of_a_hundred_checks_under_a_session_ten_are_told(self, instances: list[Service]) -> None:
        ada = await join(instances[0])

        async def check(service: Service) -> httpx.Response:
            return await service.post("/verify-password", {"password": WRONG}, headers=ada)

        answers = await at_once(instances, 100, check)

        assert told(answers) == {CHECKED: 10, LIMITED: 90}

    async def test_of_a_hundred_codes_under_a_session_ten_are_told(self, instances: list[Service]) -> None:
        ada = await second_factor.enrol(instances[0])

        async def enter(service: Service) -> httpx.Response:
            return await second_factor.enter(service, "totp", ada.wrong_code(service), ada.session)

        answers = await at_once(instances, 100, enter)

        assert told(answers) == {"401 INVALID_CODE": 10, LIMITED: 90}

    async def test_who_knows_the_password_is_let_in_beside_a_few_mistakes(
        self, instances: list[Service]
    ) -> None:
        await join(instances[0])

        wrong, right = await asyncio.gather(
            at_once(instances, 9, guess), at_once(instances, 20, enter_password)
        )

        assert told(wrong) == {TOLD: 9}
        assert told(right) == {"200": 20}

    async def test_a_network_gets_a_hundred_over_all_accounts(self, instances: list[Service]) -> None:
        answers = [
            answer
            for number in range(15)
            for answer in await at_once(instances, 10, guess, email=f"user{number}@example.com")
        ]

        assert told(answers) == {TOLD: 100, LIMITED: 50}

    async def test_of_a_hundred_requests_to_two_instances_those_of_one_budget_pass(
        self, cluster: Cluster, tmp_path: Path
    ) -> None:
        """An instance that gets no turn until the other has drawn the whole budget lets its first tenth pass alone."""
        url, overrides = cluster.create(migrated=True), {"secrets": "s" * 32, "limits.requests": "20"}
        services = [await open_service(url, tmp_path, overrides) for _ in range(2)]

        async def look(service: Service) -> httpx.Response:
            return await service.get("/get-session")

        answers = await at_once(services, 100, look)

        statuses = Counter(answer.status_code for answer in answers)
        assert statuses.keys() == {401, 429}
        assert 20 <= statuses[401] <= 22
        for service in services:
            await close_service(service)


@pytest.mark.threat("V67")
class TestWhoSharesABudget:
    async def test_a_flood_of_one_refuses_no_other(self, make_service: MakeService) -> None:
        service = await make_service({**PROXIED, "limits.requests": "20"})
        flood = [await service.get("/get-session", headers=coming_from(ATTACKER)) for _ in range(60)]

        other = await service.get("/get-session", headers=coming_from(OWNER))

        assert [answer.status_code for answer in flood] == [401] * 20 + [429] * 40
        assert other.status_code == 401

    async def test_without_an_address_each_account_has_one(self, tmp_path: Path) -> None:
        url = f"sqlite:///{tmp_path / 'gatewright.db'}"
        service = await open_service(
            url, tmp_path, {"limits.requests": "5", "limits.network_failures": "5"}, peer=None
        )
        await join(service)
        await join(service, EVE)

        answers = [await guess(service) for _ in range(12)]
        others = [await guess(service, EVE), await enter_password(service, EVE)]
        looks = [await service.get("/get-session") for _ in range(20)]

        assert [code(answer) for answer in answers] == [TOLD] * 10 + [LIMITED] * 2
        assert [code(answer) for answer in others] == [TOLD, "200"]
        assert {answer.status_code for answer in looks} == {401}
        await close_service(service)


async def _codes(service: Service, ada: second_factor.Owner) -> list[str]:
    """Try every way that is left to learn something about a password or code, right and wrong; give the answers."""
    asked = []
    for password in (WRONG, PASSWORD):
        asked += [
            await service.post(path, {**body, "password": password}, headers=ada.session)
            for path, body in (
                ("/verify-password", {}),
                ("/two-factor/enable", {}),
                ("/two-factor/enable", {"method": "otp"}),
                ("/two-factor/get-totp-uri", {}),
                ("/two-factor/generate-backup-codes", {}),
                ("/two-factor/disable", {}),
                ("/delete-user", {}),
                ("/sign-in/email", {"email": ADA}),
                ("/sign-in/username", {"username": "countess"}),
            )
        ]
        asked.append(
            await service.post(
                "/change-password",
                {"currentPassword": password, "newPassword": steps.NEW_PASSWORD},
                headers=ada.session,
            )
        )
    for entered in (ada.wrong_code(service), ada.code(service)):
        asked.append(await second_factor.enter(service, "totp", entered, ada.session))
        asked.append(await second_factor.enter(service, "otp", entered, ada.session))
    for entered in (second_factor.WRONG_BACKUP_CODE, ada.backup_codes[0]):
        asked.append(await second_factor.enter(service, "backup-code", entered, ada.session))
    return [code(answer) for answer in asked]


@pytest.mark.threat("V68")
class TestEveryWayIsOneBudget:
    async def test_when_it_is_spent_nothing_tells_anything(self, service: Service) -> None:
        ada = await second_factor.enrol(service, username="countess")
        await spend(service)

        assert set(await _codes(service, ada)) == {LIMITED}
        assert await steps.works(service, ada.session)

    @pytest.mark.parametrize(
        ("path", "body", "answer"),
        [
            ("/verify-password", {}, CHECKED),
            ("/change-password", {"newPassword": steps.NEW_PASSWORD}, CHECKED),
            ("/delete-user", {}, CHECKED),
            ("/two-factor/enable", {}, CHECKED),
            ("/two-factor/disable", {}, CHECKED),
            ("/two-factor/get-totp-uri", {}, CHECKED),
            ("/two-factor/generate-backup-codes", {}, CHECKED),
            ("/two-factor/verify-totp", {"code": "00000x"}, "401 INVALID_CODE"),
            ("/two-factor/verify-backup-code", {"code": "aaaaa-aaaaa"}, "401 INVALID_BACKUP_CODE"),
            ("/sign-in/username", {"username": "countess"}, "401 INVALID_USERNAME_OR_PASSWORD"),
        ],
    )
    async def test_each_of_them_spends_it(
        self, service: Service, path: str, body: dict[str, str], answer: str
    ) -> None:
        ada = await second_factor.enrol(service, username="countess")
        wrong = {"currentPassword" if path == "/change-password" else "password": WRONG, **body}

        answers = [await service.post(path, wrong, headers=ada.session) for _ in range(11)]

        assert [code(answer) for answer in answers] == [answer] * 10 + [LIMITED]
        assert code(await enter_password(service, "ADA@example.com")) == LIMITED

    async def test_mailed_codes_too(self, service: Service) -> None:
        ada = await second_factor.enrol(service)
        told_wrong = []
        for _ in range(3):
            await second_factor.mailed_code(service, ada.session)
            told_wrong += [
                code(await second_factor.enter(service, "otp", "00000x", ada.session)) for _ in range(4)
            ]

        assert told_wrong == ["401 INVALID_CODE"] * 10 + [LIMITED] * 2

    async def test_so_do_codes_that_end_a_sign_in(self, make_service: MakeService) -> None:
        service = await make_service({"two_factor.lock_after": "1000"})
        ada = await second_factor.enrol(service)
        waiting = [bearer(await second_factor.challenge(service)) for _ in range(3)]

        answers = [
            code(await second_factor.enter(service, "totp", ada.wrong_code(service), pending))
            for pending in waiting
            for _ in range(4)
        ]
        right = [
            await second_factor.enter(service, "totp", ada.code(service), waiting[2]),
            await second_factor.enter(service, "backup-code", ada.backup_codes[0], waiting[2]),
        ]

        assert answers == ["401 INVALID_CODE"] * 10 + [LIMITED] * 2
        assert told(right) == {LIMITED: 2}
        assert code(await enter_password(service)) == LIMITED

    async def test_a_user_without_a_password_has_one(self, service: Service) -> None:
        ada = await join(service)
        await steps.remove_passwords(service)

        answers = [
            await service.post("/verify-password", {"password": PASSWORD}, headers=ada) for _ in range(11)
        ]
        change = {"currentPassword": PASSWORD, "newPassword": steps.NEW_PASSWORD}
        changed = await service.post("/change-password", change, headers=ada)

        assert [code(answer) for answer in answers] == [CHECKED] * 10 + [LIMITED]
        assert code(changed) == LIMITED


@pytest.mark.threat("V69")
class TestTheOwnerIsNotLockedOut:
    @pytest.mark.threat("V67")
    async def test_another_network_gets_in_with_the_right_password(self, proxied: Service) -> None:
        session = await join(proxied)
        await spend(proxied, address=ATTACKER)

        wrong = await guess(proxied, address=OWNER)
        answers = [await enter_password(proxied, address=address) for address in (ATTACKER, OWNER, ATTACKER)]

        assert code(wrong) == TOLD
        assert [code(answer) for answer in answers] == [LIMITED, "200", LIMITED]
        assert await steps.works(proxied, session)

    async def test_a_network_that_is_known_gets_in_when_the_account_is_spent(self, proxied: Service) -> None:
        await join(proxied)
        await enter_password(proxied, address=OWNER)
        for number in range(10):
            await spend(proxied, address=f"192.0.2.{number + 1}")

        strange, known = (
            await enter_password(proxied, address="192.0.2.200"),
            await enter_password(proxied, address=OWNER),
        )

        assert (code(strange), code(known)) == (LIMITED, "200")

    async def test_and_is_told_of_mistakes(self, make_service: MakeService) -> None:
        service = await make_service({**PROXIED, "limits.account_failures": "20"})
        await join(service)
        await enter_password(service, address=OWNER)
        for address in ("192.0.2.1", "192.0.2.2"):
            await spend(service, address=address)

        answers = [await guess(service, address=OWNER) for _ in range(11)]

        assert [code(answer) for answer in answers] == [TOLD] * 10 + [LIMITED]

    async def test_the_wait_ends_a_quarter_of_an_hour_after_the_first_mistake_whatever_follows(
        self, service: Service
    ) -> None:
        await join(service)
        await spend(service, 5)
        service.clock.advance(minutes=10)
        await spend(service, 5)

        for left, passed in ((300, 200), (100, 99), (1, 1)):
            assert wait(await enter_password(service)) == wait(await guess(service)) == left
            service.clock.advance(seconds=passed)

        assert code(await enter_password(service)) == "200"


@pytest.mark.threat("V74")
class TestMails:
    async def test_thirty_requests_for_one_address_send_five_mails_whose_links_stay_valid(
        self, proxied: Service
    ) -> None:
        await join(proxied)
        before = len(await proxied.inbox(ADA))

        answers = [
            await proxied.post(path, {"email": ADA}, headers=coming_from(f"192.0.2.{number}"))
            for number in range(15)
            for path in ("/request-password-reset", "/send-verification-email")
        ]

        assert [answer.json() for answer in answers] == [{"status": True}] * 30
        # Sign-up has sent one: it is the same budget.
        assert before == 1
        assert len(await proxied.inbox(ADA)) == 5
        resets = await proxied.inbox(ADA, "reset-password")
        valid = [await proxied.get(steps.local(mail["link"])) for mail in resets]
        assert [answer.status_code for answer in valid] == [200] * 2
        assert await proxied.rows("SELECT 1 FROM \"grant\" WHERE purpose = 'reset'") == [(1,)] * 2

    async def test_an_address_nobody_has_proven_gets_few_notices(self, proxied: Service) -> None:
        mallory = await join(proxied, EVE)

        for number in range(7):
            for address in ("victim@example.com", f"else{number}@example.com"):
                answer = await proxied.post("/change-email", {"newEmail": address}, headers=mallory)
                assert answer.status_code == 200

        assert len(await proxied.inbox("victim@example.com", "email-changed")) == 5

    async def test_it_gets_few_of_every_kind_together(self, proxied: Service) -> None:
        """Somebody who signed up with the address of a stranger switches two-factor on and off."""
        mallory = await join(proxied, "victim@example.com")
        enabled = []

        for _ in range(4):
            owner = await second_factor.enrol_again(proxied, "victim@example.com", mallory)
            disabled = await proxied.post("/two-factor/disable", {"password": PASSWORD}, headers=mallory)
            enabled += [owner.email, disabled.status_code]
        change = {"currentPassword": PASSWORD, "newPassword": steps.NEW_PASSWORD}
        changed = await proxied.post("/change-password", change, headers=mallory)

        assert enabled == ["victim@example.com", 200] * 4
        assert changed.status_code == 200
        mails = Counter(mail["template"] for mail in await proxied.inbox("victim@example.com"))
        assert mails == {"verify-email": 1, "two-factor-changed": 5}

    async def test_a_proven_address_gets_every_notice(self, proxied: Service) -> None:
        ada = await second_factor.enrol(proxied)

        for _ in range(5):
            await proxied.post("/two-factor/disable", {"password": PASSWORD}, headers=ada.session)
            await second_factor.enrol_again(proxied, ADA, ada.session)

        assert len(await proxied.inbox(ADA, "two-factor-changed")) == 11

    async def test_the_day_has_twenty(self, proxied: Service) -> None:
        await join(proxied)
        for _ in range(12):
            for _ in range(3):
                await proxied.post("/request-password-reset", {"email": ADA})
            await proxied.inbox()
            proxied.clock.advance(minutes=20)

        assert len(await proxied.inbox(ADA)) == 20

    async def test_ten_codes_are_five_mails_that_strangers_do_not_use_up_and_the_last_one_works(
        self, proxied: Service
    ) -> None:
        await second_factor.enrol(proxied)
        for _ in range(10):
            await proxied.post("/request-password-reset", {"email": ADA})
        await proxied.inbox()
        pending = bearer(await second_factor.challenge(proxied))

        answers = []
        for number in range(10):
            headers = {**pending, **coming_from(f"192.0.2.{number}")}
            answers.append(await proxied.post("/two-factor/send-otp", headers=headers))
            mails = await proxied.inbox(ADA, "otp")
        entered = await second_factor.enter(proxied, "otp", mails[-1]["code"], pending)

        assert [answer.json() for answer in answers] == [{"status": True}] * 10
        assert len(mails) == 5
        assert code(entered) == "200"

    async def test_a_new_address_gets_five(self, proxied: Service) -> None:
        ada = await join(proxied)
        await steps.verify(proxied)
        change = {"newEmail": "countess@example.com"}

        answers = []
        for _ in range(10):
            answers.append(await proxied.post("/change-email", change, headers=ada))
            mails = await proxied.inbox("countess@example.com")
        moved = await proxied.get(steps.local(mails[-1]["link"]))

        assert {answer.status_code for answer in answers} == {200}
        assert len(mails) == 5
        assert moved.status_code == 200

    async def test_deletions_and_notices_have_budgets_of_their_own(self, make_service: MakeService) -> None:
        service = await make_service({"delete_user.confirm_by_mail": "true"})
        ada = await join(service)
        for _ in range(10):
            await service.post("/request-password-reset", {"email": ADA})
        await service.inbox()

        answers = [await service.post("/delete-user", headers=ada) for _ in range(10)]
        change = {"currentPassword": PASSWORD, "newPassword": steps.NEW_PASSWORD}
        await service.post("/change-password", change, headers=ada)

        assert {answer.json()["message"] for answer in answers} == {"Verification email sent"}
        assert len(await service.inbox(ADA, "delete-account")) == 5
        assert len(await service.inbox(ADA, "password-changed")) == 1

    async def test_sign_ups_with_a_taken_address_too(self, make_service: MakeService) -> None:
        service = await make_service({"sign_up.auto_sign_in": "false"})
        body = {"name": "Ada", "email": ADA, "password": PASSWORD}

        answers = [await service.post("/sign-up/email", body) for _ in range(10)]

        assert {answer.status_code for answer in answers} == {200}
        assert len(await service.inbox(ADA, "existing-account")) == 4
        assert len(await service.inbox(ADA)) == 5


@pytest.mark.threat("R42")
class TestAFlood:
    @pytest.fixture
    async def patient(self, make_service: MakeService) -> Service:
        """A service that lets requests wait, with the limit of requests."""
        return await make_service({name: PATIENT[name] for name in PATIENT if name != "limits.requests"})

    async def test_three_hundred_sign_ins_are_refused_but_for_a_hundred(self, patient: Service) -> None:
        await join(patient)

        answers = await at_once([patient], 300, enter_password)

        assert told(answers) == {"200": 100, LIMITED: 200}
        assert {wait(answer) for answer in answers if code(answer) == LIMITED} == {10}

    async def test_what_is_refused_costs_no_hash(self, make_service: MakeService) -> None:
        """With no place to wait, each hash at the same time would be one too many: none is begun."""
        service = await make_service({"password.hash_workers": "1", "password.hash_queue": "0"})
        await join(service)
        await spend(service)

        answers = await at_once([service], 50, enter_password)

        assert told(answers) == {LIMITED: 50}

    async def test_other_operations_go_on(self, patient: Service) -> None:
        ada = await join(patient)

        flood, looks, pulse = await asyncio.gather(
            at_once([patient], 300, guess),
            at_once([patient], 20, Service.get, path="/get-session", headers=ada),
            at_once([patient], 200, Service.get, path="/ok"),
        )

        assert told(flood) == {TOLD: 10, LIMITED: 290}
        assert {answer.status_code for answer in [*looks, *pulse]} == {200}
