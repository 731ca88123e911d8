"""The conformance tests of scim2-tester at a directory of an organization."""

from typing import Annotated

import pytest
from httpx2 import Client
from pydantic import Field
from scim2_client.engines.httpx2 import SyncSCIMClient
from scim2_models import Mutability, Required, ResourceType, ScimProvider, Uniqueness, User
from scim2_tester import Status, check_server

ADDRESSES = [f"user{number}@example.com" for number in range(100_000)]


class Employee(User):  # type: ignore[type-arg]
    """A user whose name is an address, as this service wants it; values that tests make up are taken from here."""

    user_name: Annotated[str | None, Uniqueness.server, Required.true] = Field(None, examples=ADDRESSES)
    password: Annotated[str | None, Mutability.read_only] = None
    """No directory sets one."""


@pytest.fixture
def client(transport: Client) -> SyncSCIMClient:
    """A client of the directory."""
    # Groups are as the service describes them.
    provider = ScimProvider(models=[Employee], resource_types=[ResourceType.from_resource(Employee)])
    return SyncSCIMClient(transport, provider=provider)


def test_the_conformance_tests_find_nothing(client: SyncSCIMClient) -> None:
    results = check_server(client)

    failed = [
        f"{each.title}: {each.reason}" for each in results if each.status in (Status.ERROR, Status.CRITICAL)
    ]
    assert failed == [], "\n".join(failed)
    assert len(results) > 80
