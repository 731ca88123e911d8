"""The interface that normalizes domain names, and looks up the TXT records that verify them.

`server/sso` implements it.
"""

from typing import Protocol


class InvalidDomain(Exception):
    """A domain that no connection can have. The message says why, for the user who typed it."""


class LookupFailed(Exception):
    """No name server has sent a usable response, so it is unknown whether the record exists."""


class DomainNames(Protocol):
    """Normalizes domain names and looks up their TXT records."""

    def normalize(self, text: str) -> str:
        """Return a domain in lower case, an international one as punycode.

        Refuses single labels, IP addresses, public suffixes and domains of large mail hosts. Raises InvalidDomain.
        """

    async def has_record(self, label: str, domain: str, value: str) -> bool:
        """Return whether `label.domain` has a TXT record `value` or `label=value`.

        Every name server that responds must return the record. A wildcard record and an alias (CNAME) do not count.
        Takes up to 10 seconds, so do not call it within a transaction. Raises LookupFailed if no name server responds.
        """
