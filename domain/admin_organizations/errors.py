"""Errors of the administration of organizations."""

from domain.errors import Forbidden, NotFound


class YouAreNotAllowedToManageOrganizations(Forbidden):
    """No role of the caller grants `organization: manage`."""

    message = "You are not allowed to manage organizations"


class NoSuchOrganization(NotFound):
    """There is no organization with this identifier."""

    code = "ORGANIZATION_NOT_FOUND"
    message = "Organization not found"
