"""Errors about users."""

from domain.errors import BadRequest, Forbidden, Unprocessable


class UserAlreadyExistsUseAnotherEmail(Unprocessable):
    """The address is taken."""

    message = "User already exists. Use another email."


class BannedUser(Forbidden):
    """The password is right, the user is banned."""

    message = "You have been banned from this application"


class EmailNotVerified(Forbidden):
    """The password is right, the address unverified; a fresh link may be on its way."""

    message = "Email not verified"
    keeps_writes = True


class EmailCanNotBeUpdated(BadRequest):
    """The address changes by /change-email only."""

    message = "Email can not be updated"


class FieldNotAllowed(BadRequest):
    """The service owns this field."""

    message = "The field is not allowed to be set"


class UsernameIsAlreadyTaken(BadRequest):
    """Somebody else has it."""

    message = "Username is already taken. Please try another."
