"""The view of a page of the console, and its frame: navigation, search, environment label, notices."""

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
    """The data of every page of the console; links lead to its own pages."""

    now: datetime

    def action(self, page: str) -> str:
        """Return the path of a page of the console, such as `/users`."""
        return f"{self.policy.base_path}{self.policy[ConsolePolicy].path}{page}"

    def account_page(self, page: str, **query: str | None) -> str:
        """Return the path of a hosted page outside the console, such as `/sign-out`."""
        return urls.with_parameters(View.action(self, page), **query)

    @staticmethod
    def name_of(user: UserRow) -> str:
        """Return the name of a user; the email address if there is nothing to be seen in the name."""
        return user.name if user.name.strip() else user.email


def view(
    ctx: Context, page: str | None = None, ui_locales: str | None = None, **query: str | None
) -> ConsoleView:
    """Return the view of a request for the page of the console at this path, such as `/users`, with this query.

    Without a page it is the view of a submitted form.
    """
    return of(page_view(ctx, page, None, ui_locales, **query), ctx.now)


def of(shared: View, now: datetime) -> ConsoleView:
    """Return the view of a page of the console with the data of the view of a hosted page."""
    values = {field.name: getattr(shared, field.name) for field in fields(shared)}
    values["form"] = texts.form(shared.form, shared.localization)
    return ConsoleView(**values, now=now)
