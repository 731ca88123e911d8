"""The page of one user, and the forms for the profile, the roles, a ban and the deletion."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import orjson

from domain.admin import targets, user_access, user_fields, users
from domain.admin.policy import ImpersonationPolicy
from domain.context import Context
from domain.errors import Field, ValidationError
from domain.localization import LANGUAGES, N_
from domain.passkeys.policy import PasskeyPolicy
from domain.passwords.policy import PasswordResetPolicy
from domain.users import roles
from domain.users.errors import UserNotFound
from domain.users.policy import RolePolicy, UsernamePolicy
from handlers import shapes, wire
from handlers.console import layout, lists, registry, user_acts
from handlers.console.users import provider_name
from handlers.console.view import ConsoleView, view
from handlers.responses.reply import Download, Page, Redirect
from models import CREDENTIAL
from models.user import UserRow

FIELD_LABELS: Mapping[str, str] = {
    "reason": N_("Reason"),
    "typed": N_("Email address of the user"),
    "until": N_("Last day (UTC)"),
}
NOTICES = {
    "profile-saved": N_("The profile is saved."),
    "roles-saved": N_("The roles are saved. They apply from the next request."),
    "user-banned": N_("The user is banned, and signed out everywhere."),
    "user-unbanned": N_("The ban is lifted."),
    "user-deleted": N_("The user is deleted."),
    "user-gone": N_("This user no longer exists."),
}
_ROLE = "role-"
_LONGEST_BAN = timedelta(seconds=315_360_000)


# console.user.show
async def show(ctx: Context, id_: str, ui_locales: str | None = None) -> Page:
    """Show a user."""
    user = await users.get_user(ctx, id_)
    here = view(ctx, user_acts.page_of(user.id), ui_locales)
    accounts = await user_access.list_accounts(ctx, user.id)
    with_passkeys = ctx.policy[PasskeyPolicy].enabled
    return layout.render(
        ctx,
        here,
        "user/show.html",
        target=user,
        page=user_acts.page_of(user.id),
        is_banned=user.is_banned(ctx.now),
        is_own=targets.is_own(ctx, user.id),
        is_outranked=not roles.outranks(ctx.policy, ctx.signed_in.user, user),
        acts=user_acts.allowed(ctx, user),
        with_impersonation=ctx.policy[ImpersonationPolicy].enabled,
        can_mail_reset=ctx.policy[PasswordResetPolicy].sender != "none",
        role_names=roles.split(user.role),
        language=LANGUAGES.get(user.locale or ""),
        password=next((row for row in accounts if row.provider_id == CREDENTIAL), None),
        connections=[
            (row, provider_name(here, row.provider_id)) for row in accounts if row.provider_id != CREDENTIAL
        ],
        passkeys=await user_access.list_passkeys(ctx, user.id) if with_passkeys else None,
        last_sign_in=(await user_access.methods_of(ctx, [user]))[user.id].last_sign_in,
        sections=await _sections(ctx, here, user),
    )


async def _sections(ctx: Context, here: ConsoleView, user: UserRow) -> Sequence[Mapping[str, Any]]:
    """Return the sections of the page that other modules declare, with their template values."""
    return [
        {
            "name": section.name,
            "label": here.localization.gettext(section.label),
            "values_of_section": await section.load(ctx, here, user),
        }
        for section in registry.user_sections(ctx)
    ]


# console.user.show_profile
async def show_profile(ctx: Context, id_: str, ui_locales: str | None = None) -> Page:
    """Show the profile of a user as a form."""
    user = await user_acts.target(ctx, id_, "edit")
    return user_acts.show_form(
        ctx,
        user,
        "profile",
        "profile.html",
        ui_locales,
        with_username=ctx.policy[UsernamePolicy].enabled,
    )


# console.user.update_profile
async def update_profile(ctx: Context, id_: str, body: shapes.ConsoleProfileForm) -> Redirect:
    """Change the profile of a user, unless it was changed after the form was shown."""
    here = view(ctx)
    wanted: dict[str, Any] = {"name": body["name"].strip()}
    if "image" in body:
        wanted["image"] = body["image"].strip() or None
    if "locale" in body:
        wanted["locale"] = body["locale"] or None
    if username := body.get("username", "").strip():
        wanted |= {"username": username.lower(), "display_username": username}
    await user_fields.update_user(ctx, id_, wanted, seen=body.get("version", ""))
    return layout.done(ctx, here, user_acts.page_of(id_), "profile-saved")


# console.user.show_roles
async def show_roles(ctx: Context, id_: str, ui_locales: str | None = None) -> Page:
    """Show the roles of a user as a form."""
    user = await user_acts.target(ctx, id_, "set-roles")
    names = roles.split(user.role)
    return user_acts.show_form(
        ctx,
        user,
        "roles",
        "roles.html",
        ui_locales,
        choices=role_choices(ctx, names),
        unknown=[name for name in names if name not in ctx.policy[RolePolicy].roles],
    )


def role_choices(ctx: Context, names: Sequence[str]) -> Sequence[tuple[str, bool, bool]]:
    """Return each configured role, whether it is in `names`, and whether the caller may grant and revoke it."""
    own = roles.powers(ctx.policy, *roles.split(ctx.signed_in.user.role))
    return [
        (name, name in names, roles.powers(ctx.policy, name) <= own) for name in ctx.policy[RolePolicy].roles
    ]


def chosen_roles(body: Mapping[str, Any]) -> list[str]:
    """Return the roles that are ticked in a form."""
    return [name.removeprefix(_ROLE) for name in body if name.startswith(_ROLE)]


# console.user.set_roles
async def set_roles(ctx: Context, id_: str, body: shapes.ConsoleRolesForm) -> Redirect:
    """Replace the roles of a user, unless the user was changed after the form was shown."""
    here = view(ctx)
    await users.set_role(ctx, id_, chosen_roles({**body}), seen=body.get("version", ""))
    return layout.done(ctx, here, user_acts.page_of(id_), "roles-saved")


# console.user.show_ban
async def show_ban(ctx: Context, id_: str, ui_locales: str | None = None) -> Page:
    """Ask for the reason and the end of a ban."""
    user = await user_acts.target(ctx, id_, "ban")
    return user_acts.show_form(ctx, user, "ban", "ban.html", ui_locales, **ban_days(ctx))


def ban_days(ctx: Context) -> Mapping[str, Any]:
    """Return the first and the last day on which a ban can end, as template values."""
    earliest, latest = ctx.now.date(), (ctx.now + _LONGEST_BAN).date()
    return {"earliest": earliest.isoformat(), "latest": latest.isoformat()}


# console.user.ban
async def ban(ctx: Context, id_: str, body: shapes.ConsoleBanForm) -> Redirect:
    """Ban the user."""
    here = view(ctx)
    await users.ban_user(
        ctx,
        id_,
        body.get("reason", "").strip() or None,
        ban_lasts(ctx, body["lasts"], body.get("until")),
        for_good=True,
    )
    return layout.done(ctx, here, user_acts.page_of(id_), "user-banned")


def ban_lasts(ctx: Context, lasts: str, until: str | None) -> timedelta | None:
    """Return how long a ban lasts; None for a ban without end.

    `lasts` is `ever`, a number of days, or `until`; then `until` is the last day. Raises ValidationError if that day is
    malformed, past, or more than ten years ahead.
    """
    if lasts == "ever":
        return None
    if lasts != "until":
        return timedelta(days=int(lasts))
    end = lists.last_day(until, "until")
    if end is None or not timedelta() < end - ctx.now <= _LONGEST_BAN:
        problem = "must be a day from today on, and within ten years"
        raise ValidationError(f"[body.until] {problem}", Field("body", "until", problem))
    return end - ctx.now


# console.user.unban
async def unban(ctx: Context, id_: str, body: shapes.ConsoleUserForm) -> Redirect:
    """Lift the ban of the user."""
    here = view(ctx)
    await users.unban_user(ctx, id_)
    return layout.done(ctx, here, user_acts.page_of(id_), "user-unbanned")


# console.user.export
async def export(ctx: Context, id_: str, ui_locales: str | None = None) -> Download:
    """Return all stored data about the user as a file."""
    held = await user_access.export_user(ctx, id_)
    return Download(wire.exported(held, orjson.OPT_INDENT_2), "user.json")


# console.user.show_deletion
async def show_deletion(ctx: Context, id_: str, ui_locales: str | None = None) -> Page:
    """Ask for confirmation before the user is deleted."""
    user = await user_acts.target(ctx, id_, "delete")
    return user_acts.show_form(ctx, user, "delete", "delete.html", ui_locales)


# console.user.delete
async def delete(ctx: Context, id_: str, body: shapes.ConsoleDeletionForm) -> Redirect:
    """Delete a user if their email address was typed as confirmation."""
    here = view(ctx)
    try:
        user = await user_acts.target(ctx, id_, "delete")
        if body["typed"].strip().lower() != user.email:
            problem = "must be the email address of the user"
            raise ValidationError(f"[body.typed] {problem}", Field("body", "typed", problem))
        await users.remove_user(ctx, id_)
    except UserNotFound:  # A form that is sent twice.
        return layout.done(ctx, here, "/users", "user-gone")
    return layout.done(ctx, here, "/users", "user-deleted")
