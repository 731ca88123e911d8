"""/admin/search-users: one text, several filters, pages by position."""

from typing import Any

import pytest

from tests.conftest import MakeService
from tests.handlers.people import Person, add_person
from tests.handlers.steps import code, set_user
from tests.service import Service

PATH = "/admin/search-users"


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    return await make_service({"limits.enabled": "false"})


@pytest.fixture
async def admin(service: Service) -> Person:
    """An administrator, and twelve users created after them, an hour apart."""
    admin = await add_person(service, "admin", "zoe@example.com")
    for number in range(12):
        service.clock.advance(hours=1)
        await add_person(service, email=f"user{number:02}@example.com")
    await set_user(service, "user03@example.com", name="Émile", username="emile")
    return admin


async def search(service: Service, by: Person, **query: str) -> Any:
    """Return the body of a search."""
    answer = await service.get(PATH, params=query, headers=by.headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


def names(body: Any) -> list[str]:
    return [user["email"].partition("@")[0] for user in body["users"]]


@pytest.mark.operation("admin.search_users")
class TestSearch:
    @pytest.mark.both_databases
    async def test_pages_lead_forth_and_back(self, service: Service, admin: Person) -> None:
        first = await search(service, admin, limit="5", sort="email")
        second = await search(service, admin, limit="5", sort="email", after=first["next"])
        third = await search(service, admin, limit="5", sort="email", after=second["next"])
        again = await search(service, admin, limit="5", sort="email", before=third["previous"])

        assert first["previous"] is None
        assert names(first) == [f"user{number:02}" for number in range(5)]
        assert names(third) == ["user10", "user11", "zoe"]
        assert (names(again), third["next"], third["total"]) == (names(second), None, 13)

    @pytest.mark.both_databases
    @pytest.mark.parametrize(
        ("query", "match", "expected"),
        [
            ({"search": "USER0", "banned": "false"}, "starts_with", 10),
            ({"search": "r1"}, "contains", 2),
            ({"search": "é"}, "starts_with", 1),
            ({"search": "Emile"}, "starts_with", 1),
            ({"role": "admin", "twoFactorEnabled": "false"}, None, 1),
            ({"createdFrom": "2026-01-01T13:00:00Z", "createdBefore": "2026-01-01T15:00:00+00:00"}, None, 2),
            ({"provider": "credential"}, None, 13),
            ({"emailVerified": "true"}, None, 0),
        ],
    )
    async def test_it_compares_the_text_and_every_filter(
        self, service: Service, admin: Person, query: dict[str, str], match: str | None, expected: int
    ) -> None:
        body = await search(service, admin, **query)

        assert (body["match"], body["total"]) == (match, expected)

    @pytest.mark.parametrize(
        "query",
        [{"createdFrom": "2026-01-01T13:00:00"}, {"after": "x"}, {"sort": "password"}, {"banned": "perhaps"}],
    )
    async def test_a_parameter_that_is_wrong_is_named(
        self, service: Service, admin: Person, query: dict[str, str]
    ) -> None:
        answer = await service.get(PATH, params=query, headers=admin.headers)

        assert code(answer) == "400 VALIDATION_ERROR"
        assert f"[query.{next(iter(query))}]" in answer.json()["message"]

    async def test_it_needs_the_permission(self, service: Service) -> None:
        user = await add_person(service)

        answer = await service.get(PATH, headers=user.headers)

        assert code(answer) == "403 YOU_ARE_NOT_ALLOWED_TO_LIST_USERS"
