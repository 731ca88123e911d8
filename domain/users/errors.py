"""Errors about users."""

from domain.errors import BadRequest, Conflict, Forbidden, NotFound, Unprocessable


class UserAlreadyExistsUseAnotherEmail(Unprocessable):
    """The email address is taken."""

    message = "User already exists. Use another email."


class BannedUser(Forbidden):
    """The credential is right, but the user is banned."""

    message = "You have been banned from this application"


class EmailNotVerified(Forbidden):
    """The credential is right, but the email address is not verified. A new verification email may have been queued."""

    message = "Email not verified"
    keeps_writes = True


class EmailCanNotBeUpdated(BadRequest):
    """The email address is changed only by /change-email."""

    message = "Email can not be updated"


class FieldNotAllowed(BadRequest):
    """Only the service sets this field."""

    message = "The field is not allowed to be set"


class LastAdmin(BadRequest):
    """The user is the last one, apart from banned users, who may set roles."""

    message = "The last administrator cannot be removed"


class UsernameIsAlreadyTaken(BadRequest):
    """Another user has this username."""

    message = "Username is already taken. Please try another."


class UserNotFound(NotFound):
    """There is no user with this identifier."""

    message = "User not found"


class StaleProfile(Conflict):
    """The user was changed after the page with the form was shown."""

    message = "The profile was changed meanwhile"
