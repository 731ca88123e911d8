"""The form that creates a user."""

from domain.admin import permissions, user_access, user_fields
from domain.admin.errors import YouAreNotAllowedToCreateUsers
from domain.admin.user_fields import NewUser
from domain.context import Context
from domain.localization import N_
from domain.passwords.policy import PasswordResetPolicy
from domain.users.policy import RolePolicy
from handlers import shapes, wire
from handlers.console import layout, registry, user_acts
from handlers.console.user import chosen_roles, role_choices
from handlers.console.view import view
from handlers.pages import sign_in_methods
from handlers.responses.reply import Page, Redirect

NOTICES = {"user-created": N_("The user is created.")}


# console.user_creation.show
async def show(ctx: Context, ui_locales: str | None = None) -> Page:
    """Show the form for a new user."""
    may_set_roles = registry.may(ctx, "user", "set-role")
    # Giving a role needs a fresh session, so that is asked for before the form is filled in.
    permissions.require(ctx, "user", "create", YouAreNotAllowedToCreateUsers, fresh=may_set_roles)
    here = view(ctx, "/users/new", ui_locales)
    default = ctx.policy[RolePolicy].default_role
    return layout.render(
        ctx,
        here,
        "user/new.html",
        choices=role_choices(ctx, [default]) if may_set_roles else (),
        can_mail=_can_mail(ctx),
        can_verify=registry.may(ctx, "user", "set-email"),
        **sign_in_methods.password_rules(ctx),
    )


def _can_mail(ctx: Context) -> bool:
    return registry.may(ctx, "user", "update") and ctx.policy[PasswordResetPolicy].sender != "none"


# console.user_creation.create
async def create(ctx: Context, body: shapes.ConsoleNewUserForm) -> Redirect:
    """Create a user; if the form says so, send the user a link that sets a password."""
    here = view(ctx)
    names, default = chosen_roles({**body}), ctx.policy[RolePolicy].default_role
    wanted = NewUser(
        email=body["email"].strip(),
        name=body["name"].strip(),
        password=body.get("newPassword", "") if body["access"] == "password" else None,
        gives_role=bool(names) and names != [default],
        role=names,
        image=None,
        username=None,
        display_username=None,
        locale=None,
        email_verified=True if wire.flag(body.get("verified")) else None,
        ban={},
    )
    user = await user_fields.create_user(ctx, wanted)
    if body["access"] == "link":
        await user_access.send_password_reset(ctx, user.id, None)
    return layout.done(ctx, here, user_acts.page_of(user.id), "user-created")
