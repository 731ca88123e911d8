"""The parameters of a request of the OAuth protocol, as the client has sent them (RFC 6749, section 3)."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from domain.oauth_clients.errors import InvalidRequest

MAX_LENGTH = 8192
"""The largest size of one value, in bytes."""

_NAME = re.compile(r"[a-z_]{1,40}", re.ASCII)

_REPEATABLE = frozenset({"resource"})
"""Parameters of which a request may have several (RFC 8707, section 2)."""


# Not frozen, because the Authorization header is added later, and because a frozen one takes longer to create.
@dataclass(slots=True)
class OAuthParameters:
    """The parameters of a form or query, or a JSON object, and the Authorization header.

    An empty value counts as absent. `fault` says what is wrong with the form of the request, None if nothing is. A rule
    calls `check` first, unless it handles a fault in another way.
    """

    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    fault: str | None = None
    authorization: str | None = field(default=None, repr=False)
    """The only Authorization header; empty if there are several, which is ambiguous."""
    document: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """The JSON object that was sent to an operation that reads one."""
    error_url: Callable[[str, str], str] | None = field(default=None, repr=False)
    """Returns the URL at which the client receives an error and its description; None until that URL is known."""

    def check(self) -> None:
        """Raise InvalidRequest if the request has a fault."""
        if self.fault is not None:
            raise InvalidRequest(self.fault)

    def get(self, name: str) -> str | None:
        """Return the value of a parameter; None if it is absent."""
        found = self.values.get(name)
        return found[0] if found else None

    def require(self, name: str) -> str:
        """Return the value of a parameter. Raises InvalidRequest, with the parameter's name, if it is absent."""
        found = self.get(name)
        if found is None:
            raise InvalidRequest(f"{name} is missing")
        return found

    def every(self, name: str) -> tuple[str, ...]:
        """Return the different values of a parameter that may be repeated, in the order in which they were sent."""
        return tuple(dict.fromkeys(self.values.get(name, ())))

    def without(self, others: "OAuthParameters") -> "OAuthParameters":
        """Return these parameters, with a fault if one of them is in `others` as well.

        `others` are those of another part of the request, such as its query.
        """
        # Proxies and filters in between may have read either (RFC 6749, 3.2: not more than once).
        twice = [name for name in self.values if name in others.values]  # defence: O25 query
        if not twice or self.fault is not None:
            return self
        return replace(self, fault=f"{_shown(twice[0])} is given twice")

    def names(self) -> Iterable[str]:
        """Return the names of the parameters."""
        return self.values.keys()


def parameters_of(pairs: Iterable[tuple[str, str]]) -> OAuthParameters:
    """Return the parameters for these pairs of name and value. Malformed and repeated ones are noted as the fault."""
    values: dict[str, tuple[str, ...]] = {}
    fault = None
    for name, value in pairs:
        if "\0" in name or "\0" in value:  # defence: O25 nul
            fault = fault or "U+0000 is not allowed"
        elif len(value.encode()) > MAX_LENGTH:  # defence: O25 length
            fault = fault or f"{_shown(name)} is longer than {MAX_LENGTH} bytes"
        elif value == "":
            continue
        elif name in values and name not in _REPEATABLE:  # defence: O25 doubled
            fault = fault or f"{_shown(name)} is given twice"
        else:
            values[name] = (*values.get(name, ()), value)
    return OAuthParameters(values, fault)


def _shown(name: str) -> str:
    """Return the name of a parameter for an error, unless it could not be one of the protocol."""
    return name if _NAME.fullmatch(name) else "A parameter"
