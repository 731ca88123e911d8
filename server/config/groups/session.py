"""The settings of sessions and cookies."""

from collections.abc import Iterable, Iterator
from typing import Literal

from domain.policy import Cookies
from domain.sessions.policy import SessionPolicy
from server.config.base import Group, Settings, fill
from server.config.value_types import (
    CookieName,
    CookiePrefix,
    Duration,
    OptionalDomain,
    duration_between,
    setting,
)


class SessionSettings(Group):
    """`session.*`: how long sessions live, and how their cookies are set."""

    key = "session"

    expires_in: Duration = duration_between("7d", "Lifetime of a session; each extension restarts it.")
    update_age: Duration = duration_between(
        "1d", "Age at which a session in use is extended; 0 at every use.", at_least="0s"
    )
    absolute_lifetime: Duration = duration_between(
        "90d", "Longest lifetime of a session, even if extended; 0 = no limit.", at_least="0s"
    )
    not_remembered_expires_in: Duration = duration_between(
        "1d", "Lifetime of a session created with rememberMe false."
    )
    fresh_age: Duration = duration_between(
        "1d",
        "Age up to which a session may delete the account without the password; 0 = any age.",
        at_least="0s",
    )
    list_tokens: bool = setting(
        True, "Whether /list-sessions returns tokens; false: handles that can only revoke."
    )
    max_per_user: int = setting(
        1000,
        "Most live sessions of one user; a further one ends the oldest. 0 = no limit.",
        ge=0,
        le=1_000_000,
    )
    cookie_name: CookieName = setting("service.session-token", "Name of the session cookie.")
    cookie_secure: bool = setting(True, "Whether browsers send the cookies over https only.")
    cookie_http_only: bool = setting(True, "Whether the cookies are hidden from scripts.")
    cookie_same_site: Literal["Lax", "Strict", "None"] = setting(
        "Lax", "When browsers send the cookies with requests from other sites."
    )
    cookie_domain: OptionalDomain = setting(
        None,
        "Domain whose hosts all receive the cookies; empty: this host alone. With a domain, every response "
        "that sets or clears a cookie also clears the one of the same name without a domain.",
    )
    cookie_prefix: CookiePrefix = setting("service.", "Prefix of the other cookies' names.")

    def policies(self, settings: Settings) -> Iterable[object]:
        """Return the policy of sessions."""
        return (
            fill(
                SessionPolicy,
                self,
                listing=settings.enable_session_listing,
                revocation=settings.enable_session_revocation,
            ),
        )

    def cookies(self) -> Cookies:
        """Return how cookies are set."""
        return fill(Cookies, self, prefix="cookie_", session_name=self.cookie_name)

    def problems(self, settings: Settings) -> Iterator[str]:
        """Yield settings that browsers would not accept."""
        if self.cookie_same_site == "None" and not self.cookie_secure:
            yield "session.cookie_same_site: None needs session.cookie_secure, or browsers drop the cookie"
        for key, name in (("cookie_name", self.cookie_name), ("cookie_prefix", self.cookie_prefix)):
            bound = name.lower().startswith("__host-")
            if bound and self.cookie_domain is not None:
                yield f"session.{key}: a __Host- cookie cannot have a session.cookie_domain"
            if (bound or name.lower().startswith("__secure-")) and not self.cookie_secure:
                yield f"session.{key}: a cookie of this name needs session.cookie_secure"
        if self.cookie_name in {self.cookie_prefix + "two-factor", self.cookie_prefix + "trust-device"}:
            yield "session.cookie_name: is the name of another cookie of the service"

    def production_problems(self, settings: Settings) -> Iterator[str]:
        """Yield a problem if cookies would be sent unencrypted."""
        if not settings.allow_http and not self.cookie_secure:
            yield "session.cookie_secure: must be true (or set allow_http)"
