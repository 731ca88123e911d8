"""The options to create and to use a passkey, in the JSON forms of Web Authentication Level 3."""

from typing import Any, Literal, cast

from domain.authenticators import Authenticators
from domain.context import Context
from domain.passkeys import client_data
from domain.passkeys.policy import PasskeyPolicy
from domain.passkeys.registration import RegistrationOptions
from domain.passkeys.sign_in import SignInOffer
from handlers import shapes
from models.passkey import PasskeyRow


def registration(
    ctx: Context,
    options: RegistrationOptions,
    attachment: Literal["platform", "cross-platform"] | None = None,
) -> shapes.PasskeyRegistrationOptions:
    """Return the options for `navigator.credentials.create`; `attachment` limits the kind of authenticator."""
    policy, user = ctx.policy[PasskeyPolicy], options.user
    selection: shapes.PasskeyAuthenticatorSelection = {
        # Sign-in lists no credentials, so the authenticator itself must know for which user it has one.
        "residentKey": "required",
        # For browsers of Level 1: true if, and only if, `residentKey` is required (Web Authentication Level 3,
        # 5.4.4).
        "requireResidentKey": True,
        "userVerification": cast(Any, policy.user_verification),
    }
    if attachment is not None:
        selection = {"authenticatorAttachment": attachment, **selection}
    return {
        "challenge": client_data.encode(options.challenge),
        "rp": {"id": policy.rp_id, "name": policy.rp_name},
        "user": {
            # Made of the user id: a handle must not contain personal data (Web Authentication Level 3, 14.6.1).
            "id": client_data.encode(options.user_handle),
            "name": user.email,
            "displayName": user.name or user.email,
        },
        "pubKeyCredParams": [
            {"type": "public-key", "alg": number} for number in ctx.port[Authenticators].algorithms
        ],
        "timeout": _milliseconds(policy),
        # Which model of authenticator it is decides nothing here, and attestation would let sites track users by it.
        "attestation": "none",
        "excludeCredentials": [_descriptor(row) for row in options.excluded],
        "authenticatorSelection": selection,
        "extensions": {"credProps": True},
        "hints": [],
    }


def sign_in(ctx: Context, offer: SignInOffer) -> shapes.PasskeySignInOptions:
    """Return the options for `navigator.credentials.get`.

    They list the passkeys that `offer` allows; if it names none, every passkey for this service is allowed.
    """
    policy = ctx.policy[PasskeyPolicy]
    shape: shapes.PasskeySignInOptions = {
        "challenge": client_data.encode(offer.challenge),
        "rpId": policy.rp_id,
        "timeout": _milliseconds(policy),
        "userVerification": cast(Any, policy.user_verification),
    }
    if offer.allowed:
        shape["allowCredentials"] = [_descriptor(row) for row in offer.allowed]
    return shape


def _descriptor(row: PasskeyRow) -> shapes.PasskeyDescriptor:
    shape: shapes.PasskeyDescriptor = {"type": "public-key", "id": client_data.encode(row.credential_id)}
    if row.transports:
        shape["transports"] = list(row.transport_list)
    return shape


def _milliseconds(policy: PasskeyPolicy) -> int:
    return int(policy.challenge_expires_in.total_seconds() * 1000)
