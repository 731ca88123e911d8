"""The settings of sign-up, and of sign-in with a password."""

from domain.authentication.policy import EmailPasswordPolicy, SignUpPolicy
from server.config.base import Group
from server.config.value_types import setting


class EmailPasswordSettings(Group):
    """`email_password.*`: the password as a way to sign in."""

    key = "email_password"

    fills = (EmailPasswordPolicy,)

    enabled: bool = setting(True, "Whether users can sign up and sign in with email and password.")


class SignUpSettings(Group):
    """`sign_up.*`: new users."""

    key = "sign_up"

    fills = (SignUpPolicy,)

    enabled: bool = setting(True, "Whether new users may sign up, with a password or through a provider.")
    auto_sign_in: bool = setting(True, "Whether sign-up also signs the user in, by creating a session.")
    notify_existing: bool = setting(
        True,
        "Whether a user gets an email when another person tries to sign up with the user's email address.",
    )
