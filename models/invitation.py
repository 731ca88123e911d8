"""The table `invitation`: email addresses that were invited to organizations."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from sqlalchemy import Index, LargeBinary, bindparam, func, or_, select, text
from sqlmodel import Field, SQLModel, col

from models.base import Access, Instant, Record, Retention
from models.statements import is_, table_of


class InvitationStatus(StrEnum):
    """The status of an invitation. A pending one can be answered only until it expires."""

    PENDING = "pending"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    CANCELED = "canceled"


_IS_PENDING = text("status = 'pending'")


class Invitation(Record, table=True):
    """One invitation. The secret in its link is only in the email; a digest of the secret is stored."""

    __retention__ = (Retention("expires_at", timedelta(days=90)),)
    # An invitation that a stranger sent from an account with another's address would let the stranger's own account in.
    __access__ = (  # defence: M5 invitations
        Access(
            "invitations",
            "invitations",
            where=lambda row: row.status == InvitationStatus.PENDING.value,
            expiry="expires_at",
            owner="inviter_id",
        ),
    )
    __table_args__ = (
        Index(
            "ix_invitation_pending",
            "organization_id",
            "email",
            unique=True,
            postgresql_where=_IS_PENDING,
            sqlite_where=_IS_PENDING,
        ),
        Index(None, "email", "status"),
        Index(None, "organization_id", "created_at"),
        Index(None, "inviter_id"),
        Index(None, "expires_at"),
    )

    organization_id: str = Field(foreign_key="organization.id", ondelete="CASCADE", max_length=32)
    email: str
    """The invited address, in lower case."""
    role: str
    """The roles, separated by commas."""
    status: str = Field(max_length=16)
    inviter_id: str = Field(foreign_key="user.id", ondelete="CASCADE", max_length=32)
    secret_digest: bytes | None = Field(default=None, unique=True, repr=False)
    """The SHA-256 digest of the secret; None for an imported invitation."""
    expires_at: datetime = Field(sa_type=Instant)


class InvitationTeam(SQLModel, table=True):
    """A team that the user joins by accepting an invitation."""

    __tablename__ = "invitation_team"

    invitation_id: str = Field(
        primary_key=True, foreign_key="invitation.id", ondelete="CASCADE", max_length=32
    )
    team_id: str = Field(
        primary_key=True, foreign_key="team.id", ondelete="CASCADE", index=True, max_length=32
    )


class InvitationRow(NamedTuple):
    """An invitation as read by a query; the fields are those of `Invitation`, without the digest."""

    id: str
    organization_id: str
    email: str
    role: str
    status: str
    inviter_id: str
    expires_at: datetime
    created_at: datetime
    updated_at: datetime

    def is_open(self, now: datetime) -> bool:
        """Return whether the invitation can be answered at `now`."""
        return self.status == InvitationStatus.PENDING and now < self.expires_at


INVITATION_COLUMNS = tuple(col(getattr(Invitation, name)) for name in InvitationRow._fields)
"""The columns of an `InvitationRow`."""

INVITATIONS = select(*INVITATION_COLUMNS).execution_options(row=InvitationRow)
"""All invitations; callers add conditions."""

IS_OPEN = (
    col(Invitation.status) == InvitationStatus.PENDING.value,
    col(Invitation.expires_at) > bindparam("now", type_=Instant()),
)
"""The conditions of invitations that can be answered `now`."""

FIND_INVITATION = INVITATIONS.where(
    or_(
        is_(Invitation.id, "invitation_id"),
        col(Invitation.secret_digest) == bindparam("secret_digest", type_=LargeBinary()),
    )
)
"""The invitation with an `invitation_id`, or with a `secret_digest`."""

PENDING_OF_ADDRESS = INVITATIONS.where(
    is_(Invitation.organization_id, "organization_id"),
    is_(Invitation.email, "email"),
    col(Invitation.status) == InvitationStatus.PENDING.value,
)
"""The pending invitation of `email` to `organization_id`, expired or not."""

COUNT_OPEN_INVITATIONS = (
    select(func.count())
    .select_from(table_of(Invitation))
    .where(is_(Invitation.organization_id, "organization_id"), *IS_OPEN)
)
"""The number of invitations of `organization_id` that can be answered `now`."""
