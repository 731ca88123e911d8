"""Changes of the members of a group, in the forms that directories send."""

from typing import Any

import pytest

from domain.scim.errors import InvalidPath, InvalidValue, ScimError
from server.scim.engine import Engine
from tests.processor import processor_seconds
from tests.scim import GROUP, PATCH

STAFF = {"schemas": [GROUP], "displayName": "Staff"}


def patched(members: list[str], *operations: Any) -> tuple[list[str], str]:
    """Return the members and the name of a group after operations."""
    group = Engine().patch_group(STAFF, members, {"schemas": [PATCH], "Operations": list(operations)})
    return list(group.members), group.display_name


def values(*ids: str) -> list[dict[str, str]]:
    """Return members as directories send them."""
    return [{"value": id_} for id_ in ids]


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ({"op": "add", "path": "members", "value": values("c", "d")}, "abcd"),
        ({"op": "Add", "path": "Members", "value": {"Value": "d", "display": "D"}}, "abcd"),
        ({"op": "add", "value": {"members": values("d")}}, "abcd"),
        ({"op": "add", "value": {f"{GROUP}:members": values("d")}}, "abcd"),
        ({"op": "replace", "path": "members", "value": values("d")}, "d"),
        ({"op": "replace", "path": "members", "value": None}, ""),
        ({"op": "replace", "path": f"{GROUP}:members", "value": []}, ""),
        ({"op": "remove", "path": "members"}, ""),
        ({"op": "remove", "path": "members", "value": values("a", "z")}, "bc"),
        ({"op": "Remove", "path": 'members[Value eq "b"]'}, "ac"),
        ({"op": "remove", "path": 'members[value eq "z"]'}, "abc"),
    ],
)
def test_are_applied(operation: Any, expected: str) -> None:
    assert patched(["a", "b", "c"], operation) == (list(expected), "Staff")


def test_are_applied_in_their_order_and_next_to_others() -> None:
    operations = [
        {"op": "remove", "path": "members"},
        {"op": "replace", "value": {"displayName": "All", "members": values("d")}},
        {"op": "add", "path": "members", "value": values("a")},
    ]

    assert patched(["a", "b"], *operations) == (["d", "a"], "All")


@pytest.mark.parametrize(
    ("operation", "error"),
    [
        ({"op": "add", "path": "members", "value": "d"}, InvalidValue),
        ({"op": "add", "path": "members", "value": [{"display": "d"}]}, InvalidValue),
        ({"op": "add", "path": "members", "value": [{"value": 3}]}, InvalidValue),
        ({"op": "remove", "path": 'members[display eq "d"]'}, InvalidPath),
        ({"op": "remove", "path": 'members[value eq "a" or value eq "b"]'}, InvalidPath),
        ({"op": "remove", "path": 'members[value eq "a"].display'}, InvalidPath),
        ({"op": "replace", "path": 'members[value eq "a"]', "value": {"value": "d"}}, InvalidPath),
        ({"op": "replace", "path": "members.value", "value": "d"}, InvalidPath),
    ],
)
def test_in_other_forms_are_refused(operation: Any, error: type[ScimError]) -> None:
    with pytest.raises(error):
        patched(["a", "b", "c"], operation)


def test_of_large_groups_cost_little() -> None:
    ids = [str(number) for number in range(1000)]
    removals = [{"op": "remove", "path": f'members[value eq "{id_}"]'} for id_ in ids[::2]]

    with processor_seconds() as spent:
        left, _ = patched(ids, {"op": "remove", "path": "members", "value": values(*ids[1::4])}, *removals)
        seconds = spent()

    assert len(left) == 250
    # With scim2-models alone it is 8 seconds.
    assert seconds < 2
