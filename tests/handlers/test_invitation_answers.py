"""Invitations to organizations: read, accept and reject them."""

from typing import Any

import pytest

from tests.conftest import MakeService
from tests.handlers.organization_steps import (
    BOB,
    TEAMS_OFF,
    Company,
    active_of,
    add_verified,
    create,
    found_company,
    get,
    post,
)
from tests.handlers.people import Person, add_person
from tests.handlers.steps import UNKNOWN, code, execute, refusal, set_user
from tests.service import Service
from tests.trail import of_event, only

NOT_FOUND = (400, "INVITATION_NOT_FOUND", "Invitation not found")
NOT_RECIPIENT = (
    403,
    "YOU_ARE_NOT_THE_RECIPIENT_OF_THE_INVITATION",
    "You are not the recipient of the invitation",
)
UNVERIFIED = (
    403,
    "EMAIL_VERIFICATION_REQUIRED_BEFORE_ACCEPTING_OR_REJECTING_INVITATION",
    "Email verification required before accepting or rejecting invitation",
)
UNVERIFIED_TO_SEE = (
    403,
    "EMAIL_VERIFICATION_REQUIRED_FOR_INVITATION",
    "Email verification required to view or list invitations for the session email",
)
IS_MEMBER = (
    400,
    "USER_IS_ALREADY_A_MEMBER_OF_THIS_ORGANIZATION",
    "User is already a member of this organization",
)
ANSWERS = ("get-invitation", "accept-invitation", "reject-invitation")


@pytest.fixture
async def service(make_service: MakeService, request: pytest.FixtureRequest) -> Service:
    return await make_service({**TEAMS_OFF, **getattr(request, "param", {})})


def settings(**names: Any) -> pytest.MarkDecorator:
    """Run a test with these settings of `organizations`."""
    values = {f"organizations.{key}": str(value).lower() for key, value in names.items()}
    return pytest.mark.parametrize("service", [values], indirect=True)


@pytest.fixture
async def acme(service: Service) -> Company:
    return await found_company(service)


async def answer(service: Service, by: Person, name: str, invitation: str) -> Any:
    """Read, accept or reject an invitation."""
    if name == "get-invitation":
        return await get(service, by, name, id=invitation)
    return await post(service, by, name, invitationId=invitation)


@pytest.mark.operation(
    "organizations.get_invitation", "organizations.accept_invitation", "organizations.reject_invitation"
)
@pytest.mark.parametrize("name", ANSWERS)
class TestRecipient:
    """Who may read, accept and reject an invitation."""

    async def test_the_secret_is_enough(self, acme: Company, name: str) -> None:
        bob = await add_person(acme.service, email=BOB)
        await acme.invite()

        assert code(await answer(acme.service, bob, name, await acme.secret())) == "200"

    async def test_the_id_takes_a_verified_address(self, acme: Company, name: str) -> None:
        service = acme.service
        bob = await add_person(service, email=BOB)
        invited = await acme.invite()

        refused = await answer(service, bob, name, invited["id"])
        await set_user(service, BOB, email_verified=True)
        allowed = await answer(service, bob, name, invited["id"])

        assert refusal(refused) == (UNVERIFIED_TO_SEE if name == "get-invitation" else UNVERIFIED)
        assert code(allowed) == "200"
        record = await only(service, "invitation.refused")
        assert (record.user_id, record.details["invitation"]) == (bob.id, invited["id"])

    @settings(require_verified_email=False)
    async def test_the_id_may_be_enough(self, acme: Company, name: str) -> None:
        bob = await add_person(acme.service, email=BOB)
        invited = await acme.invite()

        assert code(await answer(acme.service, bob, name, invited["id"])) == "200"

    @pytest.mark.parametrize("service", [{"email_verification.enabled": "false"}], indirect=True)
    async def test_it_is_enough_without_verification(self, acme: Company, name: str) -> None:
        bob = await add_person(acme.service, email=BOB)
        invited = await acme.invite()

        assert code(await answer(acme.service, bob, name, invited["id"])) == "200"

    async def test_another_address_is_refused(self, acme: Company, name: str) -> None:
        service = acme.service
        eve = await add_verified(service, "eve@example.com")
        invited = await acme.invite()

        answers = [await answer(service, eve, name, one) for one in (invited["id"], await acme.secret())]

        assert [refusal(one) for one in answers] == [NOT_RECIPIENT, NOT_RECIPIENT]
        assert await acme.status_of(invited) == "pending"
        assert {one.code for one in await of_event(service, "invitation.refused")} == {NOT_RECIPIENT[1]}

    async def test_what_is_no_pending_invitation(self, acme: Company, name: str) -> None:
        service = acme.service
        bob = await add_verified(service, BOB)
        await acme.invite()
        secret = await acme.secret()
        unknown = [UNKNOWN, f"inv_{UNKNOWN}", secret.removeprefix("inv_"), secret.upper()]

        answers = [await answer(service, bob, name, one) for one in unknown]

        assert [refusal(one) for one in answers] == [NOT_FOUND] * 4
        assert code(await answer(service, bob, name, "x" * 65)) == "400 VALIDATION_ERROR"

    @pytest.mark.parametrize("end", ["accepted", "rejected", "canceled", "expired"])
    async def test_an_invitation_ends(self, acme: Company, name: str, end: str) -> None:
        service = acme.service
        bob = await add_verified(service, BOB)
        invited = await acme.invite()
        secret = await acme.secret()
        if end == "expired":
            service.clock.advance(hours=48)
        elif end == "canceled":
            await post(service, acme.owner, "cancel-invitation", invitationId=invited["id"])
        else:
            operation = "accept-invitation" if end == "accepted" else "reject-invitation"
            assert code(await answer(service, bob, operation, secret)) == "200"

        answers = [await answer(service, bob, name, one) for one in (secret, invited["id"])]

        assert [refusal(one) for one in answers] == [NOT_FOUND, NOT_FOUND]

    @pytest.mark.parametrize("end", ["removed", "demoted", "banned", "left"])
    async def test_it_ends_with_the_right_of_the_inviter(self, acme: Company, name: str, end: str) -> None:
        service = acme.service
        bob = await add_verified(service, BOB)
        await acme.invite(by=acme.admin)
        secret = await acme.secret()
        match end:
            case "removed":
                done = await acme.post(acme.owner, "remove-member", memberIdOrEmail=acme.admin.email)
            case "demoted":
                body = {"memberId": await acme.id_of(acme.admin), "role": "member"}
                done = await acme.post(acme.owner, "update-member-role", **body)
            case "banned":
                done = await service.post(
                    "/admin/ban-user", {"userId": acme.admin.id}, headers=acme.keeper.headers
                )
            case _:
                done = await acme.post(acme.admin, "leave")

        assert code(done) == "200"
        assert refusal(await answer(service, bob, name, secret)) == NOT_FOUND


@pytest.mark.operation("organizations.get_invitation")
async def test_an_invitation_is_read_with_its_organization(acme: Company) -> None:
    bob = await add_person(acme.service, email=BOB)
    invited = await acme.invite()

    read = (await get(acme.service, bob, "get-invitation", id=await acme.secret())).json()

    assert read == {
        **invited,
        "organizationName": "Acme",
        "organizationSlug": "acme",
        "inviterEmail": acme.owner.email,
    }


@pytest.mark.operation("organizations.accept_invitation")
class TestAccept:
    async def test_the_user_becomes_a_member(self, acme: Company) -> None:
        service = acme.service
        bob = await add_person(service, email=BOB)
        own = await create(service, bob, "own")
        invited = await acme.invite(role="admin")
        service.clock.advance(hours=1)

        accepted = (await post(service, bob, "accept-invitation", invitationId=await acme.secret())).json()

        member = accepted["member"]
        assert accepted == {
            "invitation": {**invited, "status": "accepted"},
            "member": {
                "id": member["id"],
                "organizationId": acme.id,
                "userId": bob.id,
                "role": "admin",
                "createdAt": "2026-01-01T13:00:00.000Z",
            },
        }
        assert (await acme.roles())[BOB] == "admin"
        assert await active_of(service, bob) == acme.id != own["id"]
        [row] = await service.rows('SELECT email_verified FROM "user" WHERE id = :id', id=bob.id)
        assert not row.email_verified
        record = await only(service, "invitation.accepted")
        assert (record.user_id, record.details["organizationId"]) == (bob.id, acme.id)

    async def test_a_member_is_refused(self, acme: Company) -> None:
        service = acme.service
        invited = await acme.invite()
        await execute(
            service,
            'UPDATE "user" SET email = :new, email_verified = true WHERE id = :id',
            new=BOB,
            id=acme.member.id,
        )

        refused = await post(service, acme.member, "accept-invitation", invitationId=invited["id"])

        assert refusal(refused) == IS_MEMBER
        assert await acme.status_of(invited) == "pending"

    @settings(membership_limit=3)
    async def test_a_full_organization(self, acme: Company) -> None:
        service = acme.service
        bob = await add_verified(service, BOB)
        invited = await acme.invite()

        refused = await post(service, bob, "accept-invitation", invitationId=invited["id"])
        status = await acme.status_of(invited)
        await acme.post(acme.member, "leave")
        allowed = await post(service, bob, "accept-invitation", invitationId=invited["id"])

        assert refusal(refused) == (
            403,
            "ORGANIZATION_MEMBERSHIP_LIMIT_REACHED",
            "Organization membership limit reached",
        )
        assert (status, code(allowed)) == ("pending", "200")

    @settings(limit_per_user=1)
    async def test_a_user_in_enough_organizations(self, acme: Company) -> None:
        service = acme.service
        bob = await add_verified(service, BOB)
        own = await create(service, bob, "own")
        invited = await acme.invite()

        refused = await post(service, bob, "accept-invitation", invitationId=invited["id"])

        assert code(refused) == "403 YOU_HAVE_REACHED_THE_MAXIMUM_NUMBER_OF_ORGANIZATIONS"
        assert await acme.status_of(invited) == "pending"
        assert await active_of(service, bob) == own["id"]


@pytest.mark.operation("organizations.reject_invitation")
async def test_an_invitation_is_rejected(acme: Company) -> None:
    service = acme.service
    bob = await add_person(service, email=BOB)
    invited = await acme.invite()

    rejected = await post(service, bob, "reject-invitation", invitationId=await acme.secret())

    assert rejected.json() == {"invitation": {**invited, "status": "rejected"}, "member": None}
    assert BOB not in await acme.roles()
    assert (await only(service, "invitation.rejected")).user_id == bob.id
    assert (await acme.invite())["status"] == "pending"
