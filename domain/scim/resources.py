"""The users and groups of a directory as they are stored, and the responses that describe them."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Select, select
from sqlmodel import col

from domain import tokens
from domain.context import Context
from domain.organizations.access import retried
from domain.scim import directories, listing, ownership
from domain.scim.errors import InvalidValue, NoSuchResource, Uniqueness
from domain.scim.protocol import (
    GROUPS,
    USERS,
    Document,
    Facts,
    GroupAttributes,
    ScimProtocol,
    UserAttributes,
)
from domain.scim.request import ScimReply, ScimRequest
from models.scim_link import (
    ADD_LINK,
    ATTRIBUTES,
    CHANGE_LINK,
    SCIM_TEAMS,
    SCIM_USERS,
    ScimLink,
    ScimLinkRow,
)
from models.scim_token import Directory
from models.statements import is_
from models.team import Team, TeamMember
from models.user import User

MOST_EXTERNAL = 256
"""The most characters of an external id."""

_Attributes = UserAttributes | GroupAttributes


class Kind(NamedTuple):
    """One of the two kinds of resources, users or groups, and its statements."""

    endpoint: str
    noun: str
    column: str
    """The column of `ScimLink` with the id of the user or team."""
    every: Select[Any]
    """Selects all resources of a directory."""
    one: Select[Any]
    """Selects the resource with the id `resource_id`."""
    by_external_id: Select[Any]
    related: Select[Any, Any, Any]
    """Selects the groups of users, or the members of groups: id of the resource, id and name of the related one."""
    related_to: Any
    """The first column of `related`, with the ids of the resources."""


USER = Kind(
    USERS,
    "user",
    "user_id",
    SCIM_USERS,
    SCIM_USERS.where(is_(ScimLink.user_id, "resource_id")),
    SCIM_USERS.where(is_(ScimLink.external_id, "external_id")),
    select(col(TeamMember.user_id), col(Team.id), col(Team.name))
    .join(Team, col(Team.id) == col(TeamMember.team_id))
    .join(ScimLink, col(ScimLink.team_id) == col(Team.id))
    .where(is_(ScimLink.connection_id, "connection_id"))
    .order_by(col(Team.name), col(Team.id)),
    col(TeamMember.user_id),
)
GROUP = Kind(
    GROUPS,
    "group",
    "team_id",
    SCIM_TEAMS,
    SCIM_TEAMS.where(is_(ScimLink.team_id, "resource_id")),
    SCIM_TEAMS.where(is_(ScimLink.external_id, "external_id")),
    select(col(TeamMember.team_id), col(User.id), col(User.email))
    .join(User, col(User.id) == col(TeamMember.user_id))
    .join(ScimLink, col(ScimLink.user_id) == col(User.id))
    .where(is_(ScimLink.connection_id, "connection_id"))
    .order_by(col(User.id)),
    col(TeamMember.team_id),
)


async def find_or_none(
    ctx: Context, directory: Directory, kind: Kind, resource_id: str
) -> ScimLinkRow | None:
    """Return the user or group with this id of its user or team; None if it is not in the directory."""
    rows = await ctx.db.execute(kind.one, connection_id=directory.connection.id, resource_id=resource_id)
    return next(iter(await _own(ctx, directory, kind, rows)), None)


async def find(ctx: Context, directory: Directory, kind: Kind, resource_id: str) -> ScimLinkRow:
    """Return the user or group with this id of its user or team. Raises NoSuchResource."""
    row = await find_or_none(ctx, directory, kind, resource_id)
    if row is None:
        raise NoSuchResource
    return row


async def related(
    ctx: Context, directory: Directory, kind: Kind, ids: Sequence[str]
) -> Mapping[str, Sequence[tuple[str, str]]]:
    """Return the groups of each user, or the members of each group, as pairs of id and name, by the id of the resource.

    The name of a member is the email address. Resources without groups or members are left out.
    """
    found: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    statement = kind.related.where(kind.related_to.in_(ids))
    for resource_id, id_, name in await ctx.db.execute(statement, connection_id=directory.connection.id):
        found[resource_id].append((id_, name))
    return found


async def check_external_id(
    ctx: Context, directory: Directory, kind: Kind, external_id: str | None, resource_id: str | None = None
) -> None:
    """Check the length of an external id, and that no other resource of the kind has it.

    `resource_id` is the resource that may have it already; None for a new one. Raises InvalidValue, Uniqueness.
    """
    if external_id is None:
        return
    if len(external_id) > MOST_EXTERNAL:
        raise InvalidValue(f"externalId: must have at most {MOST_EXTERNAL} characters")
    row = (
        await ctx.db.execute(
            kind.by_external_id, connection_id=directory.connection.id, external_id=external_id
        )
    ).first()
    if row is not None and row.resource_id != resource_id:
        raise Uniqueness(f"externalId: another {kind.noun} of the directory has it")


async def add(
    ctx: Context,
    directory: Directory,
    kind: Kind,
    resource: tuple[str, str],
    sent: _Attributes,
    **columns: Any,
) -> ScimLinkRow:
    """Add a user or group to a directory; return its row.

    `resource` is its id, and its email address or name. `columns` replace the default values, which are those of an
    active user whom the directory has created.
    """
    resource_id, name = resource
    values: dict[str, Any] = {
        "id": tokens.token(),
        "external_id": sent.external_id,
        "active": True,
        "provisioned": True,
        "role": None,
        "attributes": _encrypted(ctx, sent),
        "version": 1,
        "created_at": ctx.now,
        "updated_at": ctx.now,
        **columns,
    }
    with retried():
        await ctx.db.execute(
            ADD_LINK, connection_id=directory.connection.id, **{kind.column: resource_id}, **values
        )
    return ScimLinkRow(resource_id=resource_id, name=name, **values)


async def change(ctx: Context, row: ScimLinkRow, sent: _Attributes, **columns: Any) -> ScimLinkRow:
    """Store new attributes and `columns` of a resource and increment its version; return the changed row."""
    values: dict[str, Any] = {
        "external_id": sent.external_id,
        "attributes": _encrypted(ctx, sent),
        "version": row.version + 1,
        "updated_at": ctx.now,
        **columns,
    }
    with retried():
        await ctx.db.execute(CHANGE_LINK, link_id=row.id, **values)
    return row._replace(**values)


def document_of(ctx: Context, row: ScimLinkRow) -> Document:
    """Return the JSON object that the directory has sent for a resource; empty if it cannot be decrypted."""
    document: Document = json.loads(ctx.cipher.decrypt(ATTRIBUTES, row.attributes) or "{}")
    return document


async def reply(
    ctx: Context,
    directory: Directory,
    kind: Kind,
    row: ScimLinkRow,
    request: ScimRequest,
    *,
    status: int = 200,
) -> ScimReply:
    """Return the response with a resource, or status 304 if the client has its current version (`If-None-Match`)."""
    etag = directories.etag(row.version)
    if status == 200 and request.if_none_match == etag:
        return ScimReply(None, status=304, etag=etag)
    [resource] = await _resources(ctx, directory, kind, [row], request)
    location = directories.location(ctx, kind.endpoint, row.resource_id)
    return ScimReply(resource, status=status, etag=etag, location=location)


async def reply_page(
    ctx: Context, directory: Directory, kind: Kind, page: listing.Page, request: ScimRequest
) -> ScimReply:
    """Return the response with a page of resources. Raises InvalidFilter, InvalidValue, InvalidPath."""
    rows, total, cursor = await listing.rows(ctx, directory, page, kind.every)
    own = await _own(ctx, directory, kind, rows)
    resources = await _resources(ctx, directory, kind, own, request)
    # Clients add this number to `startIndex`. Without the users that are left out they would repeat pages for ever.
    made = ctx.port[ScimProtocol].page(
        resources, number=len(rows), total=total, start=page.start, cursor=cursor
    )
    return ScimReply(made)


async def _own(
    ctx: Context, directory: Directory, kind: Kind, rows: Sequence[ScimLinkRow]
) -> Sequence[ScimLinkRow]:
    return await ownership.own(ctx, directory, rows) if rows and kind is USER else rows


async def _resources(
    ctx: Context, directory: Directory, kind: Kind, rows: Sequence[ScimLinkRow], request: ScimRequest
) -> Sequence[Document]:
    if not rows:
        return ()
    others = await related(ctx, directory, kind, [row.resource_id for row in rows])
    return [_resource(ctx, kind, row, others.get(row.resource_id, ()), request) for row in rows]


def _resource(
    ctx: Context,
    kind: Kind,
    row: ScimLinkRow,
    others: Sequence[tuple[str, str]],
    request: ScimRequest,
) -> Document:
    facts = Facts(
        id=row.resource_id,
        external_id=row.external_id,
        location=directories.location(ctx, kind.endpoint, row.resource_id),
        created_at=row.created_at,
        updated_at=row.updated_at,
        version=directories.etag(row.version),
        name=row.name,
        active=row.active,
        related=others,
    )
    return ctx.port[ScimProtocol].resource(kind.endpoint, document_of(ctx, row), facts, request.query)


def _encrypted(ctx: Context, sent: _Attributes) -> bytes:
    return ctx.cipher.encrypt(ATTRIBUTES, json.dumps(sent.document))
