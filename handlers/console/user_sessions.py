"""The sessions of a user: the newest on the page of the user, and more on a page of their own."""

from collections.abc import Mapping, Sequence
from typing import Any

from domain.admin import targets, user_sessions, users
from domain.context import Context
from domain.localization import N_
from domain.sessions.sessions import HANDLE_PREFIX
from domain.users import roles
from handlers import shapes
from handlers.account_pages import user_agents
from handlers.console import layout, registry, user_acts
from handlers.console.registry import UserSection
from handlers.console.view import ConsoleView, view
from handlers.responses.reply import Page, Redirect
from handlers.responses.sessions import sign_out_response
from models.session import SessionRow
from models.user import UserRow

NOTICES = {
    "session-ended": N_("The session is ended."),
    "session-gone": N_("That session was ended already."),
    "sessions-ended": N_("The user is signed out everywhere."),
}
_SHOWN = 20
"""The most sessions that the page of a user shows."""
_MOST = 200
"""The most sessions that the page of their own shows."""


async def _load(ctx: Context, here: ConsoleView, user: UserRow) -> Mapping[str, Any]:
    """Return the newest sessions of a user as template values."""
    if not roles.outranks(ctx.policy, ctx.signed_in.user, user):
        return {"sessions": None}
    rows = await user_sessions.newest_sessions(ctx, user.id, limit=_SHOWN + 1)
    page = user_acts.page_of(user.id)
    return {
        "sessions": await _lines(ctx, here, rows[:_SHOWN]),
        "all_url": here.url(f"{page}/sessions") if len(rows) > _SHOWN else None,
        "can_end": registry.may(ctx, "session", "revoke"),
    }


# console.user_sessions.show_list
async def show_list(ctx: Context, id_: str, ui_locales: str | None = None) -> Page:
    """Show the newest sessions of a user, at most 200."""
    user = await users.get_user(ctx, id_)
    rows = await user_sessions.newest_sessions(ctx, user.id, limit=_MOST + 1)
    page = user_acts.page_of(user.id)
    here = view(ctx, f"{page}/sessions", ui_locales)
    return layout.render(
        ctx,
        here,
        "sessions/list.html",
        target=user,
        page=page,
        section={
            "sessions": await _lines(ctx, here, rows[:_MOST]),
            "can_end": registry.may(ctx, "session", "revoke"),
        },
        most=_MOST if len(rows) > _MOST else None,
    )


async def _lines(ctx: Context, here: ConsoleView, rows: Sequence[SessionRow]) -> Sequence[Mapping[str, Any]]:
    names = await targets.names_of(ctx, {row.impersonated_by for row in rows})
    current = ctx.signed_in.session.id
    return [
        {
            "session": row,
            "device": user_agents.describe(here.localization, row.user_agent),
            "by": names.get(row.impersonated_by or ""),
            "is_current": row.id == current,
        }
        for row in rows
    ]


# console.user_sessions.show_end
async def show_end(
    ctx: Context, id_: str, session: str | None = None, ui_locales: str | None = None
) -> Page | Redirect:
    """Ask for confirmation before a session of a user is ended."""
    user = await user_acts.target(ctx, id_, "end-sessions")
    row = await user_sessions.get_session(ctx, user.id, session or "")
    here = view(ctx, None, ui_locales)
    if row is None:
        return layout.done(ctx, here, user_acts.page_of(user.id), "session-gone")
    [line] = await _lines(ctx, here, [row])
    return user_acts.show_form(
        ctx,
        user,
        "end-session",
        "end_session.html",
        ui_locales,
        query={"session": row.id},
        line=line,
    )


# console.user_sessions.end
async def end(ctx: Context, id_: str, body: shapes.ConsoleSessionForm) -> Redirect:
    """End a session of a user."""
    here = view(ctx)
    # Always as a handle: a token in the field must not end the session that it belongs to.
    handle = HANDLE_PREFIX + body["session"].removeprefix(HANDLE_PREFIX)
    if await user_sessions.revoke_session(ctx, handle):
        return _signed_out(ctx, here)
    return layout.done(ctx, here, user_acts.page_of(id_), "session-ended")


# console.user_sessions.show_end_all
async def show_end_all(ctx: Context, id_: str, ui_locales: str | None = None) -> Page:
    """Ask for confirmation before all sessions of a user are ended."""
    user = await user_acts.target(ctx, id_, "end-sessions")
    return user_acts.show_form(ctx, user, "end-sessions", "end_sessions.html", ui_locales)


# console.user_sessions.end_all
async def end_all(ctx: Context, id_: str, body: shapes.ConsoleUserForm) -> Redirect:
    """End all sessions of a user."""
    here = view(ctx)
    await user_sessions.revoke_sessions(ctx, id_)
    if id_ == ctx.signed_in.user.id:
        return _signed_out(ctx, here)
    return layout.done(ctx, here, user_acts.page_of(id_), "sessions-ended")


def _signed_out(ctx: Context, here: ConsoleView) -> Redirect:
    """Return the redirect after the administrator has ended the session that they use."""
    return Redirect(here.account_page("/signed-out"), sign_out_response(ctx, None).headers)


USER_SECTIONS = (
    UserSection(
        name="sessions", label=N_("Sessions"), permission=("session", "list"), position=30, load=_load
    ),
)
