"""The pages where users add, rename and remove their passkeys."""

from collections.abc import Mapping

from domain import identifiers
from domain.context import Context
from domain.localization import N_
from domain.passkeys import passkeys, registration
from domain.passkeys.errors import PasskeyNotFound
from domain.passkeys.policy import PasskeyPolicy
from handlers import passkeys as passkey_operations
from handlers import shapes
from handlers.account_pages import layout, user_agents
from handlers.account_pages.registry import NavigationItem
from handlers.pages import view as views
from handlers.pages.passkeys import public_key_credential
from handlers.responses.reply import Page, Redirect

ERROR_TEXTS: Mapping[str, str] = {
    "FAILED_TO_VERIFY_REGISTRATION": N_("Your device did not make a passkey that can be used here."),
    "PREVIOUSLY_REGISTERED": N_("This passkey has been added already."),
    "TOO_MANY_PASSKEYS": N_("You have as many passkeys as are allowed. Remove one first."),
    "FAILED_TO_DELETE_LAST_PASSKEY": N_("This is the only way you can sign in, so it cannot be removed."),
}

ACCOUNT_NAVIGATION = (
    NavigationItem(
        path="/passkeys",
        label=N_("Passkeys"),
        position=60,
        exists=lambda policy: policy[PasskeyPolicy].enabled,
    ),
)

_NOTICES = {
    "added": N_("Your passkey is added. You can sign in with it from now on."),
    "renamed": N_("The new name is saved."),
    "removed": N_("The passkey is removed. Remove it from your device or password manager as well."),
    "gone": N_("That passkey was removed already."),
}
_NAME_LENGTH = 64


# account_pages.show_passkeys
async def show_passkeys(
    ctx: Context,
    callback_url: str | None = None,
    ui_locales: str | None = None,
    step: str | None = None,
    reason: str | None = None,
) -> Page:
    """Show the passkeys, and a form that adds one; `step` is the id of a passkey whose form for a new name is open."""
    view = views.view(ctx, "/passkeys", callback_url, ui_locales, step=step)
    policy, own = ctx.policy[PasskeyPolicy], await passkeys.list_own(ctx)
    return layout.render(
        ctx,
        view,
        "passkeys.html",
        notices=_NOTICES,
        reason=reason,
        step=step,
        own=[(one, one.rp_id == policy.rp_id) for one in own],
        can_add=policy.on_pages and len(own) < policy.max_per_user,
        is_full=len(own) >= policy.max_per_user,
        suggested=identifiers.clean_name(user_agents.describe(view.localization, ctx.client.user_agent))[
            :_NAME_LENGTH
        ],
        longest_name=_NAME_LENGTH,
    )


# account_pages.add_passkey
async def add_passkey(ctx: Context, body: shapes.PasskeyAdditionForm) -> Redirect:
    """Add the passkey that the browser has created."""
    view = views.view(ctx)
    name = body.get("name", "").strip() or None
    transports = body.get("transports", "").split()
    sent = public_key_credential(
        body["credential"], clientDataJSON=body["clientDataJSON"], attestationObject=body["attestationObject"]
    )
    await registration.finish(ctx, passkey_operations.attestation(sent), name=name, transports=transports)
    return view.redirect("/passkeys", reason="added")


# account_pages.rename_passkey
async def rename_passkey(ctx: Context, body: shapes.PasskeyNameForm) -> Redirect:
    """Rename a passkey of the caller."""
    view = views.view(ctx)
    try:
        await passkeys.rename(ctx, body["step"], body["newName"].strip())
    except PasskeyNotFound:
        return view.redirect("/passkeys", reason="gone")
    return view.redirect("/passkeys", reason="renamed")


# account_pages.show_passkey_removal
async def show_passkey_removal(
    ctx: Context, callback_url: str | None = None, ui_locales: str | None = None, passkey: str | None = None
) -> Page | Redirect:
    """Ask for confirmation before a passkey of the caller is removed."""
    view = views.view(ctx, "/passkeys/remove", callback_url, ui_locales, passkey=passkey)
    gettext = view.localization.gettext
    row = next((one for one in await passkeys.list_own(ctx) if one.id == passkey), None)
    if row is None:
        return view.redirect("/passkeys", reason="gone")
    is_last = await passkeys.is_last_way(ctx, ctx.signed_in.user)
    needed = ERROR_TEXTS["FAILED_TO_DELETE_LAST_PASSKEY"]
    return layout.render(
        ctx,
        view,
        "removal.html",
        heading=gettext("Remove this passkey?"),
        name=row.name or gettext("Without a name"),
        effect=gettext(
            "You can no longer sign in with it. It cannot be restored; you can only add a new one."
        ),
        is_last=False,
        obstacle=gettext(needed) if is_last else None,
        field="passkey",
        id=row.id,
        button=gettext("Remove"),
        back="/passkeys",
    )


# account_pages.remove_passkey
async def remove_passkey(ctx: Context, body: shapes.PasskeyForm) -> Redirect:
    """Remove a passkey of the caller."""
    view = views.view(ctx)
    try:
        await passkeys.remove(ctx, body["passkey"])
    except PasskeyNotFound:
        return view.redirect("/passkeys", reason="gone")
    return view.redirect("/passkeys", reason="removed")
