"""The page where users change their profile."""

from typing import Any

from domain import identifiers
from domain.context import Context
from domain.localization import LANGUAGES, N_
from domain.users import profile
from domain.users.policy import UsernamePolicy
from handlers import shapes, wire
from handlers.account_pages import layout
from handlers.account_pages.registry import NavigationItem
from handlers.pages import view as views
from handlers.responses.reply import Page, Redirect

ACCOUNT_NAVIGATION = (NavigationItem(path="/profile", label=N_("Profile"), position=20),)

_NOTICES = {"saved": N_("Your profile is saved.")}


# account_pages.show_profile
async def show_profile(
    ctx: Context, callback_url: str | None = None, ui_locales: str | None = None, reason: str | None = None
) -> Page:
    """Show the profile as a form. If a form was refused because the profile had changed, show both versions."""
    view = views.view(ctx, "/profile", callback_url, ui_locales, reason=reason)
    user = ctx.signed_in.user
    stored = {
        "name": user.name,
        "image": user.image or "",
        "username": user.display_username or user.username or "",
        "locale": user.locale or "",
    }
    automatic = view.localization.gettext("Automatic: the language of the browser")
    return layout.render(
        ctx,
        view,
        "profile.html",
        notices=_NOTICES,
        reason=reason,
        stored=stored,
        choices=(("", automatic), *LANGUAGES.items()),
        with_username=ctx.policy[UsernamePolicy].enabled,
        version=wire.instant(user.updated_at),
        is_stale=view.form.code == "STALE_PROFILE",
    )


# account_pages.update_profile
async def update_profile(ctx: Context, body: shapes.ProfileForm) -> Redirect:
    """Change the profile, unless it was changed after the form was shown."""
    view = views.view(ctx)
    seen = identifiers.instant_or_none(body.get("version", ""))
    values = _values(ctx, body)
    await profile.update_seen(ctx, values, seen=seen)
    if values.get("locale", ctx.signed_in.user.locale) != ctx.signed_in.user.locale:
        # The parameter `ui_locales` would override the new language.
        return view.redirect("/profile", reason="saved", ui_locales=None)
    return view.redirect("/profile", reason="saved")


def _values(ctx: Context, body: shapes.ProfileForm) -> dict[str, Any]:
    """Return the columns to change; a username is stored both as typed and in lower case."""
    values: dict[str, Any] = {"name": body["name"].strip()}
    if "image" in body:
        values["image"] = body["image"].strip() or None
    if "locale" in body:
        values["locale"] = body["locale"] or None
    username, user = body.get("username", "").strip(), ctx.signed_in.user
    # The empty field of a user without a username is not a change.
    if "username" in body and ctx.policy[UsernamePolicy].enabled and (username or user.username):
        values |= {"username": username.lower(), "display_username": username}
        # Otherwise the unchanged form would set a displayed username.
        if username == user.username and user.display_username is None:
            del values["display_username"]
    return values
