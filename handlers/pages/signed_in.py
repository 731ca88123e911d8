"""What the forms of somebody who is signed in have in common."""

from collections.abc import Mapping
from typing import Any

from domain.context import Context
from handlers.pages.view import View
from handlers.responses.reply import Page


def other_account(ctx: Context, view: View, body: Mapping[str, Any]) -> Page | None:
    """Return a page that refuses a form rendered for another account than the one that is signed in now; else None."""
    rendered_for, current = body.get("account") or "", ctx.signed_in.user.email
    if rendered_for == current:  # defence: H8 same-account
        return None
    return view.render("other_account.html", status=409, rendered_for=rendered_for, current=current)
