"""Build the redirects that respond to the callback of an identity provider, with the cookies that they set or clear."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from urllib.parse import quote

from domain import urls
from domain.context import Context, Rollback
from domain.social.callback import CallbackResult
from domain.social.policy import SocialPolicy
from domain.two_factor.challenges import PendingSignIn
from handlers.responses import cookies, redirects
from handlers.responses.reply import Header, Redirect
from handlers.responses.sessions import pending_cookies, session_cookies


def callback_redirect(
    ctx: Context, result: CallbackResult, state: str | None
) -> Redirect | Rollback[Redirect]:
    """Return the redirect after a provider's callback, with the cookies of a session if one was opened.

    The cookie of the flow is cleared if its state is used up. After a failure, the redirect names the error, and what
    the callback wrote is rolled back.
    """
    forgotten: tuple[Header, ...] = ()
    if result.is_used_up and state is not None:
        forgotten = (cookies.clear_state(ctx.policy.cookies, state),)
    if result.error is not None:
        redirect = _failed(ctx, result, result.error)
    elif isinstance(result.opened, PendingSignIn):
        redirect = _two_factor_redirect(ctx, result, result.opened)
    else:
        redirect = redirects.on(ctx.policy, result.target, ctx.policy[SocialPolicy].default_redirect_url)
        if result.opened is not None:
            redirect = replace(redirect, headers=session_cookies(ctx, result.opened))
    redirect = replace(redirect, headers=(*redirect.headers, *forgotten))
    # A failed callback must leave nothing half done; the use of its state was committed before.
    return redirect if result.error is None else Rollback(redirect)


def relay(
    ctx: Context, path: str, provider: str, form: Mapping[str, object], names: Collection[str]
) -> Redirect:
    """Return the redirect from the form post of a provider to the callback with GET.

    The URL is `path` followed by `provider`, and has those fields of the form that are in `names`.
    """
    # The redirect makes the browser send the state cookie, which is SameSite=Lax and so is missing in a POST from
    # another site.
    # defence: V62 form-fields
    sent = {name: value for name, value in form.items() if name in names and isinstance(value, str)}
    # defence: V60 quoted-provider
    return Redirect(urls.public_url(ctx.policy, f"{path}/{quote(provider, safe='')}", **sent))


def _failed(ctx: Context, result: CallbackResult, error: str) -> Redirect:
    parameters = {"error": error}
    if result.description is not None:
        parameters["error_description"] = result.description
    page = ctx.policy[SocialPolicy].error_url or urls.public_url(ctx.policy, "/error")
    redirect = redirects.on(ctx.policy, result.target, page, **parameters)
    return replace(redirect, defect=result.defect)


def _two_factor_redirect(ctx: Context, result: CallbackResult, pending: PendingSignIn) -> Redirect:
    """Return the redirect to where the user enters a code: the page in the settings, or the flow's redirect URL."""
    redirect = redirects.on(ctx.policy, result.target, ctx.policy[SocialPolicy].default_redirect_url)
    url = redirects.second_factor_url(ctx.policy, redirect.location)
    return Redirect(url, pending_cookies(ctx, pending, keeps_session=result.keeps_session))
