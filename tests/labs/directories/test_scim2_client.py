"""scim2-client, configured by nothing but what the service says about itself, keeps users and groups in step."""

from typing import Any

import pytest
from httpx2 import Client
from scim2_client.engines.httpx2 import SyncSCIMClient
from scim2_models import Error, PatchOp, PatchOperation, SearchRequest

NUMBER = 7
"""Users of a list."""


@pytest.fixture
def client(transport: Client) -> SyncSCIMClient:
    """A client that has discovered models, resource types and abilities."""
    client = SyncSCIMClient(transport, raise_scim_errors=False)
    client.discover()
    return client


def model(client: SyncSCIMClient, name: str) -> Any:
    """Return the class of a resource type, made of the schemas of the service."""
    found = client.get_resource_model(name)
    assert found is not None
    return found


def replacing(resource: type[Any], path: str, value: object) -> Any:
    """Return a change of one attribute."""
    # Their type parameters are known only now.
    operation, patch = _of(PatchOperation, resource), _of(PatchOp, resource)
    return patch(operations=[operation(op="replace", path=path, value=value)])


def _of(generic: Any, resource: type[Any]) -> Any:
    return generic[resource]


def search(**parameters: Any) -> SearchRequest[Any]:
    """Return the parameters of a list, with a filter as text."""
    return SearchRequest(**parameters)


def names(found: Any) -> list[str]:
    """Return the names in a list of users."""
    return [each.user_name for each in found.resources or ()]


def test_a_user_from_the_first_day_to_the_last(client: SyncSCIMClient) -> None:
    user = model(client, "User")

    ada: Any = client.create(
        user(user_name="ada@example.com", display_name="Ada", external_id="00u1", active=True)
    )
    read: Any = client.query(user, ada.id)
    found: Any = client.query(user, query_parameters=search(filter='externalId eq "00u1"'))
    missing: Any = client.query(user, query_parameters=search(filter='userName eq "eve@example.com"'))
    read.display_name = "Ada Lovelace"
    replaced: Any = client.replace(read)
    client.modify(replaced, replacing(user, "active", False))
    disabled: Any = client.query(user, ada.id)
    gone: Any = client.delete(disabled)
    after: Any = client.query(user, ada.id)

    assert (read.user_name, read.external_id) == ("ada@example.com", "00u1")
    assert (names(found), names(missing)) == (["ada@example.com"], [])
    assert (replaced.display_name, replaced.id) == ("Ada Lovelace", ada.id)
    assert (replaced.active, disabled.active) == (True, False)
    assert gone is None
    assert (type(after), after.status) == (Error, 404)


def test_a_group_and_its_members(client: SyncSCIMClient) -> None:
    user, group = model(client, "User"), model(client, "Group")
    made_users: list[Any] = [
        client.create(user(user_name=f"{name}@example.com")) for name in ("grace", "mary")
    ]
    grace, mary = (each.id for each in made_users)

    made: Any = client.create(group(display_name="Compilers", members=[{"value": grace}]))
    client.modify(made, replacing(group, "members", [{"value": mary}]))
    changed: Any = client.query(group, made.id)
    found: Any = client.query(group, query_parameters=search(filter='displayName eq "Compilers"'))
    changed.display_name = "Languages"
    replaced: Any = client.replace(changed)
    gone: Any = client.delete(replaced)
    after: Any = client.query(group, made.id)

    assert [each.value for each in made.members] == [grace]
    assert [each.value for each in changed.members] == [mary]
    assert [each.id for each in found.resources] == [made.id]
    assert replaced.display_name == "Languages"
    assert (gone, after.status) == (None, 404)


def test_a_list_in_pages(client: SyncSCIMClient) -> None:
    user = model(client, "User")
    expected = {f"page{number}@example.com" for number in range(NUMBER)}
    for name in expected:
        client.create(user(user_name=name))
    query = 'userName sw "page"'

    by_index: list[str] = []
    while len(by_index) < NUMBER:
        first = len(by_index) + 1
        page: Any = client.query(user, query_parameters=search(filter=query, start_index=first, count=3))
        assert (page.total_results, page.start_index) == (NUMBER, first)
        by_index += names(page)
    by_cursor: list[str] = []
    cursor: str | None = ""
    sizes: list[int] = []
    while cursor is not None:
        page = client.query(user, query_parameters=search(filter=query, cursor=cursor, count=3))
        by_cursor += names(page)
        sizes.append(len(page.resources))
        cursor = page.next_cursor

    assert sorted(by_index) == sorted(by_cursor) == sorted(expected)
    assert sizes == [3, 3, 1]


def test_an_old_version_changes_nothing(client: SyncSCIMClient) -> None:
    user = model(client, "User")
    old: Any = client.create(user(user_name="joan@example.com", display_name="Joan"))
    new: Any = client.query(user, old.id)
    new.display_name = "Joan Clarke"
    new = client.replace(new)

    old.display_name = "Overwritten"
    refused: list[Any] = [
        client.replace(old),
        client.modify(old, replacing(user, "displayName", "Overwritten")),
        client.delete(old),
    ]
    unchanged: Any = client.query(new)

    assert [each.status for each in refused] == [412, 412, 412]
    assert unchanged is new, "304 Not Modified"
    assert new.display_name == "Joan Clarke"
