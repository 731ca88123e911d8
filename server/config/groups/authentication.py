"""The settings of signing up and in."""

from pydantic import Field

from domain.authentication.policy import EmailPasswordPolicy, SignUpPolicy
from server.config.base import Group


class EmailPasswordSettings(Group):
    """`email_password.*`: the password as a way to sign in."""

    key = "email_password"

    fills = (EmailPasswordPolicy,)

    enabled: bool = Field(default=True, description="Enables sign-up and sign-in with email and password.")


class SignUpSettings(Group):
    """`sign_up.*`: new users."""

    key = "sign_up"

    fills = (SignUpPolicy,)

    enabled: bool = Field(
        default=True, description="Whether new users may sign up, with a password or through a provider."
    )
    auto_sign_in: bool = Field(default=True, description="Whether sign-up creates a session.")
    notify_existing: bool = Field(
        default=True,
        description="Whether the owner of a registered address is notified when it is used to sign up.",
    )
