"""Errors of the SCIM protocol (RFC 7644, 3.12), and those of the operations that manage tokens."""

from typing import ClassVar

from domain.errors import Conflict, NotFound, Refusal


class ScimError(Refusal):
    """An error of the protocol: its status, the keyword `scimType` if the RFC has one, and a text."""

    is_protocol = True
    status = 400
    message = "The request cannot be processed"
    scim_type: ClassVar[str | None] = None
    quotes_request: bool = False
    """Whether the message may repeat a part of the request. Such a message is not stored."""


class InvalidSyntax(ScimError):
    """The body is not a resource or message of the schema."""

    scim_type = "invalidSyntax"
    message = "The body does not have the form of the schema"


class InvalidValue(ScimError):
    """A value is missing or not allowed; the message names the attribute."""

    scim_type = "invalidValue"
    message = "A value is missing or not allowed"


class InvalidFilter(ScimError):
    """The filter cannot be parsed, or uses what is not supported."""

    scim_type = "invalidFilter"
    message = "The filter is not supported"


class InvalidPath(ScimError):
    """A path of a PATCH operation does not exist."""

    scim_type = "invalidPath"
    message = "The path does not exist"


class NoTarget(ScimError):
    """A path of a PATCH operation selects nothing."""

    scim_type = "noTarget"
    message = "The path selects nothing"


class InvalidCursor(ScimError):
    """The cursor of a list is malformed (RFC 9865)."""

    scim_type = "invalidCursor"
    message = "The cursor is not valid"


class TooMany(ScimError):
    """The request has more operations or members than one request may have."""

    scim_type = "tooMany"
    message = "The request has too many operations or members"


class Uniqueness(ScimError):
    """The address or name belongs to another user or group."""

    status = 409
    scim_type = "uniqueness"
    message = "The value is in use"


class Mutability(ScimError):
    """The request changes an attribute that is read-only or immutable."""

    scim_type = "mutability"
    message = "The attribute cannot be changed"


class ProtectedUser(ScimError):
    """Owners and administrators are not changed by directories."""

    status = 403
    scim_type = "mutability"
    message = "Owners of the organization and administrators of the service are not changed by a directory"
    keeps_writes = True


class ForeignDomain(ScimError):
    """An address outside the verified domains of the connection."""

    status = 403
    message = "The address is in no domain that the connection has verified"


class LimitReached(ScimError):
    """The organization or the user has no room for another membership."""

    status = 403
    message = "The organization has reached its limit of members"


class NoSuchResource(ScimError):
    """There is no such user or group in this directory."""

    status = 404
    message = "There is no such resource"


class VersionMismatch(ScimError):
    """The resource was changed since the version in If-Match."""

    status = 412
    message = "The resource has been changed"


class InvalidScimToken(ScimError):
    """The bearer token is missing, unknown, expired or revoked, or its connection is paused."""

    status = 401
    message = "The token is missing or not valid"


class DirectoryStopped(ScimError):
    """The directory has disabled too many users within an hour. It is stopped until an administrator confirms that."""

    status = 429
    message = "The directory is stopped because it disabled too many members. An owner has to confirm this."
    keeps_writes = True


class NotSupported(ScimError):
    """An optional operation of the protocol that the service does not support."""

    status = 501
    message = "The service does not support this operation"


class GroupsNotSupported(ScimError):
    """Groups are teams, and the connection has no organization with teams."""

    status = 501
    message = "Groups need an organization with teams"


class ScimTokenNotFound(NotFound):
    """The connection has no token with this id."""

    message = "SCIM token not found"


class TooManyScimTokens(Conflict):
    """The connection has as many tokens as it may have."""

    message = "Too many SCIM tokens"


class DirectoryNotStopped(Conflict):
    """The directory is not stopped."""

    message = "The directory is not stopped"
