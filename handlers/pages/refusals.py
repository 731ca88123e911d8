"""Refusals as pages: what happened, and what to do next."""

import re
from dataclasses import replace

from domain.context import PageRequest
from domain.errors import Refusal, Unauthenticated
from domain.policy import Policy
from domain.sessions.errors import SessionNotFresh
from domain.two_factor.errors import InvalidTwoFactorCookie
from handlers.pages import texts, view
from handlers.responses.reply import Page, Redirect
from models.queries import UserRow

_LANGUAGES = re.compile(r"[A-Za-z0-9_ -]{1,256}", re.ASCII)
"""What `ui_locales` may be to be carried on."""


def page(
    policy: Policy,
    asked: PageRequest,
    refusal: Refusal,
    *,
    locale: str | None,
    came_from: str,
    request_id: str,
    action: str | None = None,
    with_built_in: bool = False,
) -> Page | Redirect:
    """Return the page for a refusal, with its status; who has to prove who they are is led to where they can.

    `asked` has the fields that were sent, unchecked; `locale` is the language that is stored for the user; `came_from`
    is the path of the page where the person was, with its query. `action` is the path of a form that the page offers
    to send again, without what is secret. `with_built_in` uses no template of the operator's.
    """
    fields = asked.submitted
    target, languages = fields.get("callbackURL", ""), fields.get("ui_locales", "")
    shown = view.stand_alone(
        policy,
        asked,
        target if policy.origins.accepts(target) else None,
        languages if _LANGUAGES.fullmatch(languages) else None,
        locale,
    )
    if with_built_in:
        shown = replace(shown, templates_dir=None)
    back = came_from if policy.origins.accepts(came_from) else None
    if type(refusal) is Unauthenticated:
        return shown.lead("/sign-in", callbackURL=back)
    if isinstance(refusal, InvalidTwoFactorCookie):
        return shown.lead("/sign-in", reason="expired")
    if isinstance(refusal, SessionNotFresh):
        return shown.lead("/confirm", callbackURL=back)
    return shown.render(
        "error.html",
        status=refusal.status,
        code=refusal.code,
        sentence=texts.sentence(shown.localization, refusal),
        request_id=request_id,
        action=action,
        fields=view.without_secrets(fields) if action is not None else {},  # defence: H12 kept-fields
        came_from=back,
    )


def other_account(policy: Policy, asked: PageRequest, user: UserRow, *, rendered_for: str) -> Page:
    """Return the page for a form that was shown for another account than the one that is signed in now."""
    shown = view.stand_alone(
        policy, asked, asked.carried("callbackURL"), asked.carried("ui_locales"), user.locale
    )
    return shown.render("other_account.html", status=409, rendered_for=rendered_for, current=user.email)
