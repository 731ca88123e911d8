"""Show on hosted pages to which application (OAuth client) the user continues, and what access it asks for.

An authorization request that has led a user to a page is passed through all pages as `callbackURL`, the URL that
continues the request.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from domain.context import Context
from domain.localization import Localization
from domain.oauth.errors import RequestNotFound
from domain.oauth.policy import OAuthPolicy
from domain.oauth_clients import scopes as scope_texts
from domain.oauth_clients.policy import ClientPolicy
from domain.oauth_requests import details
from domain.oauth_requests import stored as stored_requests
from domain.oauth_requests.details import RequestDetails
from handlers.pages import view as views
from handlers.pages.view import View

_LANGUAGES = re.compile(r"[A-Za-z0-9_ -]{1,256}", re.ASCII)
_LONGEST_HINT = 1024


async def requested(ctx: Context, handle: str | None, callback_url: str | None) -> RequestDetails | None:
    """Return the authorization request named by `handle` or, without one, the request that `callback_url` continues.

    None if there is no request, or OAuth is off. Raises RequestNotFound if the request has expired or was completed.
    """
    if not ctx.policy[OAuthPolicy].enabled:
        return None
    named = handle or stored_requests.handle_of(ctx.policy, callback_url or "")
    return await details.read(ctx, named) if named else None


def view(
    ctx: Context,
    page: str,
    found: RequestDetails | None,
    callback_url: str | None,
    ui_locales: str | None,
    **query: str | None,
) -> View:
    """Return the view of a page; `found` is the authorization request that has led to the page, if any.

    With a request, the view leads to the URL that continues it, names the application, and is in the languages that the
    application wishes unless `ui_locales` is given.
    """
    if found is None:
        return views.view(ctx, page, callback_url, ui_locales, **query)
    shown = views.view(ctx, page, found.continue_url, ui_locales or languages(found), **query)
    return replace(shown, application=found.asked.client.client_name)


async def named(ctx: Context, shown: View) -> View:
    """Return a view with the name of the application that its `callback_url` leads to; unchanged if there is none."""
    try:
        found = await requested(ctx, None, shown.callback_url)
    except RequestNotFound:
        # The step itself needs no request; its user learns of the end when they continue.
        return shown
    return shown if found is None else replace(shown, application=found.asked.client.client_name)


def languages(found: RequestDetails) -> str | None:
    """Return the languages that an application wishes; None if there are none, or the text is malformed."""
    wish = found.asked.ui_locales or ""
    return wish if _LANGUAGES.fullmatch(wish) else None


def login_hint(found: RequestDetails | None) -> str:
    """Return the `login_hint` of an authorization request, such as an email address; empty if absent or unusable."""
    hint = "" if found is None else found.asked.login_hint or ""
    # defence: O17 login-hint
    return hint if len(hint) <= _LONGEST_HINT and hint.isprintable() else ""


def abilities(
    ctx: Context, localization: Localization, scopes: Sequence[str], resources: Sequence[str]
) -> Sequence[str]:
    """Return what an application with these scopes and resources will be able to do, in sentences for its users."""
    policy = ctx.policy[ClientPolicy]
    # Every sign-in says who the user is; that is worth a sentence only if there is nothing else.
    shown = [scope for scope in scopes if scope != "openid" or len(scopes) == 1]
    sentences = [
        # The service does not know the descriptions of the operator's scopes in other languages.
        description if scope in policy.scopes else localization.gettext(description)
        for scope, description in scope_texts.described(policy, shown)
    ]
    names = [policy.resources[uri].name for uri in resources if uri in policy.resources]
    return sentences + [localization.gettext("Use %(name)s") % {"name": name} for name in names]
