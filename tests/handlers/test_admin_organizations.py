"""The operations of openapi/paths/admin_organizations.yaml."""

import csv
import io
from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from tests.conftest import MakeService
from tests.handlers.pages import recorded
from tests.handlers.people import Person, add_person
from tests.handlers.steps import UNKNOWN, code, execute, set_user, works
from tests.service import Service
from tests.trail import of_event

SETTINGS = {
    "limits.enabled": "false",
    "organizations.enabled": "true",
    "organizations.teams.enabled": "true",
    "admin.roles": '{"support": {"user": ["list", "get"]}, "clerk": {"organization": ["manage"]}}',
}
READS = ("list-organizations", "export-organizations", "get-organization", "list-organization-members",
         "list-organization-events")  # fmt: skip


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    return await make_service(SETTINGS)


@pytest.fixture
async def admin(service: Service) -> Person:
    """An administrator, who is a member of no organization."""
    return await add_person(service, "admin", "root@example.com")


@pytest.fixture
async def owner(service: Service) -> Person:
    return await add_person(service, email="ada@example.com")


@pytest.fixture
async def acme(service: Service, owner: Person) -> str:
    """The id of an organization."""
    return await create(service, owner, "Acme")


async def post(service: Service, by: Person, path: str, body: Mapping[str, Any]) -> httpx.Response:
    return await service.post(path, body, headers=by.headers)


async def create(service: Service, by: Person, name: str, slug: str = "") -> str:
    """Create an organization; return its id."""
    body = {"name": name, "slug": slug or name.lower()}
    answer = await post(service, by, "/organization/create", body)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["id"])


async def join(service: Service, admin: Person, organization: str, user: Person, role: str = "member") -> str:
    """Make a user a member; return the id of the membership."""
    body = {"organizationId": organization, "userId": user.id, "role": role}
    answer = await post(service, admin, "/organization/add-member", body)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["id"])


async def invite(service: Service, by: Person, organization: str, email: str) -> str:
    """Invite an address; return the id of the invitation."""
    body = {"organizationId": organization, "email": email, "role": "member"}
    answer = await post(service, by, "/organization/invite-member", body)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["id"])


async def read(service: Service, by: Person, name: str, **query: str) -> Any:
    answer = await service.get(f"/admin/{name}", params=query, headers=by.headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


def slugs(body: Any) -> list[str]:
    return [row["slug"] for row in body["organizations"]]


def writes(organization: str, member: str = UNKNOWN, invitation: str = UNKNOWN) -> dict[str, dict[str, Any]]:
    """Return the paths of the operations that change something, and a body of each."""
    of = {"organizationId": organization}
    return {
        "/admin/update-organization": {**of, "data": {"name": "Changed"}},
        "/admin/set-organization-member-role": {**of, "memberId": member, "role": "owner"},
        "/admin/remove-organization-member": {**of, "memberId": member},
        "/admin/cancel-organization-invitation": {**of, "invitationId": invitation},
        "/admin/delete-organization": of,
    }


@pytest.mark.operation("admin_organizations.list_all")
@pytest.mark.both_databases
class TestList:
    async def test_pages_lead_forth_and_back(self, service: Service, admin: Person, owner: Person) -> None:
        for number in range(12):
            await create(service, owner, f"Team {number:02}", f"team-{number:02}")

        first = await read(service, admin, "list-organizations", limit="5")
        second = await read(service, admin, "list-organizations", limit="5", after=first["next"])
        third = await read(service, admin, "list-organizations", limit="5", after=second["next"])
        again = await read(service, admin, "list-organizations", limit="5", before=third["previous"])

        assert [len(slugs(page)) for page in (first, second, third)] == [5, 5, 2]
        assert len({*slugs(first), *slugs(second), *slugs(third)}) == 12
        assert (slugs(again), again["previous"] is None) == (slugs(second), False)
        assert (first["previous"], third["next"], first["total"], first["totalCapped"]) == (
            None,
            None,
            12,
            False,
        )

    async def test_it_compares_the_text_and_every_filter(
        self, service: Service, admin: Person, owner: Person, acme: str
    ) -> None:
        service.clock.advance(minutes=1)
        other = await create(service, admin, "Öl & Söhne", "oil")
        await execute(
            service, "UPDATE member SET is_owner = :no WHERE organization_id = :id", no=False, id=other
        )

        for query, expected in (
            ({}, ["oil", "acme"]),
            ({"search": "CM"}, ["acme"]),
            ({"search": "öl &"}, ["oil"]),
            ({"search": acme}, ["acme"]),
            ({"search": "%"}, []),
            ({"search": " "}, ["oil", "acme"]),
            ({"member": "ADA@example.com"}, ["acme"]),
            ({"member": owner.id, "search": "oil"}, []),
            ({"member": "nobody"}, []),
            ({"withoutOwner": "true"}, ["oil"]),
            ({"withoutOwner": "false"}, ["oil", "acme"]),
        ):
            assert (query, slugs(await read(service, admin, "list-organizations", **query))) == (
                query,
                expected,
            )

    @pytest.mark.parametrize(
        ("query", "field"),
        [({"after": "x"}, "after"), ({"after": "99999999999999.x", "before": "1.x"}, "before"),
         ({"limit": "0"}, "limit"), ({"withoutOwner": "perhaps"}, "withoutOwner"), ({"search": "\0"}, "search")],
    )  # fmt: skip
    async def test_a_malformed_parameter_is_named(
        self, service: Service, admin: Person, query: dict[str, str], field: str
    ) -> None:
        answer = await service.get("/admin/list-organizations", params=query, headers=admin.headers)

        assert code(answer) == "400 VALIDATION_ERROR"
        assert [each["name"] for each in answer.json()["fields"]] == [field]


@pytest.mark.operation("admin_organizations.export")
@pytest.mark.threat("ADM25")
async def test_the_export_has_a_line_for_each(service: Service, admin: Person, acme: str) -> None:
    await execute(service, "UPDATE organization SET name = :name", name="=1+1")

    answer = await service.get("/admin/export-organizations?search=acme", headers=admin.headers)

    [line] = csv.DictReader(io.StringIO(answer.text.removeprefix("\ufeff")))
    assert (line["id"], line["name"], line["slug"], line["memberCount"]) == (acme, "'=1+1", "acme", "1")
    [details] = [each.details for each in await of_event(service, "admin.exported")]
    assert (details["filters"], details["rows"]) == ({"search": "acme"}, 1)


class TestOne:
    @pytest.mark.operation("admin_organizations.get")
    @pytest.mark.both_databases
    async def test_it_has_its_pending_invitations_and_teams(
        self, service: Service, admin: Person, owner: Person, acme: str
    ) -> None:
        sent = await invite(service, owner, acme, "bob@example.com")

        body = await read(service, admin, "get-organization", organizationId=acme)

        assert (body["name"], body["memberCount"]) == ("Acme", 1)
        assert [each["id"] for each in body["invitations"]] == [sent]
        assert [each["name"] for each in body["teams"]] == ["Acme"]
        service.clock.advance(days=3)
        assert (await read(service, admin, "get-organization", organizationId=acme))["invitations"] == []

    @pytest.mark.operation("admin_organizations.list_members")
    @pytest.mark.both_databases
    async def test_its_members_are_listed_page_by_page(
        self, service: Service, admin: Person, owner: Person, acme: str
    ) -> None:
        for number in range(4):
            service.clock.advance(minutes=1)
            user = await add_person(service, email=f"user{number}@example.com")
            await join(service, admin, acme, user)

        first = await read(service, admin, "list-organization-members", organizationId=acme, limit="3")
        second = await read(
            service, admin, "list-organization-members", organizationId=acme, limit="3", after=first["next"]
        )
        again = await read(
            service, admin, "list-organization-members", organizationId=acme, before=second["previous"]
        )

        emails = [
            [row["user"]["email"].partition("@")[0] for row in page["members"]] for page in (first, second)
        ]
        assert emails == [["ada", "user0", "user1"], ["user2", "user3"]]
        assert (again["members"], second["next"], again["previous"]) == (first["members"], None, None)
        found = await read(service, admin, "list-organization-members", organizationId=acme, search="USER3")
        assert [row["role"] for row in found["members"]] == ["member"]

    @pytest.mark.operation("admin_organizations.list_events")
    @pytest.mark.both_databases
    async def test_its_events_are_listed(
        self, service: Service, admin: Person, owner: Person, acme: str
    ) -> None:
        await create(service, owner, "Other")
        service.clock.advance(minutes=1)
        bob = await add_person(service, email="bob@example.com")
        await join(service, admin, acme, bob)

        first = await read(service, admin, "list-organization-events", organizationId=acme, limit="1")
        second = await read(
            service, admin, "list-organization-events", organizationId=acme, cursor=first["nextCursor"]
        )

        assert [(event["event"], event["actorId"]) for event in first["events"]] == [
            ("member.added", admin.id)
        ]
        assert {event["event"] for event in second["events"]} == {
            "organization.created",
            "team.created",
            "team_member.added",
        }
        assert second["nextCursor"] is None

    async def test_an_unknown_one_is_not_found(self, service: Service, admin: Person, acme: str) -> None:
        for name in ("get-organization", "list-organization-members"):
            answer = await service.get(f"/admin/{name}?organizationId={UNKNOWN}", headers=admin.headers)
            assert code(answer) == "404 ORGANIZATION_NOT_FOUND"
        for path, body in writes(UNKNOWN).items():
            assert (path, code(await post(service, admin, path, body))) == (
                path,
                "404 ORGANIZATION_NOT_FOUND",
            )


@pytest.mark.both_databases
class TestChanges:
    @pytest.mark.operation("admin_organizations.update")
    async def test_fields_are_changed(
        self, service: Service, admin: Person, owner: Person, acme: str
    ) -> None:
        await create(service, owner, "Other")

        async def update(**data: Any) -> httpx.Response:
            body = {"organizationId": acme, "data": data}
            return await post(service, admin, "/admin/update-organization", body)

        changed = (await update(name="Acme Inc.", slug="ACME-2", metadata={"plan": "pro"})).json()

        assert (changed["name"], changed["slug"], changed["metadata"]) == (
            "Acme Inc.",
            "acme-2",
            {"plan": "pro"},
        )
        assert code(await update(slug="other")) == "400 ORGANIZATION_SLUG_ALREADY_TAKEN"
        for wrong, field in (({}, "data"), ({"name": " "}, "data.name"), ({"slug": "-"}, "data.slug")):
            answer = await update(**wrong)
            assert code(answer) == "400 VALIDATION_ERROR"
            assert [each["name"] for each in answer.json()["fields"]] == [field]

    @pytest.mark.operation("admin_organizations.delete")
    async def test_an_organization_is_deleted_with_all_that_belongs_to_it(
        self, service: Service, admin: Person, owner: Person, acme: str
    ) -> None:
        await invite(service, owner, acme, "bob@example.com")

        answer = await post(service, admin, "/admin/delete-organization", {"organizationId": acme})

        assert (answer.status_code, answer.json()["slug"]) == (200, "acme")
        for table in ("organization", "member", "invitation", "team"):
            assert await service.rows(f"SELECT id FROM {table}") == []
        session = (await service.get("/get-session", headers=owner.headers)).json()["session"]
        assert session.get("activeOrganizationId") is None
        assert await works(service, owner.headers)
        [event] = await of_event(service, "organization.deleted")
        assert (event.actor_id, event.details) == (admin.id, {"organizationId": acme})

    @pytest.mark.operation("admin_organizations.delete")
    @pytest.mark.threat("ADM14")
    async def test_an_old_session_deletes_nothing(self, service: Service, admin: Person, acme: str) -> None:
        service.clock.advance(days=2)

        answer = await post(service, admin, "/admin/delete-organization", {"organizationId": acme})

        assert code(answer) == "403 SESSION_NOT_FRESH"
        assert len(await service.rows("SELECT id FROM organization")) == 1

    @pytest.mark.operation("admin_organizations.set_member_role", "admin_organizations.remove_member")
    @pytest.mark.threat("ORG10")
    async def test_roles_are_replaced_and_members_removed_but_an_owner_remains(
        self, service: Service, admin: Person, owner: Person, acme: str
    ) -> None:
        bob = await add_person(service, email="bob@example.com")
        member = await join(service, admin, acme, bob)
        [(first,)] = await service.rows("SELECT id FROM member WHERE is_owner")
        role, remove = "/admin/set-organization-member-role", "/admin/remove-organization-member"
        ada = {"organizationId": acme, "memberId": first}

        refused = await post(service, admin, role, {**ada, "role": "admin"})
        assert code(refused) == "400 YOU_CANNOT_LEAVE_THE_ORGANIZATION_WITHOUT_AN_OWNER"
        refused = await post(service, admin, remove, ada)
        assert code(refused) == "400 YOU_CANNOT_LEAVE_THE_ORGANIZATION_AS_THE_ONLY_OWNER"
        assert code(await post(service, admin, role, {**ada, "role": "king"})) == "400 ROLE_NOT_FOUND"
        body = {"organizationId": acme, "memberId": member, "role": ["owner", "admin"]}
        changed = await post(service, admin, role, body)
        assert changed.json()["role"] == "owner,admin"
        removed = await post(service, admin, remove, ada)

        assert removed.json()["member"]["user"]["email"] == "ada@example.com"
        assert code(await post(service, admin, remove, ada)) == "400 MEMBER_NOT_FOUND"
        session = (await service.get("/get-session", headers=owner.headers)).json()["session"]
        assert session.get("activeOrganizationId") is None
        [event] = await of_event(service, "member.role_changed")
        assert (event.actor_id, event.user_id, event.details["new"]) == (
            admin.id,
            bob.id,
            "owner,admin",
        )

    @pytest.mark.operation("admin_organizations.cancel_invitation")
    async def test_an_invitation_is_canceled_once(
        self, service: Service, admin: Person, owner: Person, acme: str
    ) -> None:
        sent = await invite(service, owner, acme, "bob@example.com")
        body = {"organizationId": acme, "invitationId": sent}

        answers = [
            await post(service, admin, "/admin/cancel-organization-invitation", body) for _ in range(2)
        ]

        assert answers[0].json()["status"] == "canceled"
        assert code(answers[1]) == "400 INVITATION_NOT_FOUND"
        assert await recorded(service, "invitation.canceled") == 1

    @pytest.mark.threat("ORG8")
    async def test_objects_of_another_organization_are_unknown(
        self, service: Service, admin: Person, owner: Person, acme: str
    ) -> None:
        other = await create(service, owner, "Other")
        sent = await invite(service, owner, other, "bob@example.com")
        [(member,)] = await service.rows("SELECT id FROM member WHERE organization_id = :id", id=other)
        bodies = writes(acme, member, sent)

        for path, refusal in (
            ("/admin/set-organization-member-role", "MEMBER_NOT_FOUND"),
            ("/admin/remove-organization-member", "MEMBER_NOT_FOUND"),
            ("/admin/cancel-organization-invitation", "INVITATION_NOT_FOUND"),
        ):
            assert code(await post(service, admin, path, bodies[path])) == f"400 {refusal}"
        assert len(await service.rows("SELECT id FROM invitation WHERE status = 'pending'")) == 1


@pytest.mark.threat("ADM24")
class TestPermission:
    @pytest.mark.parametrize("role", ["user", "support"])
    async def test_it_is_needed_for_everything(
        self, service: Service, owner: Person, acme: str, role: str
    ) -> None:
        # Not even the owner of an organization is one of its administrators here.
        by = owner if role == "user" else await add_person(service, role)
        refusal = "403 YOU_ARE_NOT_ALLOWED_TO_MANAGE_ORGANIZATIONS"

        for name in READS:
            answer = await service.get(f"/admin/{name}?organizationId={acme}", headers=by.headers)
            assert (name, code(answer)) == (name, refusal)
        for path, body in writes(acme).items():
            assert (path, code(await post(service, by, path, body))) == (path, refusal)
        assert len(await service.rows("SELECT id FROM organization WHERE name = 'Acme'")) == 1

    async def test_a_role_with_it_is_enough_but_for_the_audit_trail(
        self, service: Service, acme: str
    ) -> None:
        clerk = await add_person(service, "clerk")

        for name in READS:
            answer = await service.get(f"/admin/{name}?organizationId={acme}", headers=clerk.headers)
            expected = "403 YOU_ARE_NOT_ALLOWED_TO_MANAGE_SERVICE" if "events" in name else "200"
            assert (name, code(answer)) == (name, expected)
        answer = await post(service, clerk, "/admin/delete-organization", {"organizationId": acme})
        assert answer.status_code == 200

    async def test_the_second_factor_is_needed_where_administrators_need_it(
        self, make_service: MakeService
    ) -> None:
        service = await make_service({**SETTINGS, "admin.require_two_factor": "true"})
        admin = await add_person(service, "admin")

        answer = await service.get("/admin/list-organizations", headers=admin.headers)
        assert code(answer) == "403 TWO_FACTOR_REQUIRED"
        await set_user(service, admin.email, two_factor_enabled=True)
        assert (await service.get("/admin/list-organizations", headers=admin.headers)).status_code == 200

    @pytest.mark.parametrize("switch", ["admin.enabled", "organizations.enabled"])
    async def test_nothing_is_there_while_it_is_off(self, make_service: MakeService, switch: str) -> None:
        off = {"organizations.teams.enabled": "false"} if switch.startswith("organizations") else {}
        service = await make_service({**SETTINGS, **off, switch: "false"})
        admin = await add_person(service, "admin")

        for name in READS:
            answer = await service.get(f"/admin/{name}?organizationId={UNKNOWN}", headers=admin.headers)
            assert code(answer) == "404 NOT_FOUND"
        for path, body in writes(UNKNOWN).items():
            assert code(await post(service, admin, path, body)) == "404 NOT_FOUND"
