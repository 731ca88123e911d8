"""The page where users see and end their sessions."""

from dataclasses import dataclass
from datetime import datetime

from domain.context import Context
from domain.localization import N_, Localization
from domain.sessions import listing, sessions
from domain.sessions.policy import SessionPolicy
from handlers import shapes
from handlers.account_pages import layout, user_agents
from handlers.account_pages.registry import NavigationItem
from handlers.pages import view as views
from handlers.responses.reply import Page, Redirect
from handlers.responses.sessions import sign_out_response
from models.session import SessionRow

ACCOUNT_NAVIGATION = (
    NavigationItem(
        path="/sessions",
        label=N_("Devices and sessions"),
        position=70,
        exists=lambda policy: policy[SessionPolicy].listing,
    ),
)

_NOTICES = {
    "ended": N_("That session is ended."),
    "others-ended": N_("You are signed out everywhere else."),
}


@dataclass(frozen=True, slots=True)
class ShownSession:
    """A session as the page shows it."""

    handle: str
    """An identifier with which a form ends the session; it cannot be used to sign in."""
    device: str
    address: str | None
    since: datetime
    is_current: bool
    by_administrator: bool
    """Whether an administrator acts in the name of the user in this session. Unless it is the current session, the
    administrator's network and device are not shown."""


# account_pages.show_sessions
async def show_sessions(
    ctx: Context, callback_url: str | None = None, ui_locales: str | None = None, reason: str | None = None
) -> Page:
    """Show the active sessions, the current one first. `reason` selects the notice to show after a form."""
    view = views.view(ctx, "/sessions", callback_url, ui_locales)
    rows = await listing.of_user(ctx, ctx.signed_in.user.id)
    shown = [_shown(ctx, view.localization, row) for row in rows]
    return layout.render(
        ctx,
        view,
        "sessions.html",
        notices=_NOTICES,
        reason=reason,
        active=sorted(shown, key=lambda one: not one.is_current),
        can_end=ctx.policy[SessionPolicy].revocation,
    )


def _shown(ctx: Context, localization: Localization, row: SessionRow) -> ShownSession:
    by_administrator = row.impersonated_by is not None
    is_current = row.id == ctx.signed_in.session.id
    # The network and device of an administrator are not the user's data.
    hidden = by_administrator and not is_current  # defence: H13 hidden-administrator
    return ShownSession(
        handle=sessions.HANDLE_PREFIX + row.id,
        device=localization.gettext("An administrator in your name")
        if hidden
        else user_agents.describe(localization, row.user_agent),
        address=None if hidden else row.ip_address,
        since=row.created_at,
        is_current=is_current,
        by_administrator=by_administrator,
    )


# account_pages.end_session
async def end_session(ctx: Context, body: shapes.SessionForm) -> Redirect:
    """End one session of the caller."""
    view = views.view(ctx)
    # Always as a handle: a token in the field must not end the session that it belongs to.
    handle = sessions.HANDLE_PREFIX + body["session"].removeprefix(sessions.HANDLE_PREFIX)
    if await sessions.revoke(ctx, handle):
        return view.redirect("/signed-out", sign_out_response(ctx, None).headers)
    return view.redirect("/sessions", reason="ended")


# account_pages.end_other_sessions
async def end_other_sessions(ctx: Context, body: shapes.AccountForm) -> Redirect:
    """End all sessions of the caller except the current one."""
    view = views.view(ctx)
    await sessions.revoke_others(ctx)
    return view.redirect("/sessions", reason="others-ended")
