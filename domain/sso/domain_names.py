"""The interface of domain names: their form, and the TXT records that verify them.

`server/sso` implements it.
"""

from typing import Protocol


class InvalidDomain(Exception):
    """A domain that no connection can have. The message says why, for the user who typed it."""


class LookupFailed(Exception):
    """No name server has given a usable response, so nothing is known about the record."""


class DomainNames(Protocol):
    """The form of domain names, and their TXT records."""

    def normalize(self, text: str) -> str:
        """Return a domain in lower case, an international one as punycode.

        Refuses single labels, IP addresses, public suffixes and domains of large mail hosts. Raises InvalidDomain.
        """

    async def has_record(self, label: str, domain: str, value: str) -> bool:
        """Return whether `label.domain` itself has a TXT record with this value, by every name server that responds.

        The value may follow the name of the label and `=`. A record for all names (a wildcard) and an alias do not
        count. Takes up to 10 seconds, so do not call it within a transaction. Raises LookupFailed.
        """
