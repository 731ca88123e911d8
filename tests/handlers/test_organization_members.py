"""Members of organizations: add, change and remove them, and leave."""

import json
from typing import Any

import pytest

from tests.conftest import MakeService
from tests.handlers.organization_steps import (
    TEAMS_OFF,
    Company,
    active_of,
    create,
    found_company,
    post,
)
from tests.handlers.people import Person, add_person
from tests.handlers.steps import AT, UNKNOWN, code, refusal, set_user, sign_in
from tests.service import Service
from tests.trail import of_event, only

NOT_THIS = (403, "YOU_ARE_NOT_A_MEMBER_OF_THIS_ORGANIZATION", "You are not a member of this organization")
NO_ACTIVE = (400, "NO_ACTIVE_ORGANIZATION", "No active organization")
NO_MEMBER = (400, "MEMBER_NOT_FOUND", "Member not found")
NO_UPDATE = (403, "YOU_ARE_NOT_ALLOWED_TO_UPDATE_THIS_MEMBER", "You are not allowed to update this member")
NO_DELETE = (403, "YOU_ARE_NOT_ALLOWED_TO_DELETE_THIS_MEMBER", "You are not allowed to delete this member")
ONLY_OWNER = (
    400,
    "YOU_CANNOT_LEAVE_THE_ORGANIZATION_AS_THE_ONLY_OWNER",
    "You cannot leave the organization as the only owner",
)
WITHOUT_OWNER = (
    400,
    "YOU_CANNOT_LEAVE_THE_ORGANIZATION_WITHOUT_AN_OWNER",
    "You cannot leave the organization without an owner",
)
ROLES = {
    "organizations.roles": json.dumps(
        {
            "Lead": {"member": ["update", "delete"], "team": ["create"]},
            "lead": {"member": ["update"]},
            "guest": {},
            "publisher": {"organization": ["update", "delete"]},
        }
    ),
}


@pytest.fixture
async def service(make_service: MakeService, request: pytest.FixtureRequest) -> Service:
    return await make_service({**TEAMS_OFF, **getattr(request, "param", {})})


def settings(**names: Any) -> pytest.MarkDecorator:
    """Run a test with these settings of `organizations`."""
    values = {f"organizations.{key}": str(value).lower() for key, value in names.items()}
    return pytest.mark.parametrize("service", [values], indirect=True)


with_roles = pytest.mark.parametrize("service", [ROLES], indirect=True)


@pytest.fixture
async def acme(service: Service) -> Company:
    return await found_company(service)


@pytest.mark.operation("organizations.update_member_role")
class TestUpdateMemberRole:
    @pytest.mark.parametrize(
        ("role", "stored"),
        [
            ("admin", "admin"),
            (["member", "admin"], "member,admin"),
            ("admin,member", "admin,member"),
            (["admin", "admin"], "admin"),
        ],
    )
    async def test_roles_are_replaced(self, acme: Company, role: object, stored: str) -> None:
        member = await acme.id_of(acme.member)

        answer = await acme.post(acme.admin, "update-member-role", memberId=member, role=role)

        expected = {"id": member, "organizationId": acme.id, "userId": acme.member.id, "createdAt": AT}
        assert answer.json() == {**expected, "role": stored}
        assert (await acme.roles())[acme.member.email] == stored
        record = await only(acme.service, "member.role_changed")
        assert record.user_id == acme.member.id
        assert record.details["old"], record.details["new"] == ("member", stored)
        assert record.details["organizationId"] == acme.id

    async def test_the_same_roles_change_nothing(self, acme: Company) -> None:
        body = {"memberId": await acme.id_of(acme.member), "role": "member"}

        assert (await acme.post(acme.admin, "update-member-role", **body)).json()["role"] == "member"
        assert await of_event(acme.service, "member.role_changed") == []

    @pytest.mark.parametrize(
        "role",
        ["", "unknown", "OWNER", ["member", "unknown"], [], [""], "member;admin", ",", "x" * 33],
    )
    async def test_an_unknown_role(self, acme: Company, role: object) -> None:
        body = {"memberId": await acme.id_of(acme.member), "role": role}

        answer = await acme.post(acme.owner, "update-member-role", **body)

        assert refusal(answer) == (400, "ROLE_NOT_FOUND", "Role not found")

    async def test_refusals(self, acme: Company) -> None:
        service = acme.service
        owner, admin, member = [await acme.id_of(one) for one in (acme.owner, acme.admin, acme.member)]
        other = await found_company(service, "other")
        foreign = await other.id_of(other.member)
        calls: list[tuple[Person, dict[str, Any], tuple[int, str, str]]] = [
            (acme.outsider, {"memberId": member, "role": "admin"}, NO_MEMBER),
            (acme.owner, {"memberId": foreign, "role": "admin"}, NO_MEMBER),
            (acme.owner, {"memberId": UNKNOWN, "role": "unknown"}, NO_MEMBER),
            (acme.member, {"memberId": member, "role": "admin"}, NO_UPDATE),
            (acme.member, {"memberId": UNKNOWN, "role": "unknown"}, NO_UPDATE),
            (acme.admin, {"memberId": admin, "role": "owner"}, NO_UPDATE),
            (acme.admin, {"memberId": member, "role": ["member", "owner"]}, NO_UPDATE),
            (acme.admin, {"memberId": owner, "role": "admin"}, NO_UPDATE),
            (acme.admin, {"memberId": owner, "role": "unknown"}, NO_UPDATE),
            (acme.owner, {"memberId": owner, "role": "admin"}, WITHOUT_OWNER),
        ]

        refused = [refusal(await acme.post(by, "update-member-role", **body)) for by, body, _ in calls]

        assert refused == [expected for *_, expected in calls]
        answer = await post(service, acme.member, "update-member-role", memberId=member, role="admin")
        assert refusal(answer) == NO_ACTIVE
        assert sorted((await acme.roles()).values()) == ["admin", "member", "owner"]

    @with_roles
    async def test_only_powers_that_one_has_are_given_and_taken(self, acme: Company) -> None:
        lead = await acme.join("Lead")
        guest, publisher = await acme.join("guest"), await acme.join("publisher")
        given = {
            "guest": await acme.post(
                lead, "update-member-role", memberId=await acme.id_of(guest), role="lead"
            ),
            "member": await acme.post(
                lead, "update-member-role", memberId=await acme.id_of(acme.member), role="admin"
            ),
            "publisher": await acme.post(
                lead, "update-member-role", memberId=await acme.id_of(publisher), role="guest"
            ),
            "admin": await acme.post(
                acme.admin, "update-member-role", memberId=await acme.id_of(publisher), role="guest"
            ),
        }

        assert {name: code(answer) for name, answer in given.items()} == {
            "guest": "200",
            "member": f"403 {NO_UPDATE[1]}",
            "publisher": f"403 {NO_UPDATE[1]}",
            "admin": f"403 {NO_UPDATE[1]}",
        }

    async def test_owners_are_told_and_can_be_replaced(self, acme: Company) -> None:
        service = acme.service
        for email in (acme.owner.email, acme.admin.email):
            await set_user(service, email, email_verified=True)
        await acme.post(acme.owner, "update-member-role", memberId=await acme.id_of(acme.admin), role="owner")
        demoted = await acme.post(
            acme.owner, "update-member-role", memberId=await acme.id_of(acme.owner), role="member"
        )

        assert demoted.json()["role"] == "member"
        notices = {
            mail["to"]: mail["text"] for mail in await service.inbox(None, "organization-role-changed")
        }
        assert "You became an owner of Acme" in notices[acme.admin.email]
        assert "You ceased to be an owner of Acme" in notices[acme.owner.email]

    async def test_other_changes_are_not_told(self, acme: Company) -> None:
        await set_user(acme.service, acme.member.email, email_verified=True)
        await acme.post(
            acme.owner, "update-member-role", memberId=await acme.id_of(acme.member), role="admin"
        )

        assert await acme.service.inbox(None, "organization-role-changed") == []

    async def test_invitations_that_the_member_could_not_send_any_more_are_canceled(
        self, acme: Company
    ) -> None:
        service = acme.service
        second = await acme.join("owner", "second@acme.example")
        to_owner = await acme.invite("chief@example.com", "owner", by=second)
        to_admin = await acme.invite("carol@example.com", "admin", by=second)
        own = await acme.invite("dora@example.com", by=acme.owner)
        states = []
        for role in ("admin", "member"):
            body = {"memberId": await acme.id_of(second), "role": role}
            assert code(await acme.post(acme.owner, "update-member-role", **body)) == "200"
            states.append([await acme.status_of(one) for one in (to_owner, to_admin, own)])

        assert states == [["canceled", "pending", "pending"], ["canceled", "canceled", "pending"]]
        records = await of_event(service, "invitation.canceled")
        assert {record.details["invitation"] for record in records} == {to_owner["id"], to_admin["id"]}


@pytest.mark.operation("organizations.remove_member")
class TestRemoveMember:
    @pytest.mark.parametrize("by_email", [True, False])
    async def test_by_id_or_address(self, acme: Company, by_email: bool) -> None:
        service, member = acme.service, acme.member
        await set_user(service, member.email, email_verified=True)
        named = member.email.upper() if by_email else await acme.id_of(member)

        answer = await acme.post(acme.admin, "remove-member", memberIdOrEmail=named)

        removed = answer.json()["member"]
        assert (removed["userId"], removed["user"]["email"]) == (member.id, member.email)
        assert member.email not in await acme.roles()
        record = await only(service, "member.removed")
        assert (record.user_id, record.details["role"]) == (member.id, "member")
        [notice] = await service.inbox(member.email, "organization-removed")
        assert "You were removed from Acme" in notice["text"]

    async def test_every_session_loses_the_organization(self, acme: Company) -> None:
        service, member = acme.service, acme.member
        again = await sign_in(service, member.email)
        service.client.cookies.clear()
        sessions = [member, Person(member.id, member.email, again.json()["token"])]
        for one in sessions:
            await acme.post(one, "set-active")

        await acme.post(acme.owner, "remove-member", memberIdOrEmail=member.email)

        assert [await active_of(service, one) for one in sessions] == [None, None]
        assert refusal(await acme.get(member, "list-members")) == NOT_THIS

    async def test_another_active_organization_stays(self, acme: Company) -> None:
        own = await create(acme.service, acme.member, "own")

        await acme.post(acme.owner, "remove-member", memberIdOrEmail=acme.member.email)

        assert await active_of(acme.service, acme.member) == own["id"]

    async def test_their_invitations_are_canceled(self, acme: Company) -> None:
        theirs = await acme.invite(by=acme.admin)
        other = await acme.invite("carol@example.com")

        await acme.post(acme.owner, "remove-member", memberIdOrEmail=acme.admin.email)

        assert [await acme.status_of(one) for one in (theirs, other)] == ["canceled", "pending"]

    async def test_refusals(self, acme: Company) -> None:
        service = acme.service
        other = await found_company(service, "other")
        calls = [
            (acme.outsider, acme.member.email, NO_MEMBER),
            (acme.owner, UNKNOWN, NO_MEMBER),
            (acme.owner, acme.outsider.email, NO_MEMBER),
            (acme.owner, "nobody@example.com", NO_MEMBER),
            (acme.owner, await other.id_of(other.member), NO_MEMBER),
            (acme.owner, other.member.email, NO_MEMBER),
            (acme.member, acme.member.email, NO_DELETE),
            (acme.member, "nobody@example.com", NO_DELETE),
            (acme.admin, acme.owner.email, NO_DELETE),
            (acme.owner, acme.owner.email, ONLY_OWNER),
        ]

        refused = [refusal(await acme.post(by, "remove-member", memberIdOrEmail=who)) for by, who, _ in calls]

        assert refused == [expected for *_, expected in calls]
        answer = await post(service, acme.member, "remove-member", memberIdOrEmail=acme.member.email)
        assert refusal(answer) == NO_ACTIVE
        assert (len(await acme.roles()), len(await other.roles())) == (3, 3)

    async def test_an_owner_removes_an_owner(self, acme: Company) -> None:
        second = await acme.join("owner,admin")

        answers = [
            await acme.post(by, "remove-member", memberIdOrEmail=acme.owner.email)
            for by in (acme.admin, second)
        ]

        assert [code(one) for one in answers] == [f"403 {NO_DELETE[1]}", "200"]


@pytest.mark.operation("organizations.leave")
class TestLeave:
    async def test_a_member_leaves(self, acme: Company) -> None:
        service = acme.service
        await acme.post(acme.admin, "set-active")
        invited = await acme.invite(by=acme.admin)

        left = (await acme.post(acme.admin, "leave")).json()

        assert (left["userId"], left["role"]) == (acme.admin.id, "admin")
        assert acme.admin.email not in await acme.roles()
        assert await active_of(service, acme.admin) is None
        assert await acme.status_of(invited) == "canceled"
        assert (await only(service, "member.left")).user_id == acme.admin.id
        assert await service.inbox(None, "organization-removed") == []

    async def test_refusals(self, acme: Company) -> None:
        alone = await create(acme.service, acme.outsider, "alone")
        answers = [
            await acme.post(acme.outsider, "leave"),
            await post(acme.service, acme.owner, "leave", organizationId=UNKNOWN),
            await acme.post(acme.owner, "leave"),
            await post(acme.service, acme.outsider, "leave", organizationId=alone["id"]),
        ]

        assert [refusal(one) for one in answers] == [NO_MEMBER, NO_MEMBER, ONLY_OWNER, ONLY_OWNER]

    async def test_one_of_two_owners_leaves(self, acme: Company) -> None:
        await acme.join("owner", "second@acme.example")

        assert code(await acme.post(acme.owner, "leave")) == "200"


@pytest.mark.operation("organizations.add_member")
class TestAddMember:
    @pytest.mark.parametrize("role", ["member", "owner", ["admin", "member"]])
    async def test_a_global_administrator_adds_without_invitation(self, acme: Company, role: Any) -> None:
        body = {"userId": acme.outsider.id, "role": role, "teamId": UNKNOWN}

        added = (await acme.post(acme.keeper, "add-member", **body)).json()

        text = role if isinstance(role, str) else ",".join(role)
        assert (added["userId"], added["role"], added["organizationId"]) == (acme.outsider.id, text, acme.id)
        assert (await acme.roles())[acme.outsider.email] == text
        records = await of_event(acme.service, "member.added", organizationId=acme.id)
        assert acme.outsider.id in {record.user_id for record in records}

    async def test_a_pending_invitation_becomes_accepted(self, acme: Company) -> None:
        invited = await acme.invite(acme.outsider.email)

        await acme.add(acme.outsider)

        assert await acme.status_of(invited) == "accepted"

    async def test_refusals(self, acme: Company) -> None:
        service = acme.service
        right = {"userId": acme.outsider.id, "role": "member"}
        not_allowed = "403 YOU_ARE_NOT_ALLOWED_TO_INVITE_USERS_TO_THIS_ORGANIZATION"
        answers = [
            await acme.post(acme.owner, "add-member", **right),
            await post(service, acme.outsider, "add-member", userId=UNKNOWN, role="unknown"),
            await post(service, acme.keeper, "add-member", **right),
            await post(service, acme.keeper, "add-member", **{**right, "organizationId": UNKNOWN}),
            await post(
                service, acme.keeper, "add-member", organizationId=UNKNOWN, userId=UNKNOWN, role="unknown"
            ),
            await acme.post(acme.keeper, "add-member", userId=UNKNOWN, role="unknown"),
            await acme.post(acme.keeper, "add-member", userId=UNKNOWN, role="member"),
            await acme.post(acme.keeper, "add-member", userId=acme.member.id, role="member"),
        ]

        assert [code(one) for one in answers] == [
            not_allowed,
            not_allowed,
            "400 ORGANIZATION_NOT_FOUND",
            "400 ORGANIZATION_NOT_FOUND",
            "400 ORGANIZATION_NOT_FOUND",
            "400 ROLE_NOT_FOUND",
            "404 USER_NOT_FOUND",
            "400 USER_IS_ALREADY_A_MEMBER_OF_THIS_ORGANIZATION",
        ]

    @settings(membership_limit=3)
    async def test_an_organization_has_a_limited_number_of_members(self, acme: Company) -> None:
        body = {"userId": acme.outsider.id, "role": "member"}

        assert refusal(await acme.post(acme.keeper, "add-member", **body)) == (
            403,
            "ORGANIZATION_MEMBERSHIP_LIMIT_REACHED",
            "Organization membership limit reached",
        )

    @settings(limit_per_user=1)
    async def test_a_user_is_in_a_limited_number(self, acme: Company) -> None:
        await create(acme.service, acme.outsider, "own")
        body = {"userId": acme.outsider.id, "role": "member"}

        answer = await acme.post(acme.keeper, "add-member", **body)

        assert code(answer) == "403 YOU_HAVE_REACHED_THE_MAXIMUM_NUMBER_OF_ORGANIZATIONS"


class TestDeletedUsers:
    """An organization keeps an owner, or is deleted with its only member."""

    async def test_the_only_owner_is_not_deleted(self, acme: Company) -> None:
        service = acme.service
        by_themselves = await service.post(
            "/delete-user", {"password": "correct horse battery"}, headers=acme.owner.headers
        )
        by_administrator = await service.post(
            "/admin/remove-user", {"userId": acme.owner.id}, headers=acme.keeper.headers
        )

        assert [refusal(one) for one in (by_themselves, by_administrator)] == [ONLY_OWNER, ONLY_OWNER]
        assert await service.inbox(None, "delete-account") == []

    async def test_members_and_other_owners_are(self, acme: Company) -> None:
        service = acme.service
        second = await acme.join("owner", "second@acme.example")
        invited = await acme.invite(by=second)

        answers = [
            await service.post("/admin/remove-user", {"userId": one.id}, headers=acme.keeper.headers)
            for one in (second, acme.member)
        ]

        assert [code(one) for one in answers] == ["200", "200"]
        assert sorted((await acme.roles()).values()) == ["admin", "owner"]
        assert await service.rows("SELECT id FROM invitation WHERE id = :id", id=invited["id"]) == []

    async def test_an_organization_goes_with_its_only_member(self, service: Service) -> None:
        ada = await add_person(service, email="ada@example.com")
        keeper = await add_person(service, "admin")
        made = await create(service, ada)

        await service.post("/admin/remove-user", {"userId": ada.id}, headers=keeper.headers)

        assert await service.rows("SELECT id FROM organization") == []
        assert (await only(service, "organization.deleted")).details["organizationId"] == made["id"]


async def test_missing_permissions_are_recorded(acme: Company) -> None:
    await acme.post(acme.member, "remove-member", memberIdOrEmail=acme.owner.email)
    await acme.post(acme.member, "update", data={"name": "Mine"})
    await acme.post(acme.outsider, "update", data={"name": "Mine"})

    records = await of_event(acme.service, "organization.refused")

    assert sorted((record.user_id, record.code) for record in records) == [
        (acme.member.id, NO_DELETE[1]),
        (acme.member.id, "YOU_ARE_NOT_ALLOWED_TO_UPDATE_THIS_ORGANIZATION"),
    ]
    assert {record.details["organizationId"] for record in records} == {acme.id}
