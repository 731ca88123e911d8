"""Error pages of the console, for administrators: inside its frame."""

from dataclasses import replace
from datetime import datetime

from domain.console.policy import ConsolePolicy
from domain.context import Caller
from handlers.console import layout, texts, view
from handlers.pages import refusals
from handlers.pages.refusals import Refused
from handlers.responses.reply import Page


def page(refused: Refused, caller: Caller, path: str, now: datetime) -> Page:
    """Return the page for a refusal, with its status; the caller is an administrator, the path is that of the request.

    It leads back to the first page of its entry in the navigation.
    """
    policy, refusal = refused.policy, refused.refusal
    shown = view.of(replace(refused.view(), callback_url=None), now)
    below = path.removeprefix(policy.base_path + policy[ConsolePolicy].path)
    values = dict(refusals.values(refused, shown.localization))
    values["sentence"] = texts.sentence(shown.localization, refusal) or values["sentence"]
    return shown.render(
        "console/error.html", status=refusal.status, **values, **layout.frame(shown, caller.user, below)
    )
