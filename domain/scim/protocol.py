"""The interface of the SCIM protocol: resources, PATCH, filters and discovery, without any storage.

`server/scim` implements it with scim2-models. The code in `domain` uses only this module.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple, Protocol

Document = Mapping[str, Any]
"""A resource or message as JSON."""

USERS, GROUPS = "Users", "Groups"
"""The endpoints of resources."""

Operator = Literal["eq", "co", "sw", "gt", "ge", "lt", "le", "pr"]


class UserAttributes(NamedTuple):
    """The attributes of a user that a directory has sent."""

    user_name: str
    active: bool
    external_id: str | None
    name: str
    image: str | None
    document: Document
    """The JSON of the resource without the attributes that the service sets."""


class GroupAttributes(NamedTuple):
    """The attributes of a group that a directory has sent."""

    display_name: str
    external_id: str | None
    members: Sequence[str]
    """The ids of users."""
    document: Document


class Condition(NamedTuple):
    """A comparison of an attribute with a value; a filter is met if all of its conditions are."""

    attribute: str
    """`userName`, `emails.value`, `externalId`, `id`, `active`, `displayName` or `meta.lastModified`."""
    operator: Operator
    value: str | bool | datetime | None


@dataclass(frozen=True, slots=True)
class Facts:
    """The attributes of a resource that the service sets."""

    id: str
    external_id: str | None
    location: str
    created_at: datetime
    updated_at: datetime
    version: str
    name: str
    """The address of a user, or the name of a group."""
    active: bool = True
    related: Sequence[tuple[str, str]] = ()
    """The ids and names of the groups of a user, or the ids and addresses of the members of a group."""


class ScimProtocol(Protocol):
    """Reads and writes the JSON of the protocol."""

    def read_user(self, body: Any) -> UserAttributes:
        """Return the user in the body of a request that creates or replaces it. Raises InvalidSyntax, InvalidValue."""

    def patch_user(self, before: Document, body: Any) -> UserAttributes:
        """Return the user `before` as the operations of a PATCH body change it.

        Raises InvalidSyntax, InvalidValue, InvalidPath, NoTarget, Mutability, TooMany.
        """

    def read_group(self, body: Any) -> GroupAttributes:
        """Return the group in the body of a request that creates or replaces it.

        Raises InvalidSyntax, InvalidValue, TooMany.
        """

    def patch_group(self, before: Document, members: Sequence[str], body: Any) -> GroupAttributes:
        """Return the group `before`, with the ids of its members, as the operations of a PATCH body change it.

        Raises InvalidSyntax, InvalidValue, InvalidPath, NoTarget, Mutability, TooMany.
        """

    def conditions(self, endpoint: str, text: str) -> Sequence[Condition]:
        """Parse a filter; return its conditions, all of which must be met. Raises InvalidFilter."""

    def resource(self, endpoint: str, document: Document, facts: Facts, query: Mapping[str, str]) -> Document:
        """Return the JSON of a resource; `attributes` and `excludedAttributes` in `query` select its attributes.

        Raises InvalidValue, InvalidPath.
        """

    def page(
        self,
        resources: Sequence[Document],
        *,
        number: int,
        total: int | None,
        start: int | None,
        cursor: str | None,
    ) -> Document:
        """Return the response with a page of resources.

        `number` is the number of rows that were read for the page, including resources that are left out. `total` and
        `start` are None in a list by cursor. `cursor` is that of the next page; None if there is none.
        """

    def service_configuration(self, base_url: str, page_size: int) -> Document:
        """Return the capabilities of the service; `page_size` is the largest number of resources in a page."""

    def resource_types(self, base_url: str) -> Sequence[Document]:
        """Return the types of resources."""

    def schemas(self, base_url: str) -> Sequence[Document]:
        """Return the schemas."""
