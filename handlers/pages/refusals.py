"""Error pages: the error and the next step."""

import re
from dataclasses import replace

from domain.context import Caller, PageRequest
from domain.errors import Refusal, Unauthenticated
from domain.policy import Policy
from domain.sessions.errors import SessionNotFresh
from domain.two_factor.errors import InvalidTwoFactorCookie
from handlers.pages import texts, view
from handlers.responses.reply import Page, Redirect

_LANGUAGES = re.compile(r"[A-Za-z0-9_ -]{1,256}", re.ASCII)
"""Matches the values of `ui_locales` that are passed on to the next page."""


def page(  # noqa: PLR0913 - what the responder knows of the request, by name
    policy: Policy,
    asked: PageRequest,
    refusal: Refusal,
    *,
    caller: Caller | None,
    came_from: str,
    request_id: str,
    action: str | None = None,
    with_built_in: bool = False,
    names_parameters: bool = False,
) -> Page | Redirect:
    """Return the page for a refusal, with its status; redirect a user who must authenticate to the page for that.

    `asked` has the submitted fields, unchecked; `caller` is the user, if known; `came_from` is the path and
    query of the previous page, or empty. `action` is the path of a form that the page offers to send again, without
    secret fields. `with_built_in` ignores the operator's templates, and `names_parameters` names a malformed
    parameter of the query.
    """
    fields = asked.submitted
    target, languages = fields.get("callbackURL", ""), fields.get("ui_locales", "")
    shown = view.standalone_view(
        policy,
        asked,
        # The fields are unchecked: the request may have been refused before its parameters were validated.
        target if policy.origins.accepts(target) else None,
        languages if _LANGUAGES.fullmatch(languages) else None,
        caller,
    )
    if with_built_in:
        shown = replace(shown, templates_dir=None)
    back = came_from if came_from and policy.origins.accepts(came_from) else None
    # Not its subclasses, such as InvalidToken: they are about a link or code, and signing in would not help.
    if type(refusal) is Unauthenticated:
        return shown.redirect("/sign-in", callbackURL=back)
    if isinstance(refusal, InvalidTwoFactorCookie):
        return shown.redirect("/sign-in", reason="expired")
    if isinstance(refusal, SessionNotFresh):
        return shown.redirect("/confirm", callbackURL=back)
    return shown.render(
        "error.html",
        status=refusal.status,
        code=refusal.code,
        sentence=texts.sentence(shown.localization, refusal, names_parameters=names_parameters),
        request_id=request_id,
        action=action,
        # A password must not be in a page, which the browser may keep.
        fields=view.without_secrets(fields) if action is not None else {},  # defence: H12 kept-fields
        came_from=back,
    )


def other_account(policy: Policy, asked: PageRequest, caller: Caller, *, rendered_for: str) -> Page:
    """Return the page for a form that was shown for an account other than the one now signed in."""
    shown = view.standalone_view(
        policy, asked, asked.carried("callbackURL"), asked.carried("ui_locales"), caller
    )
    return shown.render(
        "other_account.html", status=409, rendered_for=rendered_for, current=caller.user.email
    )
