"""The table `member`: which users belong to which organizations, and their roles there."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Index, UniqueConstraint, and_, bindparam, func, select, text
from sqlmodel import Field, col

from models.base import Record
from models.organization import ORGANIZATION_COLUMNS, Organization, OrganizationRow
from models.queries import ReadStatement, by
from models.session import Session
from models.statements import is_, table_of
from models.user import User

_IS_OWNER = text("is_owner")


class Member(Record, table=True):
    """One user in one organization."""

    __export__ = "organizationMemberships"
    __table_args__ = (
        UniqueConstraint("organization_id", "user_id"),
        Index(None, "user_id", "created_at"),
        Index("ix_member_owner", "organization_id", postgresql_where=_IS_OWNER, sqlite_where=_IS_OWNER),
    )

    organization_id: str = Field(foreign_key="organization.id", ondelete="CASCADE", max_length=32)
    user_id: str = Field(foreign_key="user.id", ondelete="CASCADE", max_length=32)
    role: str
    """The roles, separated by commas."""
    is_owner: bool
    """Whether `owner` is among the roles; written together with them."""


class MemberRow(NamedTuple):
    """A member as read by a query; the fields are those of `Member`."""

    id: str
    organization_id: str
    user_id: str
    role: str
    is_owner: bool
    created_at: datetime
    updated_at: datetime


class ActiveMembership(NamedTuple):
    """The active organization of a session, the roles of its user there, and the active team."""

    organization_id: str
    role: str
    team_id: str | None


class MemberWithUser(NamedTuple):
    """A member with the name, email address and picture of their user, which other members may see."""

    id: str
    organization_id: str
    user_id: str
    role: str
    is_owner: bool
    created_at: datetime
    updated_at: datetime
    name: str
    email: str
    image: str | None

    @property
    def member(self) -> MemberRow:
        """The member alone."""
        return MemberRow(
            self.id,
            self.organization_id,
            self.user_id,
            self.role,
            self.is_owner,
            self.created_at,
            self.updated_at,
        )


MEMBER_COLUMNS = tuple(col(getattr(Member, name)) for name in MemberRow._fields)
"""The columns of a `MemberRow`."""


def with_organization(columns: Sequence[Any]) -> tuple[MemberRow, OrganizationRow]:
    """Return a member and the organization from the columns of both."""
    count = len(MEMBER_COLUMNS)
    return MemberRow(*columns[:count]), OrganizationRow(*columns[count:])


_WITH_ORGANIZATIONS = (
    select(*MEMBER_COLUMNS, *ORGANIZATION_COLUMNS)
    .select_from(Member)
    .join(Organization, col(Member.organization_id) == col(Organization.id))
)

MEMBERSHIPS_OF_USER = ReadStatement(
    _WITH_ORGANIZATIONS.where(by(Member.user_id)).order_by(col(Member.created_at), col(Member.id)),
    with_organization,
)
"""The memberships of a user with their organizations, the oldest first."""

FIND_MEMBERSHIP = _WITH_ORGANIZATIONS.where(
    is_(Member.user_id, "user_id"), is_(Member.organization_id, "organization_id")
)
"""The columns of the membership of `user_id` in `organization_id`, and of the organization."""

FIND_MEMBERSHIP_BY_SLUG = _WITH_ORGANIZATIONS.where(
    is_(Member.user_id, "user_id"), is_(Organization.slug, "slug")
)
"""The columns of the membership of `user_id` in the organization with a `slug`, and of the organization."""

ACTIVE_MEMBERSHIP = ReadStatement(
    select(col(Member.organization_id), col(Member.role), col(Session.active_team_id))
    .select_from(Session)
    .join(
        Member,
        and_(
            col(Member.organization_id) == col(Session.active_organization_id),
            col(Member.user_id) == col(Session.user_id),
        ),
    )
    .where(by(Session.id)),
    ActiveMembership._make,
    key=Session.id,
)
"""The `ActiveMembership` of the session with an id; nothing if its user is not a member of its active organization."""

MEMBERS_WITH_USERS = (
    select(*MEMBER_COLUMNS, col(User.name), col(User.email), col(User.image))
    .select_from(User)
    .join(Member, col(Member.user_id) == col(User.id))
    .execution_options(row=MemberWithUser)
)
"""All members with their users; callers add conditions."""

_MEMBERS = select(*MEMBER_COLUMNS).execution_options(row=MemberRow)
_OF_ORGANIZATION = is_(Member.organization_id, "organization_id")

FIND_MEMBER = _MEMBERS.where(_OF_ORGANIZATION, is_(Member.user_id, "user_id"))
"""The membership of `user_id` in `organization_id`, as the transaction sees it."""

FIND_MEMBER_BY_ID = _MEMBERS.where(
    _OF_ORGANIZATION,  # defence: ORG8 member-scope
    is_(Member.id, "member_id"),
)
"""The member `member_id` of `organization_id`, as the transaction sees it."""

COUNT_MEMBERS = select(func.count()).select_from(table_of(Member)).where(_OF_ORGANIZATION)
"""The number of members of `organization_id`."""

COUNT_MEMBERSHIPS = select(func.count()).select_from(table_of(Member)).where(is_(Member.user_id, "user_id"))
"""The number of organizations of `user_id`."""

OTHER_OWNER = (
    select(col(Member.id))
    .where(_OF_ORGANIZATION, col(Member.is_owner), col(Member.id) != bindparam("member_id"))
    .limit(1)
)
"""An owner of `organization_id` other than `member_id`, if there is one."""
