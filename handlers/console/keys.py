"""The pages of the signing keys, which sign tokens for other services."""

from collections.abc import Mapping

from domain.context import Context
from domain.jwt.errors import SigningKeyAlreadyRevoked
from domain.jwt.policy import JwtPolicy
from domain.localization import N_
from domain.operations import signing_keys
from domain.policy import Policy
from handlers import shapes
from handlers.console import layout
from handlers.console.registry import NavigationItem
from handlers.console.view import view
from handlers.responses.reply import Page, Redirect

ERROR_TEXTS: Mapping[str, str] = {
    "SIGNING_KEY_NOT_FOUND": N_("There is no such key."),
}

NOTICES = {
    "key-announced": N_("The next key is published, and signs later."),
    "key-rotated": N_("The new key signs from now on."),
    "key-revoked": N_("The key is revoked."),
}

STATES = {
    "announced": N_("Announced"),
    "signing": N_("Signs"),
    "retired": N_("Retired"),
    "revoked": N_("Revoked"),
    "gone": N_("No longer published"),
}


def _is_on(policy: Policy) -> bool:
    return policy[JwtPolicy].enabled


NAVIGATION = (
    NavigationItem(
        path="/keys", label=N_("Signing keys"), permission=("service", "manage"), position=70, exists=_is_on
    ),
)


# console.keys.show_list
async def show_list(ctx: Context, ui_locales: str | None = None) -> Page:
    """Show the signing keys and their states."""
    here = view(ctx, "/keys", ui_locales)
    return layout.render(
        ctx,
        here,
        "keys/list.html",
        keys=await signing_keys.list_keys(ctx),
        policy=ctx.policy[JwtPolicy],
        states={name: here.localization.gettext(text) for name, text in STATES.items()},
    )


# console.keys.show_rotate
async def show_rotate(
    ctx: Context, algorithm: str | None = None, now: str | None = None, ui_locales: str | None = None
) -> Page:
    """Ask for confirmation before the next signing key of an algorithm is created."""
    here = view(ctx, "/keys/rotate", ui_locales, algorithm=algorithm, now=now or None)
    signing_keys.check_rotation(ctx, algorithm or "")
    at_once, policy = now == "true", ctx.policy[JwtPolicy]
    return layout.render(ctx, here, "keys/rotate.html", algorithm=algorithm, at_once=at_once, policy=policy)


# console.keys.rotate
async def rotate(ctx: Context, body: shapes.ConsoleKeyRotationForm) -> Redirect:
    """Create the next signing key of an algorithm. It signs at once if the form says so, otherwise later."""
    here, at_once = view(ctx), body.get("now") == "true"
    await signing_keys.rotate(ctx, body["algorithm"], at_once=at_once)
    return layout.done(ctx, here, "/keys", "key-rotated" if at_once else "key-announced")


# console.keys.show_revoke
async def show_revoke(ctx: Context, key: str | None = None, ui_locales: str | None = None) -> Page | Redirect:
    """Ask for confirmation before a signing key is revoked."""
    here = view(ctx, "/keys/revoke", ui_locales, key=key)
    try:
        row, state = await signing_keys.find(ctx, key or "")
    except SigningKeyAlreadyRevoked:
        return layout.done(ctx, here, "/keys", "key-revoked")
    return layout.render(ctx, here, "keys/revoke.html", key=row, signs=state == "signing")


# console.keys.revoke
async def revoke(ctx: Context, body: shapes.ConsoleKeyForm) -> Redirect:
    """Revoke a signing key."""
    here = view(ctx)
    await signing_keys.revoke(ctx, body["key"])
    return layout.done(ctx, here, "/keys", "key-revoked")
