"""Normalize domain names (IDNA 2008, Public Suffix List), and look up their TXT records."""

import asyncio
from collections.abc import Sequence
from functools import cache
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import NamedTuple

import dns.asyncquery
import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdataclass
import dns.rdatatype
import dns.resolver
import idna
import structlog
from dns.rdtypes.txtbase import TXTBase
from publicsuffixlist import PublicSuffixList

from domain import tokens
from domain.sso.domain_names import InvalidDomain, LookupFailed

TIMEOUT = 5.0
"""Timeout in seconds for the response of a name server."""
MOST_SERVERS = 2
"""The most name servers that are queried. Each one that responds must have the record."""
LONGEST = 200
"""The most characters of a domain: the name of its record is up to 53 longer, and may have 253 (RFC 1035, 2.3.4)."""

_log = structlog.get_logger(__name__)


class NameServer(NamedTuple):
    """A recursive name server."""

    address: IPv4Address | IPv6Address
    port: int = 53


class DnsDomainNames:
    """Normalizes domain names and looks up their TXT records. Implements `domain.sso.domain_names.DomainNames`.

    It queries the first two of `servers`, by default those of the operating system, with `timeout` in seconds.
    """

    def __init__(self, servers: Sequence[NameServer] = (), timeout: float = TIMEOUT) -> None:
        self._servers = servers
        self._timeout = timeout

    def normalize(self, text: str) -> str:
        """Return a domain in lower case, an international one as punycode. Raises InvalidDomain."""
        return normalize(text)

    async def has_record(self, label: str, domain: str, value: str) -> bool:
        """Return whether `label.domain` has a TXT record `value` or `label=value`. Raises LookupFailed.

        Every name server that responds must have the record. A wildcard record does not count: it is detected by a
        query with a random label.
        """
        # The second form is that of Better Auth's package for single sign-on.
        values = {value, f"{label}={value}"}
        found = await self._texts(f"{label}.{domain}")
        if not all(values & texts for texts in found):  # defence: SSO9 both-servers
            return False
        # Cut, because a label has at most 63 characters (RFC 1035, 2.3.4).
        others = await self._texts(f"{label[:20]}-{tokens.token(16)}.{domain}")
        return not any(values & texts for texts in others)  # defence: SSO9 wildcard

    async def _texts(self, name: str) -> Sequence[set[str]]:
        """Return the texts of a name by each server that responds. Raises LookupFailed if none does."""
        servers = (self._servers or _servers_of_machine())[:MOST_SERVERS]
        query = dns.message.make_query(name, dns.rdatatype.TXT)
        found = await asyncio.gather(*(self._query(query, server) for server in servers))
        known = [texts for texts in found if texts is not None]
        if not known:
            raise LookupFailed
        return known

    async def _query(self, query: dns.message.QueryMessage, server: NameServer) -> set[str] | None:
        """Return the texts by one server, or None if it has no usable response."""
        try:
            response, _ = await dns.asyncquery.udp_with_fallback(
                query, str(server.address), timeout=self._timeout, port=server.port
            )
        except (dns.exception.DNSException, OSError, EOFError) as fault:
            _log.warning("sso.dns_failed", reason=type(fault).__name__)
            return None
        if response.rcode() not in {dns.rcode.NOERROR, dns.rcode.NXDOMAIN}:
            _log.warning("sso.dns_failed", reason=dns.rcode.to_text(response.rcode()))
            return None
        return _texts_of(response)


def _texts_of(response: dns.message.Message) -> set[str]:
    """Return the texts of the very name of the question: those of an alias belong to another owner."""
    name = response.question[0].name
    # defence: SSO9 exact-name
    records = response.get_rrset(response.answer, name, dns.rdataclass.IN, dns.rdatatype.TXT) or ()
    return {
        b"".join(record.strings).decode("ascii", "replace").strip()
        for record in records
        if isinstance(record, TXTBase)
    }


def _servers_of_machine() -> Sequence[NameServer]:
    """Return the name servers of the operating system. Raises LookupFailed if it has none."""
    try:
        resolver = dns.resolver.Resolver()
    except dns.exception.DNSException as fault:
        raise LookupFailed from fault
    return [NameServer(_address(str(server)), resolver.port) for server in resolver.nameservers]


def _address(text: str) -> IPv4Address | IPv6Address:
    return IPv6Address(text) if ":" in text else IPv4Address(text)


def normalize(text: str) -> str:
    """Return a domain in lower case, an international one as punycode.

    Refuses single labels, IP addresses, public suffixes and the domains of large mail hosts. Raises InvalidDomain.
    """
    try:
        name = idna.encode(text.strip().removesuffix("."), uts46=True, std3_rules=True).decode().lower()
    except (idna.IDNAError, UnicodeError):
        raise InvalidDomain(f"{_shown(text)} is not a domain such as example.com") from None
    labels = name.split(".")
    if len(labels) < 2 or len(name) > LONGEST or labels[-1].isdigit():  # defence: SSO9 two-labels
        raise InvalidDomain(f"{_shown(text)} is not a domain such as example.com")
    if _suffixes().is_public(name):  # defence: SSO9 public-suffix
        raise InvalidDomain(f"{name} is a public suffix; name a domain below it")
    if name in _mail_hosts():  # defence: SSO9 mail-hosts
        raise InvalidDomain(f"{name} is a mail service; name a domain of the organization")
    return name


def _shown(text: str) -> str:
    """Return the beginning of a text that cannot break a message."""
    return ascii(text[:64]).strip("'\"")


@cache
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList()


@cache
def _mail_hosts() -> frozenset[str]:
    lines = (Path(__file__).parent / "mail_hosts.txt").read_text("utf-8").splitlines()
    return frozenset(line for line in lines if line and not line.startswith("#"))
