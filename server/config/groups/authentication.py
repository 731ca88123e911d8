"""The settings of signing up and in."""

from pydantic import Field

from domain.authentication.policy import EmailPasswordPolicy, SignUpPolicy
from server.config.groups.group import Group


class EmailPassword(Group):
    """`email_password.*`: the password as a way to sign in."""

    fills = (EmailPasswordPolicy,)

    enabled: bool = Field(
        default=True, description="Whether one can sign up and in with address and password."
    )


class SignUp(Group):
    """`sign_up.*`: new users."""

    fills = (SignUpPolicy,)

    enabled: bool = Field(
        default=True, description="Whether strangers may sign up, with a password or through a provider."
    )
    auto_sign_in: bool = Field(default=True, description="Whether sign-up opens a session.")
    notify_existing: bool = Field(
        default=True,
        description="Whether the owner of a taken address gets a mail when the caller is told nothing.",
    )
