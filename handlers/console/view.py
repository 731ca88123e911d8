"""The view of a page of the console."""

from dataclasses import dataclass, fields
from datetime import datetime

from domain import urls
from domain.console.policy import ConsolePolicy
from domain.context import Context
from handlers.console import texts
from handlers.pages.view import View
from handlers.pages.view import view as page_view
from models.user import UserRow


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleView(View):
    """The data that every page of the console needs; its links lead to pages of the console."""

    now: datetime

    def action(self, page: str) -> str:
        """Return the whole path of a page of the console, which below `console.path` is `page`, such as `/users`."""
        return f"{self.policy.base_path}{self.policy[ConsolePolicy].path}{page}"

    def account_page(self, page: str, **query: str | None) -> str:
        """Return the path and query of a hosted page outside the console, such as `/sign-out`."""
        return urls.with_parameters(View.action(self, page), **query)

    @staticmethod
    def name_of(user: UserRow) -> str:
        """Return the name of a user, or the email address if the name is blank."""
        return user.name if user.name.strip() else user.email


def view(
    ctx: Context, page: str | None = None, ui_locales: str | None = None, **query: str | None
) -> ConsoleView:
    """Return the view of a request. `page` is the path of the page, such as `/users`; None for a submitted form.

    `query` has the page's own query parameters.
    """
    return of(page_view(ctx, page, None, ui_locales, **query), ctx.now)


def of(shared: View, now: datetime) -> ConsoleView:
    """Return the view of a page of the console with the data of `shared`, the view of a hosted page."""
    values = {field.name: getattr(shared, field.name) for field in fields(shared)}
    values["form"] = texts.form(shared.form, shared.localization)
    return ConsoleView(**values, now=now)
