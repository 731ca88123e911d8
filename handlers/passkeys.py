"""The operations of openapi/paths/passkeys.yaml: add, list, rename and delete passkeys, and sign in with one."""

import base64
from typing import Any, Literal, NoReturn, cast

from domain import errors
from domain.authenticators import Assertion, Attestation
from domain.context import Context
from domain.passkeys import client_data, passkeys, registration
from domain.passkeys import sign_in as passkey_sign_in
from domain.two_factor.challenges import PendingSignIn
from handlers import passkey_options, shapes, wire
from handlers.responses.reply import Reply
from handlers.responses.sessions import session_response, two_factor_required
from models.passkey import PasskeyRow


# passkeys.begin_registration
async def begin_registration(
    ctx: Context,
    authenticator_attachment: Literal["platform", "cross-platform"] | None = None,
    name: str | None = None,
    context: str | None = None,
) -> shapes.PasskeyRegistrationOptions:
    """Return the options to create a passkey; `name` and `context` have no effect."""
    return passkey_options.registration(ctx, await registration.begin(ctx), authenticator_attachment)


# passkeys.finish_registration
async def finish_registration(ctx: Context, body: shapes.VerifyPasskeyRegistrationRequest) -> shapes.Passkey:
    """Store a passkey."""
    sent = body["response"]["response"]
    row = await registration.finish(
        ctx,
        attestation(body["response"]),
        name=body.get("name"),
        transports=sent.get("transports", []),
    )
    return passkey_shape(row)


# passkeys.begin_sign_in
async def begin_sign_in(ctx: Context) -> shapes.PasskeySignInOptions:
    """Return the options to sign in with a passkey."""
    return passkey_options.sign_in(ctx, await passkey_sign_in.begin(ctx))


# passkeys.sign_in
async def sign_in(
    ctx: Context, body: shapes.VerifyPasskeySignInRequest
) -> Reply[shapes.PasskeySignedIn] | Reply[shapes.SignInAnswer]:
    """Sign in the owner of a passkey."""
    remembered = wire.flag(body.get("rememberMe"), default=True)
    opened = await passkey_sign_in.finish(ctx, assertion(body["response"]), remembered=remembered)
    if isinstance(opened, PendingSignIn):
        return two_factor_required(ctx, opened)
    shape: shapes.PasskeySignedIn = {
        "session": wire.session(opened.session, opened.token),
        "user": wire.user(opened.user),
    }
    return session_response(ctx, opened, shape)


# passkeys.list_own
async def list_own(ctx: Context) -> list[shapes.Passkey]:
    """Return the caller's passkeys."""
    return [passkey_shape(row) for row in await passkeys.list_own(ctx)]


# passkeys.rename
async def rename(ctx: Context, body: shapes.UpdatePasskeyRequest) -> shapes.UpdatedPasskey:
    """Rename a passkey."""
    return {"passkey": passkey_shape(await passkeys.rename(ctx, body["id"], body["name"]))}


# passkeys.remove
async def remove(ctx: Context, body: shapes.DeletePasskeyRequest) -> shapes.Status:
    """Delete a passkey."""
    await passkeys.remove(ctx, body["id"])
    return {"status": True}


def attestation(sent: shapes.PasskeyRegistration) -> Attestation:
    """Decode the response of an authenticator that has created a credential. Raises ValidationError if malformed."""
    response = sent["response"]
    return Attestation(
        credential_id=_credential_id(sent["id"], sent["rawId"]),
        client_data=_decoded("response.clientDataJSON", response["clientDataJSON"]),
        attestation_object=_decoded("response.attestationObject", response["attestationObject"]),
    )


def assertion(sent: shapes.PasskeyAuthentication) -> Assertion:
    """Decode the response of an authenticator that has used a credential. Raises ValidationError if malformed."""
    response, handle = sent["response"], sent["response"].get("userHandle")
    return Assertion(
        credential_id=_credential_id(sent["id"], sent["rawId"]),
        client_data=_decoded("response.clientDataJSON", response["clientDataJSON"]),
        authenticator_data=_decoded("response.authenticatorData", response["authenticatorData"]),
        signature=_decoded("response.signature", response["signature"]),
        user_handle=None if handle is None else _decoded("response.userHandle", handle),
    )


def _credential_id(written: str, raw: str) -> bytes:
    """Return the credential id; an empty one, which no credential has, if `id` and `rawId` differ."""
    # In JSON, both are the base64url form of the same bytes (Web Authentication Level 3, 5.1).
    decoded = _decoded("id", written)
    return decoded if written == raw else b""


def _decoded(name: str, text: str) -> bytes:
    value = client_data.decode(text)
    return _refuse(name, "must be base64url without padding") if value is None else value


def _refuse(name: str, message: str) -> NoReturn:
    field = errors.Field("body", f"response.{name}", message)
    raise errors.ValidationError(f"[body.{field.name}] {message}", field)


def passkey_shape(row: PasskeyRow) -> shapes.Passkey:
    """Return a passkey in the form of API responses."""
    return {
        "id": row.id,
        "name": row.name,
        "userId": row.user_id,
        "credentialID": client_data.encode(row.credential_id),
        "publicKey": base64.b64encode(row.public_key).decode(),
        "counter": row.counter,
        "deviceType": cast(Any, row.device_type),
        "backedUp": row.backed_up,
        "transports": row.transports,
        "aaguid": row.aaguid,
        "createdAt": wire.instant(row.created_at),
        "lastUsedAt": wire.optional_instant(row.last_used_at),
    }
