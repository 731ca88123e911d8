"""The settings of users: their names, and their deletion."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pydantic import Field

from domain.user_deletion.policy import DeletionPolicy
from domain.users.policy import UsernamePolicy
from server.config.groups.group import Group
from server.config.value_types import Duration, duration_between

if TYPE_CHECKING:
    from server.config.settings import Settings


_SWITCH = "Whether the operations of this group exist."


class Username(Group):
    """`username.*`: names to sign in with."""

    fills = (UsernamePolicy,)

    enabled: bool = Field(default=True, description=f"{_SWITCH} False: username fields are ignored.")


class DeleteUser(Group):
    """`delete_user.*`: users who delete themselves."""

    fills = (DeletionPolicy,)

    enabled: bool = Field(default=True, description=_SWITCH)
    confirm_by_mail: bool = Field(
        default=False, description="Whether deletion must be confirmed through an emailed link."
    )
    token_expires_in: Duration = duration_between("24h", "Lifetime of the deletion link.")

    def problems(self, settings: "Settings") -> Iterator[str]:
        """Yield a problem if the link that confirms a deletion cannot be sent."""
        if self.enabled and self.confirm_by_mail and not settings.mail.has_sender:
            yield "delete_user.confirm_by_mail: needs a mail.sender, or no user could delete their account"
