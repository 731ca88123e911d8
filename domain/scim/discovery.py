"""The discovery endpoints of the SCIM protocol: capabilities, resource types and schemas of the service."""

from collections.abc import Sequence

from domain import urls
from domain.context import Context
from domain.organizations.policy import TeamPolicy
from domain.scim import directories
from domain.scim.errors import NoSuchResource
from domain.scim.policy import ScimPolicy
from domain.scim.protocol import Document, ScimProtocol
from domain.scim.request import ScimReply, ScimRequest
from models.scim_token import Directory

_GROUP = "Group"


async def service_configuration(ctx: Context, request: ScimRequest) -> ScimReply:
    """Return the capabilities of the service. Raises InvalidScimToken, Limited."""
    await directories.enter(ctx, request)
    page_size = ctx.policy[ScimPolicy].page_size
    return ScimReply(ctx.port[ScimProtocol].service_configuration(_base(ctx), page_size))


async def resource_types(ctx: Context, request: ScimRequest) -> ScimReply:
    """Return all types of resources, or the one with the id in the path.

    Raises InvalidScimToken, Limited, NoSuchResource.
    """
    directory = await directories.enter(ctx, request)
    found = [
        each
        for each in ctx.port[ScimProtocol].resource_types(_base(ctx))
        if each["id"] != _GROUP or _has_groups(ctx, directory)
    ]
    return _reply(ctx, request, found)


async def schemas(ctx: Context, request: ScimRequest) -> ScimReply:
    """Return all schemas, or the one with the id in the path. Raises InvalidScimToken, Limited, NoSuchResource."""
    await directories.enter(ctx, request)
    return _reply(ctx, request, ctx.port[ScimProtocol].schemas(_base(ctx)))


def _reply(ctx: Context, request: ScimRequest, found: Sequence[Document]) -> ScimReply:
    if not request.id:
        number = len(found)
        return ScimReply(
            ctx.port[ScimProtocol].page(found, number=number, total=number, start=1, cursor=None)
        )
    for each in found:
        if each["id"] == request.id:
            return ScimReply(each)
    raise NoSuchResource


def _has_groups(ctx: Context, directory: Directory) -> bool:
    return directory.connection.organization_id is not None and ctx.policy[TeamPolicy].enabled


def _base(ctx: Context) -> str:
    return urls.public_url(ctx.policy, "/scim/v2")
