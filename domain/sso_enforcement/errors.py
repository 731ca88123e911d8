"""The error for email addresses whose users must sign in through a connection."""

from domain.errors import Forbidden


class SsoRequired(Forbidden):
    """The domain of the address requires a connection. `url` is the page where the sign-in through it begins."""

    message = "Sign in with your organization"
