"""The settings of signing up and in (behaviour chapter 2)."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pydantic import Field

from domain.authentication.policy import EmailPasswordPolicy, SignUpPolicy
from server.config.groups.group import Group, fill

if TYPE_CHECKING:
    from server.config.settings import Settings


class EmailPassword(Group):
    """`email_password.*`: the password as a way to sign in."""

    enabled: bool = Field(
        default=True, description="Whether one can sign up and in with address and password."
    )

    def policies(self, settings: "Settings") -> Iterable[object]:
        """Return whether one can sign up and in with a password."""
        return (fill(EmailPasswordPolicy, self),)


class SignUp(Group):
    """`sign_up.*`: new users."""

    enabled: bool = Field(
        default=True, description="Whether strangers may sign up, with a password or through a provider."
    )
    auto_sign_in: bool = Field(default=True, description="Whether sign-up opens a session.")
    notify_existing: bool = Field(
        default=True,
        description="Whether the owner of a taken address gets a mail when the caller is told nothing.",
    )

    def policies(self, settings: "Settings") -> Iterable[object]:
        """Return who may sign up, and what follows."""
        return (fill(SignUpPolicy, self),)
