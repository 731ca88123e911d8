"""What all pages of one's own account share: who is signed in, and the list of pages."""

from typing import Any

from domain.context import Context
from domain.localization import N_
from handlers.pages.view import View
from handlers.reply import Page

SECTIONS = (("", N_("Overview")),)
"""The pages, by their path below `pages.path`."""


def render(ctx: Context, view: View, template: str, /, **values: Any) -> Page:
    """Return a page of the account."""
    return view.render(
        f"account/{template}",
        sections=[(path, view.localization.gettext(label)) for path, label in SECTIONS],
        impersonated=ctx.signed_in.session.impersonated_by is not None,
        **values,
    )
