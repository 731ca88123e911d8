"""Error pages of the console, for administrators: inside its frame."""

from dataclasses import replace
from datetime import datetime

from domain.console.policy import ConsolePolicy
from domain.context import Caller, PageRequest
from domain.policy import Policy
from handlers.console import layout, texts, view
from handlers.pages import refusals
from handlers.pages.refusals import Refused
from handlers.responses.reply import Page


def page(refused: Refused, caller: Caller | None, path: str, now: datetime) -> Page:
    """Return the page for a refusal, with its status; the path is that of the request.

    It leads back to the first page of its entry in the navigation. The caller is an administrator. None: nobody knows
    who it is, because the database is unavailable; then the frame is empty.
    """
    policy, refusal = refused.policy, refused.refusal
    shown = view.of(replace(refused.view(), callback_url=None), now)
    values = dict(refusals.values(refused, shown.localization))
    values["sentence"] = texts.sentence(shown.localization, refusal) or values["sentence"]
    frame = layout.frame(shown, None if caller is None else caller.user, _below(policy, path))
    return shown.render("console/error.html", status=refusal.status, **values, **frame)


def other_account(
    policy: Policy, asked: PageRequest, caller: Caller, path: str, now: datetime, *, rendered_for: str
) -> Page:
    """Return the page for a form that was shown to an administrator other than the one now signed in."""
    shown = view.of(refusals.other_account_view(policy, asked, caller), now)
    return shown.render(
        "console/other_account.html",
        status=409,
        rendered_for=rendered_for,
        current=caller.user.email,
        **layout.frame(shown, caller.user, _below(policy, path)),
    )


def _below(policy: Policy, path: str) -> str:
    """Return the part of a path below that of the console."""
    return path.removeprefix(policy.base_path + policy[ConsolePolicy].path)
