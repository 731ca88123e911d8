"""The public URLs of hosted pages."""

from domain import urls
from domain.pages.policy import PagesPolicy
from domain.policy import Policy


def page_url(policy: Policy, page: str, **query: str | None) -> str | None:
    """Return the public URL of a hosted page such as `/reset-password`; None while there are no pages."""
    pages = policy[PagesPolicy]
    return urls.public_url(policy, pages.path + page, **query) if pages.enabled else None


def static_path(policy: Policy) -> str:
    """Return the path that the static files of the pages are below, with a slash at its end."""
    return f"{policy.base_path}{policy[PagesPolicy].path}/static/"


def mailed_page(policy: Policy, page: str, token: str, asked: str | None) -> str | None:
    """Return the URL of the hosted page that an email leads to; None if it leads to an operation.

    That is the case without pages, and if another URL was `asked` for. A page asks for itself, with what goes through
    all of its steps in the query.
    """
    if not asked:
        return page_url(policy, page, token=token)
    own = f"{policy.base_path}{policy[PagesPolicy].path}{page}"
    is_own = policy[PagesPolicy].enabled and asked.partition("?")[0] == own
    return urls.with_parameters(policy.base_url + asked, token=token) if is_own else None
