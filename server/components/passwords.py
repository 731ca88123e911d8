"""Passwords: the blocklist of passwords that no user may choose."""

from collections.abc import Iterable, Iterator

from domain.passwords.policy import Blocklist
from server.components.component import Component
from server.config.base import Settings
from server.config.groups.password import PasswordSettings
from server.crypto import blocklist


class Passwords(Component):
    """The component that reads and checks the blocklist of passwords."""

    @classmethod
    def check(cls, settings: Settings) -> Iterator[str]:
        """Yield the problems of the blocklist file."""
        return blocklist.check(settings)

    @classmethod
    def policies(cls, settings: Settings) -> Iterable[object]:
        """Return the blocklist: common passwords and those in the operator's file."""
        password = settings[PasswordSettings]
        return (Blocklist(blocklist.blocklist(password.blocklist, password.blocklist_file)),)
