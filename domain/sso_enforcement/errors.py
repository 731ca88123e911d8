"""The error of addresses that must sign in through a connection."""

from domain.errors import Forbidden


class SsoRequired(Forbidden):
    """The domain of the address requires a connection; `url` is where that sign-in begins."""

    message = "Sign in with your organization"
