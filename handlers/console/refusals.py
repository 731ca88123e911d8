"""Error pages of the console, for administrators, inside the frame of the console."""

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
    """Return the error page for a refusal, with its status code; `path` is the path of the refused request.

    The page links to the entry of the navigation that `path` belongs to. `caller` is an administrator, or None if the
    database is unavailable; the frame is then empty.
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
    """Return the page that refuses a form because `caller` is not the administrator to whom it was shown.

    `rendered_for` is the email address of that administrator; `path` is the path of the request.
    """
    shown = view.of(refusals.other_account_view(policy, asked, caller), now)
    return shown.render(
        "console/other_account.html",
        status=409,
        rendered_for=rendered_for,
        current=caller.user.email,
        **layout.frame(shown, caller.user, _below(policy, path)),
    )


def _below(policy: Policy, path: str) -> str:
    """Return what a path has after the path of the console."""
    return path.removeprefix(policy.base_path + policy[ConsolePolicy].path)
