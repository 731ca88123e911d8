"""The public URLs of hosted pages."""

from domain import urls
from domain.pages.policy import PagesPolicy
from domain.policy import Policy


def page_url(policy: Policy, page: str, **query: str | None) -> str | None:
    """Return the public URL of a hosted page such as `/reset-password`; None if the pages are disabled."""
    pages = policy[PagesPolicy]
    return urls.public_url(policy, pages.path + page, **query) if pages.enabled else None


def static_path(policy: Policy) -> str:
    """Return the path prefix of the pages' static files, with a trailing slash."""
    return f"{policy.base_path}{policy[PagesPolicy].path}/static/"


def mailed_page(
    policy: Policy, page: str, token: str, requested_url: str | None, **query: str | None
) -> str | None:
    """Return the URL of the hosted page to link to in an email; None if the email has to link to an API operation.

    It is None if the pages are disabled, or if `requested_url`, the redirect URL in the request, is not a URL of
    `page`. The query of `requested_url` is kept; `token` and `query` are added.
    """
    if not requested_url:
        return page_url(policy, page, token=token, **query)
    own = f"{policy.base_path}{policy[PagesPolicy].path}{page}"
    is_own = policy[PagesPolicy].enabled and requested_url.partition("?")[0] == own
    return urls.with_parameters(policy.base_url + requested_url, token=token, **query) if is_own else None
