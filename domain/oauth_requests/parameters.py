"""The parameters of an authorization request, and the checks whose errors are sent to the client by a redirect."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from domain.context import Context
from domain.jwt.signing_keys import SigningKeys
from domain.oauth_clients.errors import InvalidRequest, InvalidScope, InvalidTarget, UnauthorizedClient
from domain.oauth_clients.parameters import OAuthParameters
from domain.oauth_clients.policy import STANDARD_SCOPES, ClientPolicy
from domain.oauth_requests.errors import (
    RegistrationNotSupported,
    RequestNotSupported,
    RequestUriNotSupported,
    UnsupportedResponseType,
)
from models.oauth_client import ClientRow

KEPT = (
    "response_type",
    "client_id",
    "redirect_uri",
    "scope",
    "code_challenge",
    "code_challenge_method",
    "state",
    "nonce",
    "prompt",
    "max_age",
    "login_hint",
    "id_token_hint",
    "ui_locales",
    "resource",
    "response_mode",
    "request",
    "request_uri",
    "registration",
)
"""The parameters that are stored. Others are ignored, and the credentials of a client are never stored."""

LONGEST_STATE = 1024
"""The largest length of `state`, in characters."""

_LONGEST_NONCE = 255
_LONGEST_AGE = 315_360_000
_MOST_RESOURCES = 5
_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)
_AGE = re.compile(r"[0-9]{1,9}", re.ASCII)
Prompt = Literal["none", "login", "consent", "select_account", "create"]
PROMPTS: Sequence[Prompt] = get_args(Prompt)


@dataclass(frozen=True, slots=True)
class AuthorizationRequest:
    """An authorization request whose parameters have been checked."""

    client: ClientRow
    redirect_uri: str
    state: str | None
    scopes: Sequence[str]
    resources: Sequence[str]
    code_challenge: str
    nonce: str | None = field(repr=False)
    prompt: frozenset[str]
    max_age: int | None
    """How long ago the user may have signed in, in seconds; None for any time."""
    login_hint: str | None
    ui_locales: str | None
    hinted_user: str | None
    """The id of the user named by the ID token in `id_token_hint`; None without one."""


async def checked(
    ctx: Context, client: ClientRow, redirect_uri: str, sent: OAuthParameters
) -> AuthorizationRequest:
    """Check the parameters of an authorization request, and return the request.

    The caller has checked that the client has registered `redirect_uri`. Raises an OAuthError for the first problem;
    the order of the checks is fixed, because clients may rely on it.
    """
    metadata = client.metadata
    _check_form(sent)
    _check_unsupported(sent)
    if "authorization_code" not in metadata["grant_types"]:
        raise UnauthorizedClient
    policy = ctx.policy[ClientPolicy]
    scopes = tuple(dict.fromkeys((sent.get("scope") or "").split(" ")))
    known = {*STANDARD_SCOPES, *policy.scopes} & set(metadata["scope"].split(" "))
    if not known.issuperset(scopes):
        raise InvalidScope
    resources = sent.every("resource")
    # Neither the operator nor users know the client, so a scope without its resource tells users too little.
    if client.is_document and not _own_scopes(policy, resources).issuperset(scopes):  # defence: O27 scopes
        raise InvalidScope
    if not set(resources) <= policy.resources.keys() & set(metadata.get("resources", ())):
        raise InvalidTarget
    age = sent.get("max_age")
    return AuthorizationRequest(
        client=client,
        redirect_uri=redirect_uri,
        state=sent.get("state"),
        scopes=scopes,
        resources=resources,
        code_challenge=sent.require("code_challenge"),
        nonce=sent.get("nonce"),
        prompt=_prompt(sent),
        max_age=None if age is None else int(age),
        login_hint=sent.get("login_hint"),
        ui_locales=sent.get("ui_locales"),
        hinted_user=await _hinted_user(ctx, client, sent.get("id_token_hint")),
    )


def _own_scopes(policy: ClientPolicy, resources: Sequence[str]) -> set[str]:
    """Return the standard scopes, and those of resources."""
    asked = (policy.resources[uri].scopes for uri in resources if uri in policy.resources)
    return {*STANDARD_SCOPES, *(scope for scopes in asked for scope in scopes)}


def kept(sent: OAuthParameters) -> Mapping[str, Sequence[str]]:
    """Return the parameters that are stored, each with its values."""
    return {name: sent.values[name] for name in KEPT if name in sent.values}


def _check_form(sent: OAuthParameters) -> None:
    """Raise InvalidRequest for a missing or malformed parameter, UnsupportedResponseType for another type than code."""
    response_type = sent.require("response_type")
    if sent.get("response_mode") not in (None, "query"):
        raise InvalidRequest("response_mode must be query")
    # A client with a secret needs it as well: a code that was injected is redeemed with its secret (RFC 9700, 2.1.1).
    # defence: O3 challenge
    if _CHALLENGE.fullmatch(sent.require("code_challenge")) is None:
        raise InvalidRequest("code_challenge must have 43 base64url characters")
    # Without the parameter RFC 7636, 4.3, means `plain`, which protects nothing that others can read.
    if sent.require("code_challenge_method") != "S256":  # defence: O3 method
        raise InvalidRequest("code_challenge_method must be S256")
    if len(sent.get("state") or "") > LONGEST_STATE:  # defence: O17 state
        raise InvalidRequest(f"state is longer than {LONGEST_STATE} characters")
    if len(sent.get("nonce") or "") > _LONGEST_NONCE:
        raise InvalidRequest(f"nonce is longer than {_LONGEST_NONCE} characters")
    age = sent.get("max_age")
    if age is not None and (_AGE.fullmatch(age) is None or int(age) > _LONGEST_AGE):
        raise InvalidRequest(f"max_age must be a number of seconds up to {_LONGEST_AGE}")
    if len(sent.every("resource")) > _MOST_RESOURCES:
        raise InvalidRequest(f"resource is given more than {_MOST_RESOURCES} times")
    if response_type != "code":
        raise UnsupportedResponseType


def _check_unsupported(sent: OAuthParameters) -> None:
    if sent.get("request") is not None:
        raise RequestNotSupported
    if sent.get("request_uri") is not None:
        raise RequestUriNotSupported
    if sent.get("registration") is not None:
        raise RegistrationNotSupported


def _prompt(sent: OAuthParameters) -> frozenset[str]:
    prompt = frozenset((sent.get("prompt") or "").split())
    if not prompt <= set(PROMPTS):
        raise InvalidRequest("prompt has an unknown value")
    if "none" in prompt and len(prompt) > 1:
        raise InvalidRequest("prompt has none with another value")
    return prompt


async def _hinted_user(ctx: Context, client: ClientRow, hint: str | None) -> str | None:
    """Return the id of the user whom an ID token of this client names, expired or not. Raises InvalidRequest."""
    if hint is None:
        return None
    claims = await ctx.port[SigningKeys].verify(hint, ctx.now, typ="JWT", ignore_expiry=True)
    if claims is None or claims.get("aud") != client.client_id:
        raise InvalidRequest("id_token_hint is no ID token of this service for this client")
    return str(claims["sub"])
