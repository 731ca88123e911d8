"""Policy: the values and switches that rules and handlers read, created once from the settings."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from domain.trusted_origins import TrustedOrigins

Part = TypeVar("Part")


@dataclass(frozen=True, slots=True)
class Cookies:
    """The names and attributes of cookies."""

    session_name: str
    prefix: str
    secure: bool
    http_only: bool
    same_site: Literal["Lax", "Strict", "None"]
    domain: str | None


@dataclass(frozen=True, slots=True)
class Policy:
    """The operator's policy: for the whole service here, and for each capability in the class of its `policy.py`.

    `policy[SessionPolicy].expires_in` is the lifetime of a session.
    """

    app_name: str
    base_url: str
    """The public origin, without a path and without a trailing slash."""
    base_path: str
    """Empty, or a path such as `/api/auth`."""
    origins: TrustedOrigins
    cookies: Cookies
    require_authentication: bool
    parts: Mapping[type, Any]
    """The policies of the capabilities, by class."""

    def __getitem__(self, kind: type[Part]) -> Part:
        """Return the policy of one capability. Raises KeyError for an unregistered class."""
        part: Part = self.parts[kind]
        return part
