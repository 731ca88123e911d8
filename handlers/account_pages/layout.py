"""The common parts of all account pages: the navigation and notices."""

from collections.abc import Mapping
from typing import Any

from domain import urls
from domain.api_keys.policy import ApiKeyPolicy
from domain.console.policy import ConsolePolicy
from domain.context import Context
from domain.emails.policy import EmailVerificationPolicy
from domain.localization import N_
from domain.organizations.policy import OrganizationPolicy
from domain.passkeys.policy import PasskeyPolicy
from domain.sessions.policy import SessionPolicy
from domain.users import roles
from handlers.pages.view import View
from handlers.responses.reply import Header, Page

SECTIONS = (
    ("", N_("Overview")),
    ("/profile", N_("Profile")),
    ("/email", N_("Email address")),
    ("/password", N_("Password")),
    ("/second-factor", N_("Two-factor authentication")),
    ("/passkeys", N_("Passkeys")),
    ("/sessions", N_("Devices and sessions")),
    ("/connections", N_("Connected accounts")),
    ("/api-keys", N_("API keys")),
    ("/organizations", N_("Organizations")),
    ("/history", N_("Sign-in history")),
    ("/data", N_("Your data")),
)
"""The pages, by their path below `pages.path`; a page that is switched off is left out."""


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
    """Return an account page. `notices` has the text to show for each value of the query parameter `reason`."""
    notice = (notices or {}).get(reason or "")
    is_own = ctx.signed_in.session.impersonated_by is None
    can_verify = ctx.policy[EmailVerificationPolicy].enabled
    return view.render(
        f"account/{template}",
        status=status,
        headers=headers,
        section="/".join((view.page or "").split("/")[:2]),
        sections=[
            (path, view.url(path, callbackURL=None), view.localization.gettext(label))
            for path, label in SECTIONS
            if _exists(ctx, path)
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
    """Return the URL of the console for callers who may open it."""
    console = ctx.policy[ConsolePolicy]
    if not (console.enabled and roles.is_privileged(ctx.policy, ctx.signed_in.user.role)):
        return None
    return urls.with_parameters(f"{ctx.policy.base_path}{console.path}", ui_locales=view.ui_locales)


def _exists(ctx: Context, path: str) -> bool:
    match path:
        case "/api-keys":
            return ctx.policy[ApiKeyPolicy].enabled
        case "/organizations":
            return ctx.policy[OrganizationPolicy].enabled
        case "/passkeys":
            return ctx.policy[PasskeyPolicy].enabled
        case "/sessions":
            return ctx.policy[SessionPolicy].listing
    return True
