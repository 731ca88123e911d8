"""Which users a directory may see and change."""

from collections.abc import Sequence

from sqlalchemy import select
from sqlmodel import col

from domain.context import Context
from domain.identifiers import domain_of
from domain.scim import directories
from models.member import Member
from models.scim_link import ScimLinkRow
from models.scim_token import Directory
from models.statements import is_

_MEMBERS = select(col(Member.user_id)).where(is_(Member.organization_id, "organization_id"))


async def own(ctx: Context, directory: Directory, rows: Sequence[ScimLinkRow]) -> Sequence[ScimLinkRow]:
    """Return the rows of users whom the directory may see and change.

    The directory has created the user, or the email address is in one of its verified domains. If the directory has an
    organization, the user must also be a member of it, unless the directory has disabled the user.
    """
    domains = await directories.domains(ctx, directory)
    # defence: SSO12 own-addresses
    rows = [row for row in rows if row.provisioned or domain_of(row.name) in domains]
    active = [row.resource_id for row in rows if row.active]
    organization_id = directory.connection.organization_id
    if organization_id is None or not active:
        return rows
    statement = _MEMBERS.where(col(Member.user_id).in_(active))
    members = set((await ctx.db.execute(statement, organization_id=organization_id)).scalars())
    # defence: SSO12 own-while-members
    return [row for row in rows if not row.active or row.resource_id in members]
