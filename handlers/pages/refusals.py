"""Refusals as pages: what happened, and what to do next."""

from collections.abc import Mapping

from domain import urls
from domain.context import PageRequest
from domain.errors import Refusal, Unauthenticated
from domain.policy import Policy
from domain.sessions.errors import SessionNotFresh
from domain.two_factor.errors import InvalidTwoFactorCookie
from handlers.pages import texts, view
from handlers.reply import Page, Redirect


def page(
    policy: Policy,
    asked: PageRequest,
    refusal: Refusal,
    *,
    came_from: str,
    request_id: str,
    form: tuple[str, Mapping[str, str]] | None = None,
) -> Page | Redirect:
    """Return the page for a refusal, with its status; who has to prove who they are is led to where they can.

    `came_from` is the path of the page where the person was, with its query; `form` is the path and the fields of a
    form that the page offers to send again, without what is secret.
    """
    shown = view.stand_alone(policy, asked)
    if type(refusal) is Unauthenticated:
        return Redirect(_back_to(policy, shown.url("/sign-in"), came_from))
    if isinstance(refusal, InvalidTwoFactorCookie):
        return Redirect(shown.url("/sign-in", reason="expired"))
    if isinstance(refusal, SessionNotFresh):
        return Redirect(_back_to(policy, shown.url("/confirm"), came_from))
    return shown.render(
        "error.html",
        status=refusal.status,
        code=refusal.code,
        sentence=texts.sentence(shown.localization, refusal),
        request_id=request_id,
        action=form[0] if form is not None else None,
        fields=view.without_secrets(form[1]) if form is not None else {},  # defence: H12 kept-fields
        came_from=came_from if came_from and policy.origins.accepts(came_from) else None,
    )


def _back_to(policy: Policy, url: str, came_from: str) -> str:
    """Return a URL that leads back to where the person was, unless that cannot be a redirect target."""
    return urls.with_parameters(url, callbackURL=came_from if policy.origins.accepts(came_from) else None)
