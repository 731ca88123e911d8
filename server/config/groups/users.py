"""The settings of users: their names, and their deletion."""

from collections.abc import Iterator

from domain.user_deletion.policy import DeletionPolicy
from domain.users.policy import UsernamePolicy
from server.config.base import Group, Settings
from server.config.groups.mail import MailSettings
from server.config.value_types import Duration, duration_between, setting


class UsernameSettings(Group):
    """`username.*`: usernames, with which users can sign in."""

    key = "username"

    fills = (UsernamePolicy,)

    enabled: bool = setting(
        True, "Whether users can sign in with a username; if false, username fields of requests are ignored."
    )


class DeleteUserSettings(Group):
    """`delete_user.*`: users who delete themselves."""

    key = "delete_user"

    fills = (DeletionPolicy,)

    enabled: bool = setting(True, "Whether users can delete themselves.")
    confirm_by_mail: bool = setting(False, "Whether deletion must be confirmed through an emailed link.")
    token_expires_in: Duration = duration_between("24h", "Lifetime of the deletion link.")

    def problems(self, settings: Settings) -> Iterator[str]:
        """Yield a problem if the link that confirms a deletion cannot be sent."""
        if self.enabled and self.confirm_by_mail and not settings[MailSettings].has_sender:
            yield "delete_user.confirm_by_mail: needs a mail.sender, or no user could delete their account"
