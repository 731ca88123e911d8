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
        "1d",
        "A session is extended when it is used this long after its creation or last extension; 0 = at "
        "every use.",
        at_least="0s",
    )
    absolute_lifetime: Duration = duration_between(
        "90d", "Longest lifetime of a session, including all extensions; 0 = no limit.", at_least="0s"
    )
    not_remembered_expires_in: Duration = duration_between(
        "1d", "Lifetime of a session created with rememberMe false."
    )
    fresh_age: Duration = duration_between(
        "1d",
        "Time after its sign-in in which a session may make sensitive changes, such as deleting the "
        "account without the password or adding a passkey; 0 = at any time.",
        at_least="0s",
    )
    list_tokens: bool = setting(
        True,
        "Whether /list-sessions returns the tokens of sessions; if false, it returns handles, which can "
        "only revoke a session.",
    )
    max_per_user: int = setting(
        1000,
        "Largest number of sessions of one user that have not expired; one more ends the oldest. 0 = no "
        "limit.",
        ge=0,
        le=1_000_000,
    )
    cookie_name: CookieName = setting("service.session-token", "Name of the session cookie.")
    cookie_secure: bool = setting(
        True, "Whether browsers send the cookies over https only (attribute Secure)."
    )
    cookie_http_only: bool = setting(
        True, "Whether the cookies are hidden from scripts (attribute HttpOnly)."
    )
    cookie_same_site: Literal["Lax", "Strict", "None"] = setting(
        "Lax", "When browsers send the cookies with requests from other sites (attribute SameSite)."
    )
    cookie_domain: OptionalDomain = setting(
        None,
        "Domain to whose hosts browsers send the cookies; empty = only to the host of the service. With a "
        "domain, every response that sets or clears a cookie also clears the cookie of the same name that "
        "has no domain.",
    )
    cookie_prefix: CookiePrefix = setting("service.", "Prefix of the names of all other cookies.")

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
