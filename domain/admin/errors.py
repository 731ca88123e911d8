"""Errors of administration."""

from domain.errors import BadRequest, Conflict, Forbidden, NotFound


class SearchTooBroad(BadRequest):
    """The search takes longer than `admin.scan_timeout`."""

    message = "The search is too broad; use starts_with or a filter"


class InvalidRoleType(BadRequest):
    """A role is neither a string nor an array of strings."""

    message = "Invalid role type"


class YouAreNotAllowedToSetNonExistentValue(BadRequest):
    """A requested role is not configured."""

    message = "You are not allowed to set a non-existent role value"


class NoDataToUpdate(BadRequest):
    """None of the fields that can be changed is given."""

    message = "No data to update"


class PasswordCannotBeUpdatedViaUpdateUser(BadRequest):
    """A password is set by /admin/set-user-password."""

    message = "Password cannot be updated through update-user. Use the set-user-password endpoint instead"


class UserIdCannotBeUpdated(BadRequest):
    """The identifier of a user never changes."""

    message = "User id cannot be updated"


class YouCannotBanYourself(BadRequest):
    """The caller is the user to ban."""

    message = "You cannot ban yourself"


class NotImpersonating(BadRequest):
    """The caller's session is not an impersonation session."""

    message = "You are not impersonating anyone"


class YouCannotRemoveYourself(BadRequest):
    """The caller is the user to delete."""

    message = "You cannot remove yourself"


class YouAreNotAllowedToListUsers(Forbidden):
    """No role of the caller grants `user: list`."""

    message = "You are not allowed to list users"


class YouAreNotAllowedToGetUser(Forbidden):
    """No role of the caller grants `user: get` (for an export also `session: list`), or the user has permissions that
    the caller lacks."""

    message = "You are not allowed to get user"


class YouAreNotAllowedToListUsersSessions(Forbidden):
    """No role of the caller grants `session: list`, or the user has permissions that the caller lacks."""

    message = "You are not allowed to list users sessions"


class YouAreNotAllowedToCreateUsers(Forbidden):
    """No role of the caller grants `user: create`."""

    message = "You are not allowed to create users"


class YouAreNotAllowedToChangeUsersRole(Forbidden):
    """No role of the caller grants `user: set-role`, or the user or a role has permissions that the caller lacks."""

    message = "You are not allowed to change users role"


class YouAreNotAllowedToBanUsers(Forbidden):
    """No role of the caller grants `user: ban`, or the user has permissions that the caller lacks."""

    message = "You are not allowed to ban users"


class YouAreNotAllowedToSetUsersEmail(Forbidden):
    """No role of the caller grants `user: set-email`, or the address is the caller's own."""

    message = "You are not allowed to update users email"


class YouAreNotAllowedToUpdateUsers(Forbidden):
    """No role of the caller grants `user: update`, or the user has permissions that the caller lacks."""

    message = "You are not allowed to update users"


class YouAreNotAllowedToSetUsersPassword(Forbidden):
    """No role of the caller grants `user: set-password`, or the user is the caller or has permissions that the caller
    lacks."""

    message = "You are not allowed to set users password"


class YouAreNotAllowedToResetTwoFactor(Forbidden):
    """No role of the caller grants `user: reset-two-factor`, or the user is the caller or has permissions that the
    caller lacks."""

    message = "You are not allowed to reset the second factor of users"


class YouAreNotAllowedToRemoveUsersAccess(Forbidden):
    """No role of the caller grants `user: set-password`, or the user is the caller or has permissions that the caller
    lacks."""

    message = "You are not allowed to remove ways to sign in of users"


class YouAreNotAllowedToRevokeUsersSessions(Forbidden):
    """No role of the caller grants `session: revoke`, or the user has permissions that the caller lacks."""

    message = "You are not allowed to revoke users sessions"


class YouAreNotAllowedToDeleteUsers(Forbidden):
    """No role of the caller grants `user: delete`, or the user has permissions that the caller lacks."""

    message = "You are not allowed to delete users"


class YouAreNotAllowedToImpersonateUsers(Forbidden):
    """No role of the caller grants `user: impersonate`, or the user has permissions that the caller lacks."""

    message = "You are not allowed to impersonate users"


class YouCannotImpersonateAdmins(Forbidden):
    """The user is the caller, or has an administrative role."""

    message = "You cannot impersonate admins"


class NotAllowedWhileImpersonating(Forbidden):
    """The caller acts in the name of a user."""

    message = "Not allowed while impersonating"


class TwoFactorRequired(Forbidden):
    """`admin.require_two_factor` is true, and the caller has no second factor."""

    message = "Two-factor authentication is required"


class EmailTaken(BadRequest):
    """The email address belongs to another user. Sign-up has the same error with status 422."""

    code = "USER_ALREADY_EXISTS_USE_ANOTHER_EMAIL"
    message = "User already exists. Use another email."


class YouAreNotAllowedToListApiKeys(Forbidden):
    """No role of the caller grants `apiKey: manage`."""

    message = "You are not allowed to list the API keys of all users"


class YouAreNotAllowedToManageService(Forbidden):
    """No role of the caller grants `service: manage`."""

    message = "You are not allowed to manage the service"


class ExportInProgress(Conflict):
    """Another export of the caller is running."""

    message = "Another export of yours is running; wait until it ends"


class AuditEventNotFound(NotFound):
    """There is no audit event with this id."""

    message = "Audit event not found"
