"""The table `organization`: groups of users, such as the customers of an application."""

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Index, select, update
from sqlmodel import Field, col

from models.base import Record
from models.queries import ReadStatement, by
from models.statements import is_, table_of


class Organization(Record, table=True):
    """One organization. Its members, invitations, teams and API keys are deleted with it."""

    __table_args__ = (Index(None, "created_at", "id"),)

    name: str
    slug: str = Field(unique=True, max_length=64)
    logo: str | None = None
    custom_data: str | None = None
    """Data of the application, as JSON; called `metadata` in the API."""


class OrganizationRow(NamedTuple):
    """An organization as read by a query; the fields are those of `Organization`."""

    id: str
    name: str
    slug: str
    logo: str | None
    custom_data: str | None
    created_at: datetime
    updated_at: datetime


ORGANIZATION_COLUMNS = tuple(col(getattr(Organization, name)) for name in OrganizationRow._fields)
"""The columns of an `OrganizationRow`."""

ORGANIZATION_BY_ID = ReadStatement(
    select(*ORGANIZATION_COLUMNS).where(by(Organization.id)), OrganizationRow._make, key=Organization.id
)
"""An organization, by its id."""

_ORGANIZATIONS = select(*ORGANIZATION_COLUMNS).execution_options(row=OrganizationRow)

FIND_ORGANIZATION = _ORGANIZATIONS.where(is_(Organization.id, "organization_id"))
"""The organization `organization_id`, as the transaction sees it."""

FIND_BY_SLUG = _ORGANIZATIONS.where(is_(Organization.slug, "slug"))
"""The organization with a `slug`, as the transaction sees it."""

LOCK_ORGANIZATION = FIND_ORGANIZATION.with_for_update(key_share=True)
"""The organization `organization_id`, locked until the transaction ends."""

CHANGE_ORGANIZATION = (
    update(table_of(Organization))
    .where(is_(Organization.id, "organization_id"))
    .returning(*ORGANIZATION_COLUMNS)
    .execution_options(row=OrganizationRow)
)
"""Change columns of the organization `organization_id`; return it."""
