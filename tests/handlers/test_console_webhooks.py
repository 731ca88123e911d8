"""Webhooks in the console: endpoints, their secrets, and what was sent to them."""

import json
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
from standardwebhooks import Webhook

from tests import webhooks
from tests.conftest import MakeService
from tests.handlers.pages import SETTINGS, Browser, Page, act_as, other_profile, recorded, send
from tests.handlers.steps import ADA, UNKNOWN, execute, join
from tests.handlers.test_console_user import ROOT, add, administrator
from tests.receiver import Receiver, respond
from tests.service import Service

LIST = "/console/webhooks"
NEW, SECRET = f"{LIST}/new", f"{LIST}/secret"
PUBLIC = "https://93.184.215.14/hook"
"""A URL that is allowed; nothing is sent there unless something is delivered."""
ROLES = '{"reader": {"user": ["get"]}}'
SCRIPT = "<script>alert(1)</script>"
USERS = {"event-user.*": "true"}
CONFIGURED = {
    "webhooks.endpoints.crm.url": PUBLIC,
    "webhooks.endpoints.crm.events": '["user.*"]',
    "webhooks.endpoints.crm.secret": "whsec_" + "c2VjcmV0" * 5,
}


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    return await make_service(
        {**SETTINGS, "limits.enabled": "false", "console.page_size": "10", "admin.roles": ROLES}
    )


@pytest.fixture
async def root(service: Service) -> Browser:
    return await administrator(service)


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with Receiver() as receiver:
        yield receiver


async def create(root: Browser, name: str = "crm", url: str = PUBLIC, **typed: str) -> str:
    """Create an endpoint with the form; return its secret."""
    await root.open(NEW)
    page = await root.submit(NEW, name=name, url=url, **(typed or USERS))
    assert page.path == SECRET, page.text
    return secret_of(page)


def secret_of(page: Page) -> str:
    found = re.search(r"whsec_[A-Za-z0-9+/=]+", page.text)
    assert found is not None, page.text
    return found[0]


async def path_of(service: Service, name: str = "crm") -> str:
    """Return the path of the page of an endpoint."""
    [(endpoint,)] = await service.rows("SELECT id FROM webhook_endpoint WHERE name = :name", name=name)
    return f"{LIST}/{endpoint}"


def links(page: Page, pattern: str) -> list[str]:
    """Return the texts of the links to pages of this kind, in their order."""
    return [text for text, target in page.links.items() if re.search(pattern, target)]


def names(page: Page) -> list[str]:
    """Return the names of the endpoints in a list."""
    return links(page, r"/webhooks/\w{32}$")


async def set_columns(service: Service, name: str = "crm", **columns: object) -> None:
    """Change columns of an endpoint."""
    assigned = ", ".join(f"{column} = :{column}" for column in columns)
    await execute(service, f"UPDATE webhook_endpoint SET {assigned} WHERE name = :of", of=name, **columns)


async def fail(service: Service, name: str = "crm") -> None:
    """Store that an endpoint is failing since now."""
    now = service.clock.now
    moment = int(now.timestamp() * 1000) if service.services.database.dialect == "sqlite" else now
    await set_columns(service, name, failures=5, failing_since=moment, next_probe=moment)


class TestCreation:
    @pytest.mark.operation(
        "console.webhooks.show_creation", "console.webhooks.create", "console.webhooks.show_secret"
    )
    async def test_an_endpoint_is_created(self, root: Browser, service: Service, receiver: Receiver) -> None:
        page = await root.open(LIST)
        assert "There are no endpoints yet." in page.text
        await root.open(page.links["Create an endpoint"])

        secret = await create(root, url=receiver.url(), description="Contacts", **USERS)

        row = await webhooks.endpoint(service)
        assert (row.name, row.url, row.description) == ("crm", receiver.url(), "Contacts")
        assert (json.loads(row.events), row.source, row.state) == (["user.*"], "operation", "active")
        with other_profile(service):
            await join(service, ADA)
        await webhooks.attempt(service)
        [request] = receiver.requests
        time = datetime.fromtimestamp(int(request.headers["webhook-timestamp"]), UTC)
        signed = Webhook(secret).sign(request.headers["webhook-id"], time, request.body.decode())
        assert request.headers["webhook-signature"] == signed
        assert json.loads(request.body)["data"]["user"]["email"] == ADA

    @pytest.mark.threat("C9")
    async def test_its_secret_is_shown_once(self, root: Browser, service: Service) -> None:
        secret = await create(root)
        answer = await service.get(SECRET)
        assert (secret in answer.text, answer.headers["cache-control"]) == (True, "no-store")

        for path in (LIST, await path_of(service), SECRET):
            assert secret not in (await service.get(path)).text
        assert (await root.open(SECRET)).path == LIST
        assert secret not in str(await service.rows("SELECT * FROM webhook_endpoint"))
        assert secret not in str(await service.rows("SELECT * FROM audit"))

    @pytest.mark.threat("C9")
    async def test_its_secret_is_gone_after_five_minutes(self, root: Browser, service: Service) -> None:
        secret = await create(root)
        service.clock.advance(minutes=5)

        answer = await service.get(SECRET)

        assert (answer.status_code, secret in answer.text) == (302, False)

    @pytest.mark.threat("C8")
    @pytest.mark.both_databases
    async def test_a_form_that_is_sent_twice_creates_one(self, root: Browser, service: Service) -> None:
        await root.open(NEW)
        seen = root.page
        await root.submit(NEW, name="crm", url=PUBLIC, **USERS)
        root.page = seen

        page = await root.submit(NEW, name="crm", url=PUBLIC, **USERS)

        assert (page.status, "so nothing was done" in page.text) == (422, True)
        assert await recorded(service, "webhook.endpoint_created") == 1

    @pytest.mark.parametrize(
        ("typed", "text"),
        [
            ({"url": "https://10.0.0.1/hook"}, "Requests cannot be sent to this URL."),
            ({"url": "https://user@example.com/"}, "Requests cannot be sent to this URL."),
            ({"url": "ftp://93.184.215.14/"}, "Requests cannot be sent to this URL."),
            ({"url": "https://93.184.215.14:22/"}, "Requests cannot be sent to this URL."),
            ({"name": ""}, "Enter a name."),
            ({"name": "x" * 65}, "This is too long."),
            ({"event-none.such": "true"}, "One of the events does not exist any more."),
        ],
    )
    async def test_wrong_fields_are_refused(
        self, make_service: MakeService, typed: dict[str, str], text: str
    ) -> None:
        service = await make_service({**SETTINGS, "limits.enabled": "false"})
        root = await administrator(service)
        await root.open(NEW)

        page = await root.submit(NEW, **{"name": "crm", "url": PUBLIC, **USERS, **typed})

        assert (page.status, text in page.text) == (422, True)
        assert "checked" in page.inputs["event-user.*"]
        assert not await service.rows("SELECT id FROM webhook_endpoint")

    async def test_an_event_has_to_be_chosen(self, root: Browser) -> None:
        await root.open(NEW)

        page = await root.submit(NEW, name="crm", url=PUBLIC)

        assert (page.status, "Choose 1 to 50 events." in page.text) == (422, True)

    async def test_there_are_no_more_than_configured(self, make_service: MakeService) -> None:
        service = await make_service({**SETTINGS, "limits.enabled": "false", "webhooks.max_endpoints": "1"})
        root = await administrator(service)
        await root.open(NEW)
        form = root.page.form(NEW).fields
        await create(root)

        assert "as many endpoints as are allowed" in (await root.open(NEW)).text
        seen = dict(form, name="other", url=PUBLIC, **USERS)
        assert (await send(service, NEW, **seen)).status_code == 422
        assert await recorded(service, "webhook.endpoint_created") == 1


@pytest.mark.operation("console.webhooks.show_list")
class TestList:
    async def test_it_shows_all_of_them(self, root: Browser, service: Service) -> None:
        await create(root, "crm")
        service.clock.advance(minutes=1)
        await create(root, "billing", "https://93.184.215.14:443/private?token=1", **{"event-*": "true"})
        await execute(service, "UPDATE webhook_endpoint SET source = 'config' WHERE name = 'billing'")
        await webhooks.happen(service, 3)

        page = await root.open(LIST)

        assert names(page) == ["crm", "billing"]
        for text in ("93.184.215.14", "user.*", "Active", "From the configuration", "3"):
            assert text in page.text
        assert "/private" not in page.text

    @pytest.mark.parametrize(
        ("query", "expected"),
        [
            ("state=active", ["first"]),
            ("state=failing", ["second"]),
            ("state=paused", ["third"]),
            ("state=disabled", ["fourth"]),
            ("search=IR", ["first", "third"]),
            ("search=93.184", ["first", "second", "third", "fourth"]),
            ("search=%25", []),
            ("search=first&state=paused", []),
        ],
    )
    async def test_it_filters(self, root: Browser, service: Service, query: str, expected: list[str]) -> None:
        for name in ("first", "second", "third", "fourth"):
            await create(root, name)
            service.clock.advance(minutes=1)
        await fail(service, "second")
        await set_columns(service, "third", state="paused")
        await set_columns(service, "fourth", state="disabled")

        page = await root.open(f"{LIST}?{query}")

        assert (page.status, names(page)) == (200, expected)
        assert ("No endpoint matches." in page.text) == (not expected)

    async def test_pages_lead_forth_and_back(self, root: Browser, service: Service) -> None:
        for number in range(23):
            await webhooks.add_endpoint(service, PUBLIC, name=f"receiver{number:02}")
        page = await root.open(LIST)
        seen = [names(page)]
        while "Next" in page.links:
            page = await root.open(page.links["Next"])
            seen.append(names(page))
        assert [len(each) for each in seen] == [10, 10, 3]
        assert len({name for each in seen for name in each}) == 23

        back = [names(page)]
        while "Previous" in page.links:
            page = await root.open(page.links["Previous"])
            back.append(names(page))
        assert back == seen[::-1]

    @pytest.mark.threat("C6")
    @pytest.mark.parametrize(
        ("query", "name"),
        [("state=perhaps", "state"), ("search=a&search=b", "search"), ("search=%00", "search"),
         ("search=" + "x" * 255, "search"), ("after=WyJjcmVhdGVkIiwxXQ", "after"), ("before=-1.k", "before"),
         ("after=1.k&before=1.k", "before")],
    )  # fmt: skip
    async def test_a_query_that_no_page_made_is_refused_by_name(
        self, root: Browser, service: Service, query: str, name: str
    ) -> None:
        await create(root)
        for path in (LIST, await path_of(service)):
            if path != LIST and name == "search":
                continue
            page = await root.open(f"{path}?{query}")

            assert page.status == 400
            assert re.search(rf"\b{name}\b", page.text)

    async def test_the_search_finds_one(self, root: Browser, service: Service) -> None:
        await create(root, "billing system")

        assert (await root.open("/console/search?search=billing")).path == await path_of(
            service, "billing system"
        )

    async def test_the_overview_counts_what_fails(self, root: Browser, service: Service) -> None:
        for name in ("one", "two", "three"):
            await create(root, name)
        await fail(service, "one")
        await set_columns(service, "two", state="disabled")

        page = await root.open("/console")

        assert "Webhook endpoints 3 Failing 1 Disabled 1" in page.text


class TestWho:
    @pytest.mark.threat("C1", "WH14")
    async def test_it_needs_the_permission(self, root: Browser, service: Service) -> None:
        await create(root)
        endpoint = await path_of(service)
        browser = await administrator(service, "reader", "reader@example.com")

        assert "Webhooks" not in (await browser.open("/console")).links
        for path in (
            LIST,
            NEW,
            SECRET,
            endpoint,
            f"{endpoint}/edit",
            f"{endpoint}/delete",
            f"{endpoint}/pause",
        ):
            assert (await browser.open(path)).status == 403
        form = {"account": "reader@example.com", "once": "x", "typedName": "crm", "name": "x", "url": PUBLIC}
        for path in ("edit", "pause", "resume", "rotate-secret", "send-test", "delete"):
            assert (await send(service, f"{endpoint}/{path}", **form, **USERS)).status_code == 403
        row = await webhooks.endpoint(service)
        assert (row.name, row.state) == ("crm", "active")

    @pytest.mark.threat("C10", "WH14")
    async def test_it_is_closed_in_the_name_of_a_user(self, make_service: MakeService) -> None:
        service = await make_service(
            {**SETTINGS, "limits.enabled": "false", "admin.impersonation.enabled": "true"}
        )
        await add(service, ADA)
        await act_as(service)

        assert (await service.get(LIST)).status_code == 403

    @pytest.mark.parametrize(
        "settings",
        [{"webhooks.enabled": "false"}, {"webhooks.management": "cli"}, {"console.enabled": "false"}],
    )
    async def test_it_exists_only_if_administrators_manage_webhooks(
        self, make_service: MakeService, settings: dict[str, str]
    ) -> None:
        service = await make_service({**SETTINGS, **settings})
        root = await administrator(service)

        for path in (LIST, NEW, SECRET, f"{LIST}/{UNKNOWN}"):
            assert (await root.open(path)).status == 404
        assert "Webhooks" not in (await root.open("/console")).text

    @pytest.mark.threat("C2", "WH14")
    async def test_changes_need_a_fresh_session(self, root: Browser, service: Service) -> None:
        await create(root)
        endpoint = await path_of(service)
        forms = {}
        for act in ("edit", "pause", "rotate-secret", "delete"):
            forms[f"{endpoint}/{act}"] = (
                (await root.open(f"{endpoint}/{act}")).form(f"{endpoint}/{act}").fields
            )
        forms[NEW] = (await root.open(NEW)).form(NEW).fields
        service.clock.advance(days=2)

        for path, fields in forms.items():
            assert (await root.open(path)).path.startswith("/account/confirm"), path
            typed = {**fields, "name": "other", "url": PUBLIC, "typedName": "crm", **USERS}
            answer = await send(service, path, **typed)
            assert answer.headers["location"].startswith("/account/confirm"), path
        row = await webhooks.endpoint(service)
        assert (row.name, row.state) == ("crm", "active")
        assert await recorded(service, "webhook.secret_rotated") == 0


class TestEndpoint:
    @pytest.mark.operation("console.webhook.show", "console.webhook.show_edit", "console.webhook.update")
    async def test_it_is_changed(self, root: Browser, service: Service) -> None:
        await create(root, description="Contacts", **USERS)
        endpoint = await path_of(service)
        page = await root.open(endpoint)
        assert PUBLIC in page.text
        page = await root.open(page.links["Edit"])
        assert [name for name, one in page.inputs.items() if "checked" in one] == ["event-user.*"]

        page = await root.submit(
            f"{endpoint}/edit", name="billing", description="", **{"event-session.created": "true"}
        )

        assert (page.path, "The endpoint is saved." in page.text) == (endpoint, True)
        row = await webhooks.endpoint(service)
        assert (row.name, row.url, row.description) == ("billing", PUBLIC, None)
        assert set(json.loads(row.events)) == {"user.*", "session.created"}

    async def test_what_is_the_same_is_not_changed(self, root: Browser, service: Service) -> None:
        await create(root)
        endpoint = await path_of(service)
        await root.open(f"{endpoint}/edit")

        assert (await root.submit(f"{endpoint}/edit")).path == endpoint
        assert await recorded(service, "webhook.endpoint_updated") == 0

    @pytest.mark.threat("C8")
    async def test_the_second_of_two_administrators_is_told(self, root: Browser, service: Service) -> None:
        await create(root)
        endpoint = await path_of(service)
        await root.open(f"{endpoint}/edit")
        seen = root.page
        await root.submit(f"{endpoint}/edit", name="first")
        root.page = seen

        page = await root.submit(f"{endpoint}/edit", name="second")

        assert (page.status, "so nothing was done" in page.text) == (422, True)
        root.page = seen
        assert (await root.submit(f"{endpoint}/edit", name="first")).path == endpoint
        assert await recorded(service, "webhook.endpoint_updated") == 1

    async def test_failures_do_not_make_a_form_stale(self, root: Browser, service: Service) -> None:
        await create(root)
        endpoint = await path_of(service)
        await root.open(f"{endpoint}/edit")
        await fail(service)
        await set_columns(service, updated_at=(await webhooks.endpoint(service)).created_at)

        assert (await root.submit(f"{endpoint}/edit", name="other")).path == endpoint

    @pytest.mark.operation("console.webhook.show_pausing", "console.webhook.pause", "console.webhook.resume")
    async def test_it_is_paused_and_resumed(self, root: Browser, service: Service) -> None:
        await create(root, **{"event-*": "true"})
        await webhooks.happen(service)
        endpoint = await path_of(service)
        page = await root.open(endpoint)
        await root.open(page.links["Pause"])

        page = await root.submit(f"{endpoint}/pause")

        assert "The endpoint is paused." in page.text
        assert "Send a test" not in page.text
        [delivery] = await webhooks.deliveries(service)
        assert delivery.state == "pending"
        seen = page
        page = await root.submit(f"{endpoint}/resume")
        assert "The endpoint is active." in page.text
        root.page = seen
        await root.submit(f"{endpoint}/resume")
        assert await recorded(service, "webhook.endpoint_updated") == 2

    @pytest.mark.parametrize(("state", "label"), [("disabled", "Enable again"), ("active", "Try now")])
    async def test_it_is_revived(self, root: Browser, service: Service, state: str, label: str) -> None:
        await create(root)
        await fail(service)
        await set_columns(service, state=state)
        endpoint = await path_of(service)
        page = await root.open(endpoint)
        assert label in page.text

        await root.submit(f"{endpoint}/resume")

        row = await webhooks.endpoint(service)
        assert (row.state, row.failures, row.failing_since, row.next_probe) == ("active", 0, None, None)

    @pytest.mark.operation("console.webhook.show_rotation", "console.webhook.rotate_secret")
    @pytest.mark.threat("C8", "C9")
    async def test_its_secret_is_replaced_once(self, root: Browser, service: Service) -> None:
        first = await create(root)
        endpoint = await path_of(service)
        page = await root.open(endpoint)
        await root.open(page.links["Replace the secret"])
        seen = root.page

        page = await root.submit(f"{endpoint}/rotate-secret")

        second = secret_of(page)
        assert (page.path, second != first) == (SECRET, True)
        assert "signed with the previous secret, too" in page.text
        root.page = seen
        page = await root.submit(f"{endpoint}/rotate-secret")
        assert (page.status, "so nothing was done" in page.text) == (422, True)
        assert await recorded(service, "webhook.secret_rotated") == 1
        page = await root.open(endpoint)
        assert "signed with the previous secret, too" in page.text
        assert second not in page.text

    @pytest.mark.operation("console.webhook.show_deletion", "console.webhook.delete")
    @pytest.mark.threat("C8")
    async def test_it_is_deleted_once(self, root: Browser, service: Service) -> None:
        await create(root, **{"event-*": "true"})
        await webhooks.happen(service, 2)
        endpoint = await path_of(service)
        page = await root.open(f"{endpoint}/delete")
        assert "2 pending deliveries are canceled." in page.text
        page = await root.submit(f"{endpoint}/delete", typedName="other")
        assert (page.status, "This is not the name of the endpoint." in page.text) == (422, True)
        seen = page

        page = await root.submit(f"{endpoint}/delete", typedName="crm")

        assert (page.path, "The endpoint is deleted." in page.text) == (LIST, True)
        root.page = seen
        page = await root.submit(f"{endpoint}/delete", typedName="crm")
        assert "This endpoint no longer exists." in page.text
        assert await recorded(service, "webhook.endpoint_deleted") == 1
        assert {one.state for one in await webhooks.deliveries(service)} == {"cancelled"}

    async def test_one_from_the_configuration_is_only_shown(self, make_service: MakeService) -> None:
        service = await make_service({**SETTINGS, "limits.enabled": "false"})
        root = await administrator(service)
        await webhooks.add_endpoint(service, PUBLIC, name="crm", source="config")
        endpoint = await path_of(service)

        page = await root.open(endpoint)

        assert "Send a test" in page.text
        for label in ("Edit", "Pause", "Replace the secret", "Delete the endpoint"):
            assert label not in page.links
        for act in ("edit", "pause", "rotate-secret", "delete"):
            assert "comes from the configuration" in (await root.open(f"{endpoint}/{act}")).text
            form = {"account": ROOT, "name": "x", "url": PUBLIC, "typedName": "crm", **USERS}
            answer = await send(service, f"{endpoint}/{act}", **form)
            assert answer.status_code == 422, act
        assert (await webhooks.endpoint(service)).name == "crm"

    async def test_an_unknown_one_is_not_found(self, root: Browser) -> None:
        page = await root.open(f"{LIST}/{UNKNOWN}")

        assert (page.status, "There is no such endpoint." in page.text) == (404, True)
        assert (await root.open(f"{LIST}/{UNKNOWN}/edit")).path == LIST

    @pytest.mark.threat("C4")
    async def test_what_others_have_set_is_text(self, root: Browser, service: Service) -> None:
        await create(root, name=SCRIPT, description=SCRIPT, **{"event-*": "true"})
        await webhooks.happen(service)
        endpoint = await path_of(service, SCRIPT)
        await execute(service, "UPDATE delivery SET last_error = 'x\"><b>y', last_status = 999")
        await execute(service, "UPDATE webhook_event SET type = :script", script=SCRIPT)
        await set_columns(service, SCRIPT, url=f"https://{SCRIPT}/", events=json.dumps([SCRIPT]))
        [delivery] = await webhooks.deliveries(service)

        for path in (
            LIST, endpoint, *(f"{endpoint}/{act}" for act in ("edit", "pause", "rotate-secret", "delete")),
            f"{endpoint}/deliveries/{delivery.id}", "/console/search?search=script",
        ):  # fmt: skip
            answer = await service.get(path)
            assert (path, answer.status_code in (200, 302)) == (path, True)
            assert SCRIPT not in answer.text
            assert "<b>y" not in answer.text


class TestDeliveries:
    async def test_they_are_shown_with_what_became_of_them(
        self, root: Browser, service: Service, receiver: Receiver
    ) -> None:
        receiver.script += [respond(503), respond(204)]
        await create(root, url=receiver.url(), **{"event-*": "true"})
        await webhooks.happen(service)
        await webhooks.attempt(service)
        endpoint = await path_of(service)

        page = await root.open(endpoint)
        assert (
            "webhook.test Pending 503 1 in 5 seconds" in page.text
            or "webhook.test Pending 503 1" in page.text
        )
        webhooks.later(service, seconds=7)
        await webhooks.attempt(service)
        page = await root.open(endpoint)

        assert "webhook.test Delivered 204 2" in page.text

    async def test_errors_are_fixed_words(self, root: Browser, service: Service) -> None:
        async with Receiver() as gone:
            url = gone.url()
        await create(root, url=url, **{"event-*": "true"})
        await webhooks.happen(service)
        await webhooks.attempt(service)

        page = await root.open(await path_of(service))

        assert "webhook.test Pending No connection 1" in page.text

    async def test_they_are_filtered_by_state(self, root: Browser, service: Service) -> None:
        await create(root, **{"event-*": "true"})
        endpoint = await path_of(service)
        for state in ("pending", "delivered", "failed", "cancelled"):
            assert "No delivery matches." in (await root.open(f"{endpoint}?state={state}")).text
        await webhooks.happen(service, 4)
        ids = [one.id for one in await webhooks.deliveries(service)]
        for id_, state in zip(ids, ("pending", "delivered", "failed", "cancelled"), strict=True):
            await execute(service, "UPDATE delivery SET state = :state WHERE id = :id", state=state, id=id_)

        for id_, state in zip(ids, ("pending", "delivered", "failed", "cancelled"), strict=True):
            page = await root.open(f"{endpoint}?state={state}")
            assert page.links["webhook.test"] == f"{endpoint}/deliveries/{id_}"
            assert len([target for target in page.targets if "/deliveries/" in target]) == 1

    @pytest.mark.both_databases
    async def test_pages_lead_forth_and_back(self, root: Browser, service: Service) -> None:
        await create(root, **{"event-*": "true"})
        await webhooks.happen(service, 23)
        page = await root.open(f"{await path_of(service)}?state=pending")

        def shown() -> set[str]:
            return {target for target in page.targets if "/deliveries/" in target}

        seen = [shown()]
        while "Older" in page.links:
            page = await root.open(page.links["Older"])
            seen.append(shown())
        assert [len(each) for each in seen] == [10, 10, 3]
        assert len(set.union(*seen)) == 23

        back = [shown()]
        while "Newer" in page.links:
            page = await root.open(page.links["Newer"])
            back.append(shown())
        assert back == seen[::-1]

    @pytest.mark.operation("console.webhook_deliveries.send_test", "console.webhook_deliveries.show")
    @pytest.mark.threat("C8")
    async def test_a_test_is_sent_once_for_each_form(
        self, root: Browser, service: Service, receiver: Receiver
    ) -> None:
        await create(root, url=receiver.url())
        endpoint = await path_of(service)
        await root.open(endpoint)
        seen = root.page

        page = await root.submit(f"{endpoint}/send-test")

        assert "The test event is on its way." in page.text
        assert "webhook.test Pending" in page.text
        root.page = seen
        assert (await root.submit(f"{endpoint}/send-test")).path == page.path
        await webhooks.attempt(service)
        assert len(receiver.requests) == 1
        page = await root.open(page.path)
        assert "webhook.test Delivered" in page.text
        assert json.loads(receiver.requests[0].body)["data"]["endpointId"] in page.text
        await root.open(endpoint)
        await root.submit(f"{endpoint}/send-test")
        await webhooks.attempt(service)
        assert len(receiver.requests) == 2

    @pytest.mark.operation("console.webhook_deliveries.redeliver")
    @pytest.mark.threat("C8")
    @pytest.mark.both_databases
    async def test_an_event_is_sent_again_once_for_each_form(
        self, root: Browser, service: Service, receiver: Receiver
    ) -> None:
        await create(root, url=receiver.url(), **{"event-*": "true"})
        await webhooks.happen(service)
        await webhooks.attempt(service)
        endpoint = await path_of(service)
        page = await root.open(endpoint)
        page = await root.open(page.links["webhook.test"])
        past, seen = page.path, page

        page = await root.submit(past)

        assert (page.path != past, "The event is on its way again." in page.text) == (True, True)
        root.page = seen
        assert (await root.submit(past)).path == page.path
        await webhooks.attempt(service)
        first, second = receiver.requests
        assert first.headers["webhook-id"] == second.headers["webhook-id"]
        assert first.headers["webhook-id"] in page.text
        assert await recorded(service, "webhook.redelivered") == 1

    async def test_an_erased_content_is_not_sent_again(self, root: Browser, service: Service) -> None:
        await create(root, **{"event-*": "true"})
        await webhooks.happen(service)
        page = await root.open(await path_of(service))
        page = await root.open(page.links["webhook.test"])
        form, path = page.form(page.path).fields, page.path
        await execute(service, "UPDATE webhook_event SET payload = NULL")

        page = await root.open(path)

        assert "It is erased" in page.text
        assert "Send again" not in page.text
        answer = await send(service, path, **form)
        assert (answer.status_code, "cannot be sent again" in answer.text) == (422, True)

    async def test_one_of_another_endpoint_is_not_found(self, root: Browser, service: Service) -> None:
        await create(root, "crm", **{"event-*": "true"})
        await webhooks.happen(service)
        await create(root, "other")
        [delivery] = await webhooks.deliveries(service)
        other = await path_of(service, "other")

        for path in (f"{other}/deliveries/{delivery.id}", f"{other}/deliveries/{UNKNOWN}"):
            assert (await root.open(path)).status == 404
            assert (await send(service, path, account=ROOT, once="x")).status_code == 404

    @pytest.mark.parametrize("state", ["paused", "disabled"])
    async def test_nothing_is_sent_to_one_that_is_not_active(
        self, root: Browser, service: Service, state: str
    ) -> None:
        await create(root)
        endpoint = await path_of(service)
        form = (await root.open(endpoint)).form(f"{endpoint}/send-test").fields
        await set_columns(service, state=state)

        answer = await send(service, f"{endpoint}/send-test", **form)

        assert (answer.status_code, "because it is paused or disabled" in answer.text) == (422, True)
        assert await webhooks.deliveries(service) == []

    async def test_there_are_ten_tests_in_a_minute(self, make_service: MakeService) -> None:
        service = await make_service(SETTINGS)
        await administrator(service)
        await webhooks.add_endpoint(service, PUBLIC, name="crm")
        endpoint = await path_of(service)
        statuses = []
        for number in range(11):
            answer = await send(service, f"{endpoint}/send-test", account=ROOT, once=str(number))
            statuses.append(answer.status_code)

        assert statuses == [303] * 10 + [429]


@pytest.mark.parametrize("language", ["de", "fr", "es", "pt-BR", "ar"])
async def test_every_language_has_the_texts(root: Browser, service: Service, language: str) -> None:
    await create(root, **{"event-*": "true"})
    await webhooks.happen(service)
    endpoint = await path_of(service)
    [delivery] = await webhooks.deliveries(service)
    acts = [f"{endpoint}/{act}" for act in ("edit", "pause", "rotate-secret", "delete")]

    for path in (LIST, NEW, endpoint, *acts, f"{endpoint}/deliveries/{delivery.id}"):
        page = await root.open(f"{path}?ui_locales={language}")
        assert (page.status, page.language) == (200, language)
        assert not re.search(r"\b(Pending|Deliveries|Attempts|secret signs)\b", page.text)
