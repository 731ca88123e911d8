"""Passwords: the list of those that nobody may choose."""

from collections.abc import Iterable, Iterator

from domain.passwords.policy import Blocklist
from server.components.component import Component
from server.config.settings import Settings
from server.crypto import blocklist


class Passwords(Component):
    """Reads the blocklist."""

    @classmethod
    def check(cls, settings: Settings) -> Iterator[str]:
        """Yield what is wrong with the file of the blocklist."""
        return blocklist.check(settings)

    @classmethod
    def policies(cls, settings: Settings) -> Iterable[object]:
        """Return the blocklist: the common passwords, and those of the operator's file."""
        password = settings.password
        return (Blocklist(blocklist.blocklist(password.blocklist, password.blocklist_file)),)
