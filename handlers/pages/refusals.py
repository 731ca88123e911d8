"""Error pages of the hosted pages: they show the error and what the user can do next."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from domain.context import Caller, PageRequest
from domain.errors import Refusal, Unauthenticated
from domain.localization import Localization
from domain.policy import Policy
from domain.sessions.errors import SessionNotFresh
from domain.two_factor.errors import InvalidTwoFactorCookie
from handlers.pages import texts, view
from handlers.pages.view import View
from handlers.responses.reply import Page, Redirect

_LANGUAGES = re.compile(r"[A-Za-z0-9_ -]{1,256}", re.ASCII)
"""Matches the values of `ui_locales` that are passed on to the next page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A refused request, with the data that the error page shows about it."""

    policy: Policy
    asked: PageRequest
    """The facts of the request; its submitted fields are unchecked."""
    refusal: Refusal
    caller: Caller | None
    """The signed-in user; None if unknown."""
    came_from: str
    """The path and query of the previous page; empty if unknown."""
    request_id: str
    action: str | None = None
    """The path of a form that the page offers to send again, without secret fields; None if it offers none."""
    names_parameters: bool = False
    """Whether the page names a malformed query parameter."""

    def view(self) -> View:
        """Return the view of the error page."""
        fields = self.asked.submitted
        target, languages = fields.get("callbackURL", ""), fields.get("ui_locales", "")
        return view.standalone_view(
            self.policy,
            self.asked,
            # The fields are unchecked: the request may have been refused before its parameters were validated.
            target if self.policy.origins.accepts(target) else None,
            languages if _LANGUAGES.fullmatch(languages) else None,
            self.caller,
        )

    @property
    def back(self) -> str | None:
        """The previous page if it belongs to this service or a trusted origin, otherwise None."""
        came_from = self.came_from
        return came_from if came_from and self.policy.origins.accepts(came_from) else None


def redirect(refused: Refused) -> Redirect | None:
    """Return the redirect to the page where the user signs in or signs in again, if the refusal requires it.

    Return None for other refusals.
    """
    refusal, shown = refused.refusal, refused.view()
    # Not its subclasses, such as InvalidToken: they are about a link or code, and signing in would not help.
    if type(refusal) is Unauthenticated:
        return shown.redirect("/sign-in", callbackURL=refused.back)
    if isinstance(refusal, InvalidTwoFactorCookie):
        return shown.redirect("/sign-in", reason="expired")
    if isinstance(refusal, SessionNotFresh):
        return shown.redirect("/confirm", callbackURL=refused.back)
    return None


def page(refused: Refused, *, with_built_in: bool = False) -> Page:
    """Return the error page for a refusal, with its status code; `with_built_in` ignores the operator's templates."""
    shown = refused.view()
    if with_built_in:
        shown = replace(shown, templates_dir=None)
    return shown.render("error.html", status=refused.refusal.status, **values(refused, shown.localization))


def values(refused: Refused, localization: Localization) -> Mapping[str, Any]:
    """Return the template values of an error page: the error, and what the next step needs."""
    refusal, action, fields = refused.refusal, refused.action, refused.asked.submitted
    # A password must not be in a page, which the browser may keep.
    kept = view.without_secrets(fields) if action is not None else {}  # defence: H12 kept-fields
    return {
        "code": refusal.code,
        "sentence": texts.sentence(localization, refusal, names_parameters=refused.names_parameters),
        "request_id": refused.request_id,
        "action": action,
        "fields": kept,
        "came_from": refused.back,
    }


def other_account(policy: Policy, asked: PageRequest, caller: Caller, *, rendered_for: str) -> Page:
    """Return the page that refuses a form because `caller` is not the user to whom it was shown.

    `rendered_for` is the email address of that user.
    """
    shown = other_account_view(policy, asked, caller)
    return shown.render(
        "other_account.html", status=409, rendered_for=rendered_for, current=caller.user.email
    )


def other_account_view(policy: Policy, asked: PageRequest, caller: Caller) -> View:
    """Return the view for `other_account`: the page that refuses a form shown to a user other than `caller`."""
    return view.standalone_view(
        policy, asked, asked.carried("callbackURL"), asked.carried("ui_locales"), caller
    )
