"""Build redirects. A redirect URL is checked again when it is used, even if it was accepted before."""

from domain import urls
from domain.context import Rollback
from domain.errors import InvalidCallbackUrl, Refusal
from domain.policy import Policy
from domain.two_factor.policy import TwoFactorPolicy
from handlers.responses.reply import Header, Redirect


def absolute(policy: Policy, target: str) -> str:
    """Return `base_url` followed by a relative URL; other URLs are unchanged."""
    # From the settings, never from the Host header, which an attacker can choose (as in Zitadel, CVE-2023-49097).
    return policy.base_url + target if target.startswith("/") else target  # defence: V10 absolute-target


def to(policy: Policy, target: str, headers: tuple[Header, ...] = (), **parameters: str) -> Redirect:
    """Return the redirect to a URL, with query parameters such as `token`.

    Raises InvalidCallbackUrl unless the URL is trusted.
    """
    # Checked again, because the trusted origins may have changed since the URL was stored.
    if not policy.origins.accepts(target):
        raise InvalidCallbackUrl
    return Redirect(urls.with_parameters(absolute(policy, target), **parameters), headers)


def on(policy: Policy, target: str | None, otherwise: str, **parameters: str) -> Redirect:
    """Return the redirect to `target` if it is set and still trusted, else to `otherwise`, with query parameters."""
    is_trusted = target is not None and policy.origins.accepts(target)
    url = absolute(policy, target) if target is not None and is_trusted else otherwise
    return Redirect(urls.with_parameters(url, **parameters))


def refused(policy: Policy, target: str, refusal: Refusal) -> Rollback[Redirect]:
    """Return the redirect to `target` with the refusal's code as `error`; what the operation wrote is rolled back.

    Raises InvalidCallbackUrl unless `target` is trusted.
    """
    return Rollback(to(policy, target, error=refusal.code))


def second_factor_url(policy: Policy, url: str) -> str:
    """Return the URL where a redirected user enters a code of the second factor.

    It is the page in the settings, which gets `url` as `callbackURL`; if no page is set, `url` itself.
    """
    page = policy[TwoFactorPolicy].page
    if page is None:
        return urls.with_parameters(url, twoFactorRedirect="true")
    return urls.with_parameters(page, twoFactorRedirect="true", callbackURL=url)
