"""The forms that sign in with a passkey; a script of the page fills them in with the browser's response."""

from collections.abc import Mapping
from typing import Any

from domain.authenticators import Assertion
from domain.context import Context
from domain.localization import N_
from domain.passkeys import passkeys
from domain.passkeys import sign_in as passkey_sign_in
from domain.passkeys.policy import PasskeyPolicy
from handlers import passkeys as passkey_operations
from handlers import shapes
from handlers.pages import sign_in_methods
from handlers.pages import view as views
from handlers.responses.reply import Redirect

ERROR_TEXTS: Mapping[str, str] = {
    "AUTHENTICATION_FAILED": N_("This passkey could not be checked. Try again, or sign in another way."),
    "CHALLENGE_NOT_FOUND": N_("That took too long, or was sent twice. Try again."),
    "PASSKEY_NOT_FOUND": N_("This passkey is not known here; it may have been removed. Sign in another way."),
}


async def can_use(ctx: Context, user_id: str) -> bool:
    """Return whether the pages offer passkeys and this user has one."""
    return ctx.policy[PasskeyPolicy].on_pages and bool(await passkeys.of_user(ctx, user_id))


# pages.sign_in_with_passkey
async def sign_in_with_passkey(ctx: Context, body: shapes.PasskeySignInForm) -> Redirect:
    """Sign in with a passkey."""
    view = views.view(ctx)
    remembered = body.get("rememberMe") == "true"
    opened = await passkey_sign_in.finish(ctx, _assertion(body), remembered=remembered)
    return await sign_in_methods.complete_sign_in(ctx, view, opened)


# pages.complete_with_passkey
async def complete_with_passkey(ctx: Context, body: shapes.PasskeySignInForm) -> Redirect:
    """Complete a sign-in that waits for a second factor, with a passkey as this factor."""
    view = views.view(ctx)
    if ctx.challenge is None:
        return view.finish()
    waiting = ctx.challenge
    opened = await passkey_sign_in.finish(
        ctx, _assertion(body), remembered=waiting.remembered, owner=waiting.user.id
    )
    return await sign_in_methods.complete_sign_in(ctx, view, opened)


# pages.confirm_with_passkey
async def confirm_with_passkey(ctx: Context, body: shapes.PasskeySignInForm) -> Redirect:
    """Sign in again as the same user with a passkey; the new session replaces the one that was too old."""
    view = views.view(ctx)
    opened = await passkey_sign_in.sign_in_again(ctx, _assertion(body))
    return await sign_in_methods.complete_sign_in(ctx, view, opened)


def _assertion(body: shapes.PasskeySignInForm) -> Assertion:
    return passkey_operations.assertion(
        public_key_credential(
            body["credential"],
            clientDataJSON=body["clientDataJSON"],
            authenticatorData=body["authenticatorData"],
            signature=body["signature"],
            userHandle=body.get("userHandle") or None,
        )
    )


def public_key_credential(credential_id: str, **response: str | None) -> Any:
    """Return a PublicKeyCredential, built from the fields of a form, in the JSON form that the API accepts.

    `response` has the values of the member `response`.
    """
    return {"id": credential_id, "rawId": credential_id, "type": "public-key", "response": response}
