"""Errors of the administration of organizations."""

from domain.errors import Conflict, Forbidden, NotFound, Unprocessable


class YouAreNotAllowedToManageOrganizations(Forbidden):
    """No role of the caller grants `organization: manage`."""

    message = "You are not allowed to manage organizations"


class NoSuchOrganization(NotFound):
    """There is no organization with this identifier."""

    code = "ORGANIZATION_NOT_FOUND"
    message = "Organization not found"


class OrganizationChanged(Conflict):
    """The organization or the member was changed after a form was shown."""

    message = "The organization was changed after you opened this form, so nothing was saved. Check it, and try again."


class SlugNotConfirmed(Unprocessable):
    """The typed slug is not that of the organization to delete."""

    message = "This is not the slug of the organization."
