"""The common parts of all account pages: the navigation and notices."""

from collections.abc import Mapping
from typing import Any

from domain import urls
from domain.console.policy import ConsolePolicy
from domain.context import Context
from domain.emails.policy import EmailVerificationPolicy
from domain.users import roles
from handlers.account_pages.registry import navigation
from handlers.pages.view import View
from handlers.responses.reply import Header, Page


def render(
    ctx: Context,
    view: View,
    template: str,
    /,
    *,
    notices: Mapping[str, str] | None = None,
    reason: str | None = None,
    status: int = 200,
    headers: tuple[Header, ...] = (),
    **values: Any,
) -> Page:
    """Return an account page, rendered from the template `account/<template>` with `values`.

    `reason` is the query parameter with which a form redirects to the page; `notices` has the English text to show for
    each of its values.
    """
    notice = (notices or {}).get(reason or "")
    is_own = ctx.signed_in.session.impersonated_by is None
    can_verify = ctx.policy[EmailVerificationPolicy].enabled
    return view.render(
        f"account/{template}",
        status=status,
        headers=headers,
        section="/".join((view.page or "").split("/")[:2]),
        sections=[
            (item.path, view.url(item.path, callbackURL=None), view.localization.gettext(item.label))
            for item in navigation(ctx.policy)
        ],
        notice=notice and view.localization.gettext(notice),
        asks_verification=is_own
        and can_verify
        and not ctx.signed_in.user.email_verified
        and view.page != "/email",
        account=ctx.signed_in.user.email,
        console_url=_console_url(ctx, view) if is_own else None,
        **values,
    )


def _console_url(ctx: Context, view: View) -> str | None:
    """Return the URL of the console for callers who may open it, otherwise None."""
    console = ctx.policy[ConsolePolicy]
    if not (console.enabled and roles.is_privileged(ctx.policy, ctx.signed_in.user.role)):
        return None
    return urls.with_parameters(f"{ctx.policy.base_path}{console.path}", ui_locales=view.ui_locales)
