"""Create, read, change, delete and activate organizations: openapi/paths/organizations.yaml."""

from typing import Any

import pytest

from tests.conftest import MakeService
from tests.handlers.organization_steps import (
    TEAMS_OFF,
    Company,
    active_of,
    create,
    found_company,
    get,
    post,
    session_of,
)
from tests.handlers.people import Person, add_person
from tests.handlers.steps import AT, UNKNOWN, code, refusal, set_user
from tests.service import Service, running_service
from tests.trail import of_event, only

NOT_A_MEMBER = "USER_IS_NOT_A_MEMBER_OF_THE_ORGANIZATION"


@pytest.fixture
async def service(make_service: MakeService, request: pytest.FixtureRequest) -> Service:
    return await make_service({**TEAMS_OFF, **getattr(request, "param", {})})


def settings(**names: Any) -> pytest.MarkDecorator:
    """Run a test with these settings of `organizations`."""
    values = {f"organizations.{key}": str(value).lower() for key, value in names.items()}
    return pytest.mark.parametrize("service", [values], indirect=True)


@pytest.fixture
async def ada(service: Service) -> Person:
    return await add_person(service, email="ada@example.com")


@pytest.fixture
async def acme(service: Service) -> Company:
    return await found_company(service)


@pytest.mark.operation("organizations.create")
class TestCreate:
    async def test_the_caller_becomes_the_owner(self, service: Service, ada: Person) -> None:
        answer = await post(service, ada, "create", name="Acme", slug="acme", userId=UNKNOWN)

        made = answer.json()
        [member] = made.pop("members")
        assert made == {
            "id": made["id"],
            "name": "Acme",
            "slug": "acme",
            "logo": None,
            "createdAt": AT,
            "metadata": None,
        }
        assert member == {
            "id": member["id"],
            "organizationId": made["id"],
            "userId": ada.id,
            "role": "owner",
            "createdAt": AT,
        }
        assert await active_of(service, ada) == made["id"]

    async def test_all_fields(self, service: Service, ada: Person) -> None:
        metadata = {"plan": "free", "seats": [1, {"of": None}], "__proto__": {"admin": True}}
        logo = "https://images.example.com/acme.png"

        made = await create(service, ada, "Big_ACME-1", logo=logo, metadata=metadata)

        assert (made["slug"], made["logo"], made["metadata"]) == ("big_acme-1", logo, metadata)
        listed = (await get(service, ada, "list")).json()
        assert listed == [{key: made[key] for key in made if key != "members"}]

    async def test_it_is_recorded(self, service: Service, ada: Person) -> None:
        made = await create(service, ada)

        record = await only(service, "organization.created")
        assert (record.user_id, record.details["organizationId"]) == (ada.id, made["id"])

    @pytest.mark.parametrize("keep", [True, "true"])
    async def test_the_active_organization_can_be_kept(
        self, service: Service, ada: Person, keep: object
    ) -> None:
        first = await create(service, ada)

        await create(service, ada, "other", keepCurrentActiveOrganization=keep)

        assert await active_of(service, ada) == first["id"]

    @pytest.mark.parametrize("slug", ["acme", "ACME"])
    async def test_a_slug_is_taken_once(self, service: Service, ada: Person, slug: str) -> None:
        eve = await add_person(service, email="eve@example.com")
        await create(service, ada)

        answer = await post(service, eve, "create", name="Acme", slug=slug)

        assert refusal(answer) == (400, "ORGANIZATION_ALREADY_EXISTS", "Organization already exists")
        assert await active_of(service, eve) is None

    @pytest.mark.parametrize(
        ("fields", "name"),
        [
            ({"name": ""}, "name"),
            ({"name": " \u3000"}, "name"),
            ({"name": "x" * 129}, "name"),
            ({"name": "a\nb"}, "name"),
            ({"name": None}, "name"),
            ({"slug": ""}, "slug"),
            ({"slug": "-acme"}, "slug"),
            ({"slug": "acme_"}, "slug"),
            ({"slug": "a b"}, "slug"),
            ({"slug": "\u0430cme"}, "slug"),
            ({"slug": "acme\n"}, "slug"),
            ({"slug": "x" * 65}, "slug"),
            ({"logo": "javascript:alert(1)"}, "logo"),
            ({"logo": "data:image/png,x"}, "logo"),
            ({"logo": 1}, "logo"),
            ({"metadata": "{}"}, "metadata"),
            ({"metadata": []}, "metadata"),
            ({"metadata": {"x": "y" * 4096}}, "metadata"),
            ({"metadata": {"1": {"2": {"3": {"4": {"5": {"6": {"7": {"8": {}}}}}}}}}}, "metadata"),
            ({"keepCurrentActiveOrganization": "perhaps"}, "keepCurrentActiveOrganization"),
        ],
    )
    async def test_a_wrong_field_is_named(
        self, service: Service, ada: Person, fields: dict[str, Any], name: str
    ) -> None:
        answer = await post(service, ada, "create", **{"name": "Acme", "slug": "acme", **fields})

        assert code(answer) == "400 VALIDATION_ERROR"
        assert f"body.{name}" in answer.json()["message"]
        assert (await get(service, ada, "list")).json() == []

    @settings(limit_per_user=2)
    async def test_a_user_has_a_limited_number(self, service: Service, ada: Person) -> None:
        await create(service, ada)
        await create(service, ada, "second")

        answer = await post(service, ada, "create", name="Third", slug="acme")

        assert refusal(answer) == (
            403,
            "YOU_HAVE_REACHED_THE_MAXIMUM_NUMBER_OF_ORGANIZATIONS",
            "You have reached the maximum number of organizations",
        )

    @settings(creation="admins", limit_per_user=1)
    async def test_administrators_may_be_the_only_ones_who_create(
        self, service: Service, ada: Person
    ) -> None:
        refused = await post(service, ada, "create", name="Acme", slug="acme")
        await set_user(service, ada.email, role="admin")

        await create(service, ada)

        assert refusal(refused) == (
            403,
            "YOU_ARE_NOT_ALLOWED_TO_CREATE_A_NEW_ORGANIZATION",
            "You are not allowed to create a new organization",
        )


@pytest.mark.operation("organizations.check_slug")
class TestCheckSlug:
    async def test_a_slug_is_free_or_taken(self, service: Service, ada: Person) -> None:
        await create(service, ada)

        taken = [await post(service, ada, "check-slug", slug=slug) for slug in ("acme", "Acme")]
        free = await post(service, ada, "check-slug", slug="acme-2")

        assert free.json() == {"status": True}
        message = "Organization slug already taken"
        assert {refusal(one) for one in taken} == {(400, "ORGANIZATION_SLUG_ALREADY_TAKEN", message)}

    @pytest.mark.parametrize("slug", ["", "a b", "-", "x" * 65, 1, None])
    async def test_it_must_be_possible(self, service: Service, ada: Person, slug: object) -> None:
        assert code(await post(service, ada, "check-slug", slug=slug)) == "400 VALIDATION_ERROR"


@pytest.mark.operation("organizations.list_own")
class TestList:
    async def test_the_oldest_membership_is_first(self, acme: Company) -> None:
        service = acme.service
        service.clock.advance(seconds=1)
        own = await create(service, acme.outsider, "own")
        service.clock.advance(seconds=1)
        await acme.add(acme.outsider)

        listed = (await get(service, acme.outsider, "list")).json()

        assert [one["id"] for one in listed] == [own["id"], acme.id]
        assert set(listed[0]) == {"id", "name", "slug", "logo", "createdAt", "metadata"}

    async def test_a_user_without_organizations_has_an_empty_list(
        self, service: Service, ada: Person
    ) -> None:
        assert (await get(service, ada, "list")).json() == []


@pytest.mark.operation("organizations.update")
class TestUpdate:
    async def test_each_field(self, acme: Company) -> None:
        service = acme.service
        data = {"name": "Acme Ltd", "slug": "ACME-2", "logo": "https://a.example/x", "metadata": {"a": 1}}

        changed = await acme.post(acme.admin, "update", data=data)
        emptied = await post(service, acme.owner, "update", data={"logo": None, "metadata": None})

        expected = {"id": acme.id, "createdAt": AT, "name": "Acme Ltd", "slug": "acme-2"}
        assert changed.json() == {**expected, "logo": data["logo"], "metadata": {"a": 1}}
        assert emptied.json() == {**expected, "logo": None, "metadata": None}
        records = await of_event(service, "organization.updated")
        assert sorted(record.details["fields"] for record in records) == [
            ["custom_data", "logo"],
            ["custom_data", "logo", "name", "slug"],
        ]

    async def test_its_own_slug_may_be_sent(self, acme: Company) -> None:
        assert code(await acme.post(acme.owner, "update", data={"slug": "Acme"})) == "200"

    async def test_other_fields_are_ignored(self, acme: Company) -> None:
        data = {"name": "New", "id": UNKNOWN, "createdAt": "2020-01-01T00:00:00Z", "organizationId": UNKNOWN}

        changed = (await acme.post(acme.owner, "update", data=data)).json()

        assert (changed["id"], changed["createdAt"], changed["name"]) == (acme.id, AT, "New")

    async def test_refusals(self, acme: Company) -> None:
        service = acme.service
        await create(service, acme.outsider, "taken", keepCurrentActiveOrganization=True)
        right = {"data": {"name": "New"}}

        assert [
            refusal(answer)
            for answer in (
                await post(service, acme.outsider, "update", **right),
                await acme.post(acme.outsider, "update", **right),
                await post(service, acme.owner, "update", organizationId=UNKNOWN, **right),
                await acme.post(acme.member, "update", data={}),
                await acme.post(acme.admin, "update", data={"slug": "taken"}),
            )
        ] == [
            (400, "ORGANIZATION_NOT_FOUND", "Organization not found"),
            (400, NOT_A_MEMBER, "User is not a member of the organization"),
            (400, NOT_A_MEMBER, "User is not a member of the organization"),
            (
                403,
                "YOU_ARE_NOT_ALLOWED_TO_UPDATE_THIS_ORGANIZATION",
                "You are not allowed to update this organization",
            ),
            (400, "ORGANIZATION_SLUG_ALREADY_TAKEN", "Organization slug already taken"),
        ]

    @pytest.mark.parametrize("data", [{}, {"unknown": 1}])
    async def test_there_must_be_something_to_update(self, acme: Company, data: dict[str, Any]) -> None:
        answer = await acme.post(acme.owner, "update", data=data)

        assert refusal(answer) == (400, "VALIDATION_ERROR", "No fields to update")

    @pytest.mark.parametrize(
        "data",
        [{"name": " "}, {"name": None}, {"slug": "a b"}, {"logo": "x"}, {"metadata": {"x": "y" * 4096}}],
    )
    async def test_a_wrong_field_is_named(self, acme: Company, data: dict[str, Any]) -> None:
        answer = await acme.post(acme.owner, "update", data=data)

        assert code(answer) == "400 VALIDATION_ERROR"
        assert f"body.data.{next(iter(data))}" in answer.json()["message"]


@pytest.mark.operation("organizations.delete")
class TestDelete:
    async def test_everything_goes_with_it(self, acme: Company) -> None:
        service = acme.service
        await acme.invite()
        await acme.post(acme.member, "set-active")

        deleted = await acme.post(acme.owner, "delete")

        assert deleted.json()["id"] == acme.id
        tables = ("organization", "member", "invitation")
        assert [len(await service.rows(f"SELECT id FROM {table}")) for table in tables] == [0, 0, 0]
        assert [await active_of(service, one) for one in (acme.owner, acme.member)] == [None, None]
        record = await only(service, "organization.deleted")
        assert record.details["organizationId"] == acme.id

    async def test_refusals(self, acme: Company) -> None:
        answers = [
            await acme.post(acme.outsider, "delete"),
            await post(acme.service, acme.owner, "delete", organizationId=UNKNOWN),
            await acme.post(acme.admin, "delete"),
            await acme.post(acme.member, "delete"),
            await post(acme.service, acme.owner, "delete"),
        ]

        forbidden = "YOU_ARE_NOT_ALLOWED_TO_DELETE_THIS_ORGANIZATION"
        assert [code(one) for one in answers] == [
            f"400 {NOT_A_MEMBER}",
            f"400 {NOT_A_MEMBER}",
            f"403 {forbidden}",
            f"403 {forbidden}",
            "400 VALIDATION_ERROR",
        ]
        assert answers[2].json()["message"] == "You are not allowed to delete this organization"

    @settings(deletion=False)
    async def test_it_can_be_switched_off(self, acme: Company) -> None:
        answers = [await acme.post(person, "delete") for person in (acme.owner, acme.outsider)]

        disabled = (404, "ORGANIZATION_DELETION_DISABLED", "Organization deletion is disabled")
        assert [refusal(one) for one in answers] == [disabled, disabled]


class TestSwitch:
    """`organizations.enabled` is false by default."""

    @pytest.mark.parametrize("service", [{"organizations.enabled": "false"}], indirect=True)
    async def test_there_are_no_organizations(self, service: Service, ada: Person) -> None:
        answers = [
            await get(service, ada, "list"),
            await get(service, ada, "get-organization"),
            await post(service, ada, "create", name="Acme", slug="acme"),
            await post(service, ada, "create"),
            await service.post("/organization/create", {"name": "Acme", "slug": "acme"}),
        ]

        assert {code(one) for one in answers} == {"404 NOT_FOUND"}

    async def test_a_session_shows_nothing_that_was_active_before(
        self, service: Service, ada: Person
    ) -> None:
        made = await create(service, ada)
        url = service.services.settings.database_url.get_secret_value()
        directory = service.mail_file.parent

        async with running_service(url, directory, {"organizations.enabled": "false", **TEAMS_OFF}) as off:
            session = await session_of(off, ada)

        assert not {"activeOrganizationId", "activeTeamId"} & set(session)
        assert await active_of(service, ada) == made["id"]

    async def test_operations_of_roles_do_not_exist(self, service: Service, ada: Person) -> None:
        answers = [
            *[await post(service, ada, name) for name in ("create-role", "update-role", "delete-role")],
            *[await get(service, ada, name) for name in ("list-roles", "get-role")],
        ]

        assert {code(one) for one in answers} == {"404 NOT_FOUND"}
