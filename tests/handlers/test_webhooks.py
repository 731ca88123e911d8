"""The operations of openapi/paths/webhooks.yaml."""

import asyncio
import base64
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from standardwebhooks import Webhook

from models.webhook_endpoint import PREVIOUS_SECRET, SECRET
from server.components.webhooks import Webhooks
from tests.conftest import MakeService
from tests.handlers.people import Person, add_person
from tests.handlers.steps import UNKNOWN, bearer, code, execute
from tests.receiver import Received, Receiver, respond
from tests.service import Service
from tests.trail import of_event, only, trail
from tests.webhooks import attempt, deliveries, happen

SETTINGS = {"limits.enabled": "false"}
"""In tests webhooks are on and managed by administrators (tests/settings/webhooks.py)."""

PUBLIC = "https://93.184.215.14/hook"
"""A URL that is allowed; nothing is sent there unless something is delivered."""
OWN = "whsec_" + base64.b64encode(b"a secret of twenty-four+").decode()


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    return await make_service(SETTINGS)


@pytest.fixture
async def admin(service: Service) -> Person:
    return await add_person(service, "admin", "root@example.com")


async def post(service: Service, by: Person, path: str, body: Mapping[str, Any]) -> httpx.Response:
    return await service.post(f"/webhooks/{path}", body, headers=by.headers)


async def create(service: Service, by: Person, **fields: Any) -> Any:
    """Create an endpoint; return the endpoint and its secret."""
    body = {"name": "crm", "url": PUBLIC, "events": ["*"], **fields}
    answer = await post(service, by, "create-endpoint", body)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def create_id(service: Service, by: Person, **fields: Any) -> str:
    return str((await create(service, by, **fields))["endpoint"]["id"])


async def listed(service: Service, by: Person) -> Any:
    answer = await service.get("/webhooks/list-endpoints", headers=by.headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def past(service: Service, by: Person, endpoint: str, **query: Any) -> Any:
    """Return the deliveries of an endpoint."""
    query = {"endpointId": endpoint, **query}
    answer = await service.get("/webhooks/list-deliveries", params=query, headers=by.headers)
    assert answer.status_code == 200, answer.text
    return answer.json()["deliveries"]


async def fail(service: Service, endpoint: str, **columns: Any) -> None:
    """Store that an endpoint has failed for an hour."""
    values = {"state": "active", "failures": 7, **columns}
    moment = service.clock.now
    if service.services.database.dialect == "sqlite":
        moment = int(moment.timestamp() * 1000)  # type: ignore[assignment]
    await execute(
        service,
        "UPDATE webhook_endpoint SET state = :state, failures = :failures, failing_since = :moment,"
        " next_probe = :moment WHERE id = :id",
        **values,
        moment=moment,
        id=endpoint,
    )


def calls(endpoint: str = UNKNOWN, delivery: str = UNKNOWN) -> dict[str, Mapping[str, Any] | None]:
    """Return the paths of all operations, with a body of those that are posted."""
    return {
        "create-endpoint": {"name": "crm", "url": PUBLIC, "events": ["*"]},
        "list-endpoints": None,
        "update-endpoint": {"id": endpoint, "name": "other"},
        "rotate-secret": {"id": endpoint},
        "send-test": {"id": endpoint},
        f"list-deliveries?endpointId={endpoint}": None,
        f"get-delivery?endpointId={endpoint}&deliveryId={delivery}": None,
        "redeliver": {"deliveryId": delivery},
        "delete-endpoint": {"id": endpoint},
    }


async def call(service: Service, path: str, body: Mapping[str, Any] | None, headers: Any) -> httpx.Response:
    if body is None:
        return await service.get(f"/webhooks/{path}", headers=headers)
    return await service.post(f"/webhooks/{path}", body, headers=headers)


FRESH = ("create-endpoint", "update-endpoint", "rotate-secret", "delete-endpoint")


class TestWho:
    @pytest.mark.threat("WH14")
    async def test_only_callers_with_the_permission(self, service: Service, admin: Person) -> None:
        user = await add_person(service, email="ada@example.com")
        endpoint = await create_id(service, admin)
        # Order: not signed in, not allowed, and only then what is wrong with the request.
        for path, body in calls(endpoint).items():
            sent = None if body is None else {"nothing": "right"}
            assert code(await call(service, path, sent, {})) == "401 UNAUTHORIZED", path
            assert code(await call(service, path, body, bearer(UNKNOWN))) == "401 UNAUTHORIZED", path
            assert code(await call(service, path, body, user.headers)) == (
                "403 YOU_ARE_NOT_ALLOWED_TO_MANAGE_SERVICE"
            ), path
        assert [one["name"] for one in await listed(service, admin)] == ["crm"]

    @pytest.mark.threat("WH14")
    async def test_a_role_with_the_permission_is_enough(self, make_service: MakeService) -> None:
        service = await make_service({**SETTINGS, "admin.roles": '{"ops": {"service": ["manage"]}}'})
        ops = await add_person(service, "ops")

        assert await listed(service, ops) == []

    @pytest.mark.threat("WH14")
    async def test_nobody_who_acts_in_the_name_of_an_administrator(self, make_service: MakeService) -> None:
        settings = {
            **SETTINGS,
            "admin.impersonation.enabled": "true",
            "admin.impersonation.restricted": "false",
        }
        service = await make_service(settings)
        admin = await add_person(service, "admin", "root@example.com")
        other = await add_person(service, "ops", "ops@example.com")
        answer = await service.post("/admin/impersonate-user", {"userId": other.id}, headers=admin.headers)
        assert answer.status_code == 200, answer.text
        token = answer.json()["session"]["token"]

        for path, body in calls().items():
            refused = await call(service, path, body, bearer(token))
            assert code(refused) == "403 NOT_ALLOWED_WHILE_IMPERSONATING", path

    @pytest.mark.threat("WH14")
    async def test_a_pending_sign_in_is_nobody(self, service: Service, admin: Person) -> None:
        # A token of a sign-in that waits for its second factor authenticates no session.
        for path, body in calls().items():
            answer = await call(service, path, body, {"Cookie": f"service.two-factor={UNKNOWN}"})
            assert code(answer) == "401 UNAUTHORIZED", path

    @pytest.mark.threat("WH14")
    async def test_changes_need_a_fresh_session(self, make_service: MakeService) -> None:
        service = await make_service({**SETTINGS, "admin.fresh_age": "1h"})
        admin = await add_person(service, "admin", "root@example.com")
        endpoint = await create_id(service, admin)
        service.clock.advance(hours=2)

        refused = {
            path: code(await call(service, path, body, admin.headers))
            for path, body in calls(endpoint).items()
        }

        stale = {path for path, found in refused.items() if found == "403 SESSION_NOT_FRESH"}
        assert stale == set(FRESH)
        assert refused["send-test"] == "200"

    @pytest.mark.threat("WH14")
    @pytest.mark.parametrize(
        "off", [{"webhooks.enabled": "false"}, {"webhooks.management": "cli"}, {"admin.enabled": "false"}]
    )
    async def test_they_do_not_exist_unless_switched_on(
        self, make_service: MakeService, off: dict[str, str]
    ) -> None:
        service = await make_service({**SETTINGS, **off})
        admin = await add_person(service, "admin")

        for path, body in calls().items():
            for headers in ({}, admin.headers):
                assert code(await call(service, path, body, headers)) == "404 NOT_FOUND", path


@pytest.mark.operation("webhooks.create", "webhooks.list")
class TestCreate:
    async def test_it_is_listed_without_its_secret(self, service: Service, admin: Person) -> None:
        made = await create(service, admin, description="Contacts", events=["webhook.test", "webhook.*"])

        endpoint, secret = made["endpoint"], made["secret"]
        assert endpoint == {
            "id": endpoint["id"],
            "name": "crm",
            "url": PUBLIC,
            "description": "Contacts",
            "events": ["webhook.test", "webhook.*"],
            "state": "active",
            "source": "operation",
            "failingSince": None,
            "lastSuccessAt": None,
            "pending": 0,
            "createdAt": "2026-01-01T12:00:00.000Z",
            "updatedAt": "2026-01-01T12:00:00.000Z",
        }
        assert secret.startswith("whsec_")
        assert len(base64.b64decode(secret.removeprefix("whsec_"))) == 32
        service.clock.advance(seconds=1)
        await create(service, admin, name="second")
        found = await listed(service, admin)
        assert (found[0], [one["name"] for one in found]) == (endpoint, ["crm", "second"])
        [row, _] = await service.rows("SELECT created_by FROM webhook_endpoint ORDER BY created_at")
        assert row.created_by == admin.id
        created = await only(service, "webhook.endpoint_created", endpointId=endpoint["id"])
        assert (created.actor_id, created.details) == (admin.id, {"endpointId": endpoint["id"]})

    async def test_a_secret_of_ones_own(self, service: Service, admin: Person) -> None:
        assert (await create(service, admin, secret=OWN))["secret"] == OWN
        for wrong in ("", "whsec_", OWN.removeprefix("whsec_"), OWN[:-4], OWN + "AAA", "whsec_" + "A" * 88, OWN + "\n",
                      "whsec_" + "-_" * 20):  # fmt: skip
            answer = await post(
                service,
                admin,
                "create-endpoint",
                {"name": "crm", "url": PUBLIC, "events": ["*"], "secret": wrong},
            )
            assert code(answer) == "400 VALIDATION_ERROR", wrong
            assert "secret" in answer.json()["message"]
            assert len(wrong) < 20 or wrong not in answer.text

    @pytest.mark.threat("WH15")
    @pytest.mark.parametrize(
        ("url", "why"),
        [
            ("http://93.184.215.14/", "https"),
            ("https://10.0.0.1/", "address"),
            ("https://169.254.169.254/latest", "address"),
            ("https://[::ffff:10.0.0.1]/", ""),
            ("https://user:secret@93.184.215.14/", "user"),
            ("https://93.184.215.14/#fragment", "fragment"),
            ("https://93.184.215.14:22/", "Port 22"),
            ("https://93.184.215.14:6379/", "Port 6379"),
            ("https://2130706433/", ""),
            ("https://127.1/", ""),
            ("https://ex\u0430mple.com/", "ASCII"),
            ("https://93.184.215.14/\r\nHost: inner", ""),
            ("ftp://93.184.215.14/", "https"),
            ("https://localhost:8000/", "this service"),
            ("http://localhost:8000/sign-out", "this service"),
        ],
    )
    async def test_a_url_that_is_not_allowed(
        self, service: Service, admin: Person, url: str, why: str
    ) -> None:
        endpoint = await create_id(service, admin)
        for path, body in (
            ("create-endpoint", {"name": "crm", "url": url, "events": ["*"]}),
            ("update-endpoint", {"id": endpoint, "url": url}),
        ):
            answer = await post(service, admin, path, body)
            assert code(answer) == "400 INVALID_WEBHOOK_URL", answer.text
            assert answer.json()["message"].startswith("Invalid webhook URL: ")
            assert why in answer.json()["message"]
        assert [one["url"] for one in await listed(service, admin)] == [PUBLIC]

    @pytest.mark.threat("WH15")
    async def test_a_long_url(self, service: Service, admin: Person) -> None:
        body = {"name": "crm", "url": PUBLIC + "x" * 10_000, "events": ["*"]}
        assert code(await post(service, admin, "create-endpoint", body)) == "400 VALIDATION_ERROR"

    @pytest.mark.threat("WH22")
    async def test_events_that_do_not_exist(self, service: Service, admin: Person) -> None:
        endpoint = await create_id(service, admin, events=["webhook.test"])
        for unknown in (
            "user",
            "users.created",
            "webhook.",
            "webhook.te*",
            "**",
            "*.test",
            "Webhook.test",
            " *",
        ):
            for path, body in (
                ("create-endpoint", {"name": "crm", "url": PUBLIC, "events": ["*", unknown]}),
                ("update-endpoint", {"id": endpoint, "events": [unknown]}),
            ):
                answer = await post(service, admin, path, body)
                assert code(answer) == "400 UNKNOWN_EVENT"
                assert answer.json()["message"] == f"Unknown event: {unknown}"
        for number in (0, 51, 1000):
            body = {"name": "crm", "url": PUBLIC, "events": ["*"] * number}
            assert code(await post(service, admin, "create-endpoint", body)) == "400 VALIDATION_ERROR"
        assert [one["events"] for one in await listed(service, admin)] == [["webhook.test"]]

    async def test_the_same_event_twice_counts_once(self, service: Service, admin: Person) -> None:
        made = await create(service, admin, events=["*", "webhook.test", "*"])
        assert made["endpoint"]["events"] == ["*", "webhook.test"]

    @pytest.mark.threat("WH22")
    @pytest.mark.both_databases
    async def test_there_are_so_many_at_most(self, make_service: MakeService) -> None:
        service = await make_service({**SETTINGS, "webhooks.max_endpoints": "3"})
        admin = await add_person(service, "admin")
        body = {"name": "crm", "url": PUBLIC, "events": ["*"]}

        answers = await asyncio.gather(*(post(service, admin, "create-endpoint", body) for _ in range(10)))

        codes = sorted(code(answer) for answer in answers)
        assert codes == ["200"] * 3 + ["400 TOO_MANY_ENDPOINTS"] * 7
        [first, *_] = found = await listed(service, admin)
        assert len(found) == 3
        await post(service, admin, "delete-endpoint", {"id": first["id"]})
        await create(service, admin)

    async def test_text_without_control_characters(self, service: Service, admin: Person) -> None:
        for wrong in ({"name": ""}, {"name": "a\nb"}, {"name": "x" * 65}, {"description": "\u202eabc"},
                      {"description": "x" * 257}):  # fmt: skip
            body = {"name": "crm", "url": PUBLIC, "events": ["*"], **wrong}
            answer = await post(service, admin, "create-endpoint", body)
            assert code(answer) == "400 VALIDATION_ERROR"
            assert next(iter(wrong)) in answer.json()["message"]


@pytest.mark.operation("webhooks.update")
class TestUpdate:
    async def test_only_what_is_present_changes(self, service: Service, admin: Person) -> None:
        made = await create(service, admin, description="Contacts")
        before, secret = made["endpoint"], made["secret"]
        service.clock.advance(minutes=1)
        changes = {"name": "new", "description": None, "events": ["webhook.test"]}
        changed = (await post(service, admin, "update-endpoint", {"id": before["id"], **changes})).json()
        assert changed == {"endpoint": {**before, **changes, "updatedAt": "2026-01-01T12:01:00.000Z"}}
        assert [changed["endpoint"]] == await listed(service, admin)
        service.clock.advance(minutes=1)
        assert (
            await post(service, admin, "update-endpoint", {"id": before["id"], **changes})
        ).json() == changed
        [record] = await of_event(service, "webhook.endpoint_updated")
        assert record.details["fields"] == ["description", "events", "name"]
        [row] = await service.rows("SELECT secret FROM webhook_endpoint")
        assert service.services.cipher.decrypt(SECRET, bytes(row.secret)) == secret

    async def test_it_has_to_exist(self, service: Service, admin: Person) -> None:
        for path, body in calls().items():
            if body is not None and "id" in body:
                assert code(await post(service, admin, path, body)) == "404 ENDPOINT_NOT_FOUND", path

    async def test_only_the_service_disables_one(self, service: Service, admin: Person) -> None:
        endpoint = await create_id(service, admin)
        body = {"id": endpoint, "state": "disabled"}
        assert code(await post(service, admin, "update-endpoint", body)) == "400 VALIDATION_ERROR"

    @pytest.mark.both_databases
    @pytest.mark.parametrize("state", ["active", "disabled"])
    async def test_active_revives_it(self, service: Service, admin: Person, state: str) -> None:
        endpoint = await create_id(service, admin)
        await fail(service, endpoint, state=state)
        assert (await listed(service, admin))[0]["failingSince"] is not None

        await post(service, admin, "update-endpoint", {"id": endpoint, "name": "other"})
        assert (await listed(service, admin))[0]["failingSince"] is not None
        await post(service, admin, "update-endpoint", {"id": endpoint, "state": "active"})

        [found] = await listed(service, admin)
        assert (found["state"], found["failingSince"]) == ("active", None)
        [row] = await service.rows("SELECT failures, next_probe FROM webhook_endpoint")
        assert (row.failures, row.next_probe) == (0, None)

    async def test_another_url_begins_afresh_and_keeps_the_secret(
        self, service: Service, admin: Person
    ) -> None:
        made = await create(service, admin)
        await fail(service, made["endpoint"]["id"], state="disabled")

        body = {"id": made["endpoint"]["id"], "url": PUBLIC + "/new"}
        await post(service, admin, "update-endpoint", body)

        [row] = await service.rows("SELECT * FROM webhook_endpoint")
        assert (row.url, row.state, row.failures, row.next_probe) == (PUBLIC + "/new", "disabled", 0, None)
        assert service.services.cipher.decrypt(SECRET, bytes(row.secret)) == made["secret"]

    async def test_a_paused_one_gets_nothing_until_it_is_active(
        self, service: Service, admin: Person
    ) -> None:
        async with Receiver() as receiver:
            endpoint = await create_id(service, admin, url=receiver.url())
            await happen(service)
            await post(service, admin, "update-endpoint", {"id": endpoint, "state": "paused"})
            await attempt(service)
            assert not receiver.requests
            assert [one["state"] for one in await past(service, admin, endpoint)] == ["pending"]
            await happen(service)  # While it is paused, nothing is written for it.
            await post(service, admin, "update-endpoint", {"id": endpoint, "state": "active"})
            await attempt(service)

            assert len(receiver.requests) == 1
        assert [one["state"] for one in await past(service, admin, endpoint)] == ["delivered"]


@pytest.mark.operation("webhooks.remove")
async def test_a_deleted_one_gets_nothing_more(service: Service, admin: Person) -> None:
    async with Receiver() as receiver:
        endpoint = await create_id(service, admin, url=receiver.url())
        other = await create_id(service, admin, url=receiver.url())
        await happen(service)

        answer = await post(service, admin, "delete-endpoint", {"id": endpoint})
        assert answer.json() == {"success": True}
        await attempt(service)

        assert len(receiver.requests) == 1
    states = {row.endpoint_id: (row.state, row.ended_at is None) for row in await deliveries(service)}
    assert states == {endpoint: ("cancelled", False), other: ("delivered", False)}
    assert [one["id"] for one in await listed(service, admin)] == [other]
    assert code(await post(service, admin, "delete-endpoint", {"id": endpoint})) == "404 ENDPOINT_NOT_FOUND"
    [record] = await of_event(service, "webhook.endpoint_deleted")
    assert record.details["endpointId"] == endpoint


@pytest.mark.operation("webhooks.rotate_secret")
class TestRotateSecret:
    @pytest.mark.both_databases
    async def test_the_previous_one_signs_for_a_while(self, service: Service, admin: Person) -> None:
        async with Receiver() as receiver:
            made = await create(service, admin, url=receiver.url())
            which = {"id": made["endpoint"]["id"]}
            secrets = [made["secret"]]
            for _ in range(2):
                answer = (await post(service, admin, "rotate-secret", which)).json()
                assert answer["previousUntil"] == "2026-01-02T12:00:00.000Z"
                secrets.append(answer["secret"])
            await happen(service)
            await attempt(service)
            service.clock.advance(hours=24)
            await happen(service)
            await attempt(service)

        assert len(set(secrets)) == 3
        during, after = ([*_signers(request, secrets)] for request in receiver.requests)
        assert (during, after) == ([2, 1], [2])  # The oldest was dropped by the second rotation.

    async def test_a_secret_of_ones_own(self, service: Service, admin: Person) -> None:
        endpoint = await create_id(service, admin)
        answer = await post(service, admin, "rotate-secret", {"id": endpoint, "secret": OWN})
        assert answer.json()["secret"] == OWN
        answer = await post(service, admin, "rotate-secret", {"id": endpoint, "secret": OWN[:-4]})
        assert code(answer) == "400 VALIDATION_ERROR"

    async def test_without_overlap_the_previous_one_ends_at_once(self, make_service: MakeService) -> None:
        service = await make_service({**SETTINGS, "webhooks.secret_overlap": "0s"})
        admin = await add_person(service, "admin")
        endpoint = await create_id(service, admin)

        answer = await post(service, admin, "rotate-secret", {"id": endpoint})

        assert answer.json()["previousUntil"] is None
        [row] = await service.rows("SELECT previous_secret, previous_until FROM webhook_endpoint")
        assert (row.previous_secret, row.previous_until) == (None, None)


def _signers(request: Received, secrets: list[str]) -> Iterator[int]:
    """Yield the places of the secrets that signed a request, in the order of its signatures."""
    sent = request.headers
    moment = datetime.fromtimestamp(int(sent["webhook-timestamp"]), UTC)
    made = [Webhook(secret).sign(sent["webhook-id"], moment, request.body.decode()) for secret in secrets]
    for signature in sent["webhook-signature"].split(" "):
        yield made.index(signature)


@pytest.mark.threat("WH8")
@pytest.mark.both_databases
async def test_a_secret_is_shown_once_and_kept_encrypted(service: Service, log_stream: Any) -> None:
    admin = await add_person(service, "admin", "root@example.com")
    made = await create(service, admin)
    endpoint, shown = made["endpoint"]["id"], [made["secret"]]
    for given in (None, OWN):
        body = {"id": endpoint} if given is None else {"id": endpoint, "secret": given}
        shown.append((await post(service, admin, "rotate-secret", body)).json()["secret"])
    await post(
        service, admin, "create-endpoint", {"name": "x", "url": "wrong", "events": ["*"], "secret": OWN}
    )

    kept = [str(row) for row in await service.rows("SELECT * FROM webhook_endpoint")]
    answers = [(await call(service, path, body, admin.headers)).text for path, body in calls(endpoint).items()
               if path not in ("create-endpoint", "rotate-secret")]  # fmt: skip
    answers.append((await service.get("/admin/list-audit-events", headers=admin.headers)).text)
    records = [f"{record.event} {record.details}" for record in await trail(service)]
    seen = "".join((*answers, *kept, *records, log_stream.getvalue().decode()))
    for secret in shown:
        assert secret.removeprefix("whsec_") not in seen
        assert repr(base64.b64decode(secret.removeprefix("whsec_")))[2:-1] not in seen


async def test_a_previous_secret_is_encrypted(service: Service, admin: Person) -> None:
    made = await create(service, admin)
    await post(service, admin, "rotate-secret", {"id": made["endpoint"]["id"]})
    [row] = await service.rows("SELECT previous_secret FROM webhook_endpoint")
    assert service.services.cipher.decrypt(PREVIOUS_SECRET, bytes(row.previous_secret)) == made["secret"]


@pytest.mark.operation("webhooks.send_test")
class TestSendTest:
    async def test_it_is_sent_to_this_endpoint_alone(self, service: Service, admin: Person) -> None:
        async with Receiver() as receiver:
            endpoint = await create_id(service, admin, url=receiver.url("/one"), events=["webhook.*"])
            await create_id(service, admin, url=receiver.url("/two"))
            answer = await post(service, admin, "send-test", {"id": endpoint})
            await attempt(service)

        [request] = receiver.requests
        assert request.target == "/one"
        assert json.loads(request.body) == {
            "type": "webhook.test",
            "timestamp": "2026-01-01T12:00:00.000Z",
            "data": {"endpointId": endpoint, "actorId": admin.id},
        }
        [delivery] = await past(service, admin, endpoint)
        assert answer.json() == {"deliveryId": delivery["id"]}
        assert request.headers["webhook-id"] == f"msg_{delivery['eventId']}"

    async def test_an_endpoint_has_to_be_active(self, service: Service, admin: Person) -> None:
        endpoint = await create_id(service, admin)
        for state in ("paused", "disabled"):
            await fail(service, endpoint, state=state)
            answer = await post(service, admin, "send-test", {"id": endpoint})
            assert code(answer) == "400 ENDPOINT_NOT_ACTIVE"

    @pytest.mark.both_databases
    async def test_ten_in_a_minute(self, service: Service, admin: Person) -> None:
        endpoint = await create_id(service, admin)
        answers = [await post(service, admin, "send-test", {"id": endpoint}) for _ in range(11)]

        assert [answer.status_code for answer in answers] == [200] * 10 + [429]
        assert answers[-1].headers["retry-after"] == "60"
        service.clock.advance(seconds=60)
        assert (await post(service, admin, "send-test", {"id": endpoint})).status_code == 200


@pytest.mark.operation("webhooks.deliveries")
class TestDeliveries:
    @pytest.mark.both_databases
    async def test_newest_first_page_by_page(self, service: Service, admin: Person) -> None:
        async with Receiver() as receiver:
            endpoint = await create_id(service, admin, url=receiver.url())
            for _ in range(3):
                # Several at one moment.
                await happen(service, 2)
                service.clock.advance(seconds=1)
            await attempt(service)
        whole = await past(service, admin, endpoint)
        pages: list[Any] = []
        before: dict[str, str] = {}
        while page := await past(service, admin, endpoint, limit=4, **before):
            pages.append(page)
            before = {"before": page[-1]["id"]}

        assert [len(page) for page in pages] == [4, 2]
        assert [one for page in pages for one in page] == whole
        assert [one["createdAt"] for one in whole] == sorted(
            (one["createdAt"] for one in whole), reverse=True
        )
        assert {(one["type"], one["state"], one["attempts"], one["lastStatus"], one["lastError"], one["nextAttempt"])
                for one in whole} == {("webhook.test", "delivered", 1, 204, None, None)}  # fmt: skip
        assert whole[0]["deliveredAt"] == "2026-01-01T12:00:03.000Z"
        assert await past(service, admin, endpoint, state="failed") == []
        assert await past(service, admin, endpoint, state="delivered") == whole

    async def test_a_pending_one_says_when(self, service: Service, admin: Person) -> None:
        endpoint = await create_id(service, admin)
        await happen(service)
        [one] = await past(service, admin, endpoint, state="pending")
        assert (one["nextAttempt"], one["deliveredAt"]) == ("2026-01-01T12:00:00.000Z", None)

    @pytest.mark.threat("WH14")
    async def test_a_position_is_a_delivery_of_the_endpoint(self, service: Service, admin: Person) -> None:
        mine, other = [await create_id(service, admin) for _ in range(2)]
        await happen(service)
        [foreign] = await past(service, admin, other)
        for before in (foreign["id"], UNKNOWN):
            query = {"endpointId": mine, "before": before}
            answer = await service.get("/webhooks/list-deliveries", params=query, headers=admin.headers)
            assert code(answer) == "404 DELIVERY_NOT_FOUND"
        answer = await service.get(
            "/webhooks/list-deliveries", params={"endpointId": UNKNOWN}, headers=admin.headers
        )
        assert code(answer) == "404 ENDPOINT_NOT_FOUND"

    @pytest.mark.threat("WH5")
    async def test_nothing_of_an_answer_is_shown(self, service: Service, admin: Person) -> None:
        async with Receiver() as receiver:
            receiver.script += [respond(500, b"inner data", {"X-Inner": "inner data"})]
            endpoint = await create_id(service, admin, url=receiver.url())
            await happen(service)
            await attempt(service)
        answer = await service.get(
            "/webhooks/list-deliveries", params={"endpointId": endpoint}, headers=admin.headers
        )
        [one] = answer.json()["deliveries"]
        assert (one["lastStatus"], one["lastError"]) == (500, "status")
        assert "inner" not in answer.text
        await execute(service, "UPDATE webhook_endpoint SET url = 'https://10.0.0.1/'")
        await execute(service, "UPDATE delivery SET next_attempt = created_at")
        await attempt(service)
        [one] = await past(service, admin, endpoint)
        assert (one["lastStatus"], one["lastError"]) == (None, "refused_address")
        rows = await service.rows("SELECT * FROM delivery")
        assert "inner" not in str(rows) + str([record.details for record in await trail(service)])


@pytest.mark.operation("webhooks.get_delivery")
class TestGetDelivery:
    async def test_its_content_is_what_is_sent(self, service: Service, admin: Person) -> None:
        async with Receiver() as receiver:
            endpoint = await create_id(service, admin, url=receiver.url())
            await happen(service)
            [listed_one] = await past(service, admin, endpoint)
            query = {"endpointId": endpoint, "deliveryId": listed_one["id"]}
            answer = await service.get("/webhooks/get-delivery", params=query, headers=admin.headers)
            await attempt(service)

        whole = answer.json()
        assert whole["delivery"] == listed_one
        assert whole["payload"].encode() == receiver.requests[0].body
        await execute(service, "UPDATE webhook_event SET payload = NULL")
        answer = await service.get("/webhooks/get-delivery", params=query, headers=admin.headers)
        assert answer.json()["payload"] is None

    @pytest.mark.threat("WH14")
    async def test_it_is_one_of_the_endpoint(self, service: Service, admin: Person) -> None:
        mine, other = [await create_id(service, admin) for _ in range(2)]
        await happen(service)
        [foreign] = await past(service, admin, other)
        for endpoint, delivery, found in (
            (mine, foreign["id"], "DELIVERY_NOT_FOUND"),
            (mine, UNKNOWN, "DELIVERY_NOT_FOUND"),
            (UNKNOWN, foreign["id"], "ENDPOINT_NOT_FOUND"),
        ):
            query = {"endpointId": endpoint, "deliveryId": delivery}
            answer = await service.get("/webhooks/get-delivery", params=query, headers=admin.headers)
            assert code(answer) == f"404 {found}"


async def test_the_pending_deliveries_are_counted(service: Service, admin: Person) -> None:
    first, second = await create_id(service, admin), await create_id(service, admin, events=["user.*"])
    await happen(service, 3)

    assert {one["id"]: one["pending"] for one in await listed(service, admin)} == {first: 3, second: 0}
    answer = await post(service, admin, "update-endpoint", {"id": first, "state": "paused"})
    assert answer.json()["endpoint"]["pending"] == 3


@pytest.mark.operation("webhooks.redeliver")
class TestRedeliver:
    @pytest.mark.both_databases
    async def test_each_is_one_more_delivery_with_the_same_id(self, service: Service, admin: Person) -> None:
        async with Receiver() as receiver:
            endpoint = await create_id(service, admin, url=receiver.url())
            await happen(service)
            await attempt(service)
            [first] = await past(service, admin, endpoint)
            service.clock.advance(seconds=1)
            answers = await asyncio.gather(
                *(post(service, admin, "redeliver", {"deliveryId": first["id"]}) for _ in range(3))
            )
            await attempt(service)

        assert [answer.status_code for answer in answers] == [200] * 3
        ids = {answer.json()["deliveryId"] for answer in answers}
        found = await past(service, admin, endpoint)
        assert {one["id"] for one in found[:3]} == ids
        assert len({request.headers["webhook-id"] for request in receiver.requests}) == 1
        assert len({request.body for request in receiver.requests}) == 1
        assert (len(receiver.requests), {one["state"] for one in found}) == (4, {"delivered"})
        records = await of_event(service, "webhook.redelivered")
        assert [one.details["eventId"] for one in records] == [first["eventId"]] * 3

    async def test_not_without_its_content_or_endpoint(self, service: Service, admin: Person) -> None:
        endpoint = await create_id(service, admin)
        await happen(service)
        [one] = await past(service, admin, endpoint)
        again = {"deliveryId": one["id"]}
        await fail(service, endpoint, state="paused")
        assert code(await post(service, admin, "redeliver", again)) == "400 ENDPOINT_NOT_ACTIVE"
        await fail(service, endpoint)
        await execute(service, "UPDATE webhook_event SET payload = NULL")
        assert code(await post(service, admin, "redeliver", again)) == "400 PAYLOAD_EXPIRED"
        await post(service, admin, "delete-endpoint", {"id": endpoint})
        assert code(await post(service, admin, "redeliver", again)) == "404 DELIVERY_NOT_FOUND"
        unknown = await post(service, admin, "redeliver", {"deliveryId": UNKNOWN})
        assert code(unknown) == "404 DELIVERY_NOT_FOUND"
        assert len(await deliveries(service)) == 1


CONFIGURED = {
    "webhooks.endpoints": json.dumps(
        {
            "crm": {"url": PUBLIC, "secret": OWN, "events": ["*"], "description": "Contacts"},
            "billing": {"url": PUBLIC, "secret": OWN, "events": ["webhook.test"]},
        }
    )
}


class TestConfiguration:
    @pytest.mark.both_databases
    async def test_the_table_follows_it(self, make_service: MakeService) -> None:
        service = await make_service({**SETTINGS, **CONFIGURED})
        admin = await add_person(service, "admin")
        foreign = await create_id(service, admin, name="foreign")
        component = _component(service)

        # Two instances that start at once.
        await asyncio.gather(component.start(), component.start())
        found = {one["name"]: one for one in await listed(service, admin)}
        assert {name: (one["source"], one["state"]) for name, one in found.items()} == {
            "foreign": ("operation", "active"),
            "crm": ("config", "active"),
            "billing": ("config", "active"),
        }
        assert (found["crm"]["events"], found["crm"]["description"]) == (["*"], "Contacts")
        service.clock.advance(seconds=1)
        await component.start()
        assert {one["name"]: one for one in await listed(service, admin)} == found

        # Something else is configured.
        sealed = service.services.cipher.encrypt(SECRET, "whsec_" + "A" * 32)
        crm = found["crm"]["id"]
        await execute(
            service, "UPDATE webhook_endpoint SET secret = :sealed WHERE id = :id", sealed=sealed, id=crm
        )
        await execute(
            service,
            "UPDATE webhook_endpoint SET url = 'https://old', state = 'disabled' WHERE id = :id",
            id=crm,
        )
        await execute(service, "UPDATE webhook_endpoint SET source = 'config' WHERE id = :id", id=foreign)
        await happen(service)
        await component.start()

        found = {one["name"]: one for one in await listed(service, admin)}
        assert {name: (one["url"], one["state"]) for name, one in found.items()} == {
            "crm": (PUBLIC, "active"),
            "billing": (PUBLIC, "active"),
        }
        [row] = await service.rows(f"SELECT * FROM webhook_endpoint WHERE id = '{crm}'")
        assert service.services.cipher.decrypt(SECRET, bytes(row.secret)) == OWN
        decrypted = service.services.cipher.decrypt(PREVIOUS_SECRET, bytes(row.previous_secret))
        assert decrypted == "whsec_" + "A" * 32
        states = {row.endpoint_id: row.state for row in await deliveries(service)}
        assert states[foreign] == "cancelled"

    async def test_it_is_read_only_elsewhere(self, make_service: MakeService) -> None:
        service = await make_service({**SETTINGS, **CONFIGURED})
        admin = await add_person(service, "admin")
        await _component(service).start()
        [crm] = [one["id"] for one in await listed(service, admin) if one["name"] == "crm"]

        for path in ("update-endpoint", "rotate-secret", "delete-endpoint"):
            answer = await post(service, admin, path, {"id": crm, "name": "other"})
            assert code(answer) == "400 ENDPOINT_READ_ONLY", path
        assert (await post(service, admin, "send-test", {"id": crm})).status_code == 200
        shown = await service.get("/admin/list-settings", headers=admin.headers)
        assert OWN not in shown.text


def _component(service: Service) -> Webhooks:
    [component] = [one for one in service.services.components if isinstance(one, Webhooks)]
    return component
