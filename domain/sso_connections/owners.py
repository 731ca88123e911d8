"""The owners of the organization of a connection, as recipients of notices."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlmodel import col

from domain.context import Context
from models.member import Member
from models.organization import FIND_ORGANIZATION, OrganizationRow
from models.sso_connection import ConnectionRow
from models.statements import is_
from models.user import SELECT_USER, User, UserRow

_OWNERS = (
    SELECT_USER.join(Member, col(Member.user_id) == col(User.id))
    .where(is_(Member.organization_id, "organization_id"), col(Member.is_owner))
    .order_by(col(Member.created_at), col(Member.id))
    .limit(20)
)


class Owners(NamedTuple):
    """An organization, and at most 20 of its owners, who are notified."""

    organization: OrganizationRow
    users: Sequence[UserRow]


async def owners_of(ctx: Context, row: ConnectionRow) -> Owners | None:
    """Return the owners of the organization of a connection; None for a connection of the whole service."""
    if row.organization_id is None:
        return None
    [organization] = await ctx.db.execute(FIND_ORGANIZATION, organization_id=row.organization_id)
    return Owners(organization, await ctx.db.execute(_OWNERS, organization_id=row.organization_id))
