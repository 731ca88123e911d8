"""Errors of sign-up and sign-in."""

from domain.errors import BadRequest, Unauthenticated


class EmailPasswordSignUpDisabled(BadRequest):
    """Sign-up is disabled."""

    message = "Email and password sign up is not enabled"


class EmailPasswordDisabled(BadRequest):
    """Sign-in with a password is disabled."""

    message = "Email and password is not enabled"


class InvalidEmailOrPassword(Unauthenticated):
    """Unknown email, wrong password, or no password: the same response for all three; counts as a failure."""

    message = "Invalid email or password"
    # The counter of the failure is committed although the response is an error.
    keeps_writes = True  # defence: V66 email-refusal


class InvalidUsernameOrPassword(Unauthenticated):
    """Unknown username, wrong password, or no password: the same response for all three; counts as a failure."""

    message = "Invalid username or password"
    keeps_writes = True  # defence: V68 username-refusal
