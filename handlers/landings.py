"""Where a browser goes on from a provider's callback, and with which cookies (behaviour 7.3, 7.4)."""

from dataclasses import replace
from typing import Any

from domain import links
from domain.callbacks import Landing
from domain.challenges import Pending
from domain.context import Context
from handlers import cookies, redirects
from handlers.handover import handing_over, putting_off
from handlers.reply import Header, Redirect


def lead_on(ctx: Context, landing: Landing, state: str | None) -> Redirect:
    """Lead to where the flow ends; its cookie goes once it is used up."""
    forgotten: tuple[Header, ...] = ()
    if landing.is_used_up and state is not None:
        forgotten = (cookies.clear_state(ctx.policy.cookies, state),)
    if landing.error is not None:
        redirect = _failed(ctx, landing, landing.error)
    elif isinstance(landing.opened, Pending):
        redirect = _put_off(ctx, landing, landing.opened)
    else:
        redirect = redirects.on(ctx.policy, landing.target, ctx.policy.providers.default_redirect_url)
        if landing.opened is not None:
            redirect = replace(redirect, headers=handing_over(ctx, landing.opened))
    return replace(redirect, headers=(*redirect.headers, *forgotten))


def _failed(ctx: Context, landing: Landing, error: str) -> Redirect:
    told = {"error": error}
    if landing.description is not None:
        told["error_description"] = landing.description
    page = ctx.policy.providers.error_url or links.public(ctx.policy, "/error")
    redirect = redirects.on(ctx.policy, landing.target, page, **told)
    return replace(redirect, refused=True, defect=landing.defect)


def _put_off(ctx: Context, landing: Landing, pending: Pending) -> Redirect:
    """Lead to where the user enters the code: the page the operator named, or the target itself."""
    policy = ctx.policy
    asked: dict[str, Any] = {"twoFactorRedirect": "true"}
    redirect = redirects.on(policy, landing.target, policy.providers.default_redirect_url)
    if policy.two_factor.page is not None:
        asked["callbackURL"] = redirect.location
    place = policy.two_factor.page or redirect.location
    return Redirect(redirects.with_parameters(place, **asked), putting_off(ctx, pending))
