"""Actions on several users of the list at once: ban, unban, and end sessions."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from domain.admin import selection, targets, user_sessions, users
from domain.context import Context, Job
from domain.users import roles
from handlers import shapes
from handlers.console import layout, lists, texts
from handlers.console.user import ban_days, ban_lasts
from handlers.console.view import view
from handlers.responses.reply import Page, Redirect

_PATH = "/users/selected"
_MOST = 50
"""The most users that a form may contain."""


# console.selected_users.show
async def show(
    ctx: Context,
    ui_locales: str | None = None,
    act: Any = None,
    id_: list[str] | None = None,
    users: str | None = None,
) -> Page:
    """List the selected users, and ask for confirmation before the action `act` is done to them."""
    ids = list(dict.fromkeys(_versions(users) if users else id_ or ()))
    here = view(ctx, _PATH, ui_locales, act=act or None)
    found = await selection.users_of(ctx, ids, act or None)
    return layout.render(
        ctx,
        here,
        "users/selected.html",
        act=act if act and found else None,
        targets=list(found.values()),
        sent=",".join(f"{user.id}:{targets.version(user)}" for user in found.values()),
        outranked=[
            user.id for user in found.values() if not roles.outranks(ctx.policy, ctx.signed_in.user, user)
        ],
        list_url=here.url("/users"),
        **ban_days(ctx),
    )


# console.selected_users.act
async def act(ctx: Context, body: shapes.ConsoleSelectedUsersForm) -> Redirect:
    """Do the chosen action to one user after the other, and redirect to the page with the results."""
    here, chosen, versions = view(ctx), body["act"], _versions(body["users"])
    rules: Mapping[str, Any] = {"unban": users.unban_user, "end-sessions": user_sessions.revoke_sessions}
    rule: Any = rules.get(chosen)
    if chosen == "ban":
        reason = body.get("reason", "").strip() or None
        lasts = ban_lasts(ctx, body.get("lasts", "ever"), body.get("until"))
        rule = partial(users.ban_user, reason=reason, lasts=lasts, for_good=True)

    def job(user_id: str) -> Job[object]:
        seen = {} if chosen == "end-sessions" else {"seen": versions[user_id]}
        return partial(rule, user_id=user_id, **seen)

    results = await selection.act_on_each(ctx, list(versions), chosen, job)
    return Redirect(here.url("/users/results", results=selection.seal(ctx, chosen, results)))


def _versions(sent: str) -> Mapping[str, str]:
    """Return the versions of users by their ids from the field `users` of the form; a missing version is empty.

    Raises ValidationError if there are more than `_MOST` users.
    """
    pairs = [part.partition(":") for part in sent.split(",")]
    if len(pairs) > _MOST:
        lists.refuse("users", f"must have at most {_MOST} users")
    return {user_id: version for user_id, _, version in pairs}


# console.selected_users.show_results
async def show_results(
    ctx: Context, ui_locales: str | None = None, results: str | None = None
) -> Page | Redirect:
    """Show what was done to each user, or why not; redirect to the list if the results have expired."""
    here = view(ctx, "/users/results", ui_locales, results=results)
    done = selection.unseal(ctx, results or "")
    if done is None:
        return Redirect(here.url("/users"))
    chosen, codes = done
    found = await selection.users_of(ctx, list(codes))
    lines: Sequence[tuple[str, Any, str | None]] = [
        (user_id, found.get(user_id), None if code is None else texts.of_one(here.localization, code))
        for user_id, code in codes.items()
    ]
    return layout.render(
        ctx,
        here,
        "users/results.html",
        act=chosen,
        lines=lines,
        number_done=sum(reason is None for *_, reason in lines),
        list_url=here.url("/users"),
    )
