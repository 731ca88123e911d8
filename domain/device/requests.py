"""Requests of devices: start one, look one up by its code, approve or deny it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from domain import tokens, urls
from domain.context import Context
from domain.device import events, mails, user_codes
from domain.device.errors import DeviceCodeAlreadyProcessed, ExpiredUserCode
from domain.oauth import consents
from domain.oauth.policy import DevicePolicy, OAuthPolicy
from domain.oauth_clients import authentication
from domain.oauth_clients.errors import InvalidScope, InvalidTarget, UnauthorizedClient
from domain.oauth_clients.metadata import DEVICE_CODE
from domain.oauth_clients.parameters import OAuthParameters
from domain.oauth_clients.policy import STANDARD_SCOPES, ClientPolicy
from domain.users import locking
from models.device_request import ADD_DEVICE_REQUEST, DECIDE_DEVICE_REQUEST, DeviceRow, DeviceStatus
from models.oauth_client import CLIENT_BY_ID, ClientRow

PREFIX = "gwd_"


@dataclass(frozen=True, slots=True)
class StartedRequest:
    """The response to a device: its two codes, of which only digests are stored, and the page that its user opens."""

    device_code: str = field(repr=False)
    user_code: str = field(repr=False)
    verification_uri: str
    verification_uri_complete: str | None = field(repr=False)
    expires_in: int
    """The lifetime of the codes, in seconds."""
    interval: int
    """Seconds between two polls."""


@dataclass(frozen=True, slots=True)
class KnownRequest:
    """The request of a device and its client."""

    row: DeviceRow
    client: ClientRow

    @property
    def status(self) -> DeviceStatus:
        """Whether the request is pending, approved, denied or redeemed."""
        return DeviceStatus(self.row.status)

    @property
    def gets_session(self) -> bool:
        """Whether the device gets a session instead of tokens that are limited to scopes."""
        return bool(self.client.metadata["session_sign_in"])


async def start(ctx: Context, parameters: OAuthParameters) -> StartedRequest:
    """Store a new request of a device, and return its codes.

    Raises InvalidRequest, InvalidClient, UnauthorizedClient, InvalidScope, InvalidTarget.
    """
    client = await authentication.authenticate(ctx, parameters)
    metadata = client.metadata
    if DEVICE_CODE not in metadata["grant_types"]:
        raise UnauthorizedClient
    scopes = _scopes(ctx, metadata, parameters)
    resources = _resources(ctx, metadata, parameters)
    rules = ctx.policy[DevicePolicy]
    device_code, user_code = PREFIX + tokens.token(), tokens.user_code()
    await ctx.db.execute(
        ADD_DEVICE_REQUEST,
        device_code=tokens.digest(device_code),
        user_code=user_codes.digest(ctx, user_code),
        client_id=client.client_id,
        scopes=" ".join(scopes),
        resources=" ".join(resources),
        status=DeviceStatus.PENDING,
        interval=rules.interval,
        network=ctx.client.network,
        user_agent=ctx.client.user_agent,
        expires_at=ctx.now + rules.expires_in,
        created_at=ctx.now,
        updated_at=ctx.now,
    )
    events.started(ctx, client.client_id)
    page = ctx.policy[OAuthPolicy].device_page
    return StartedRequest(
        device_code,
        user_code,
        page,
        urls.with_parameters(page, user_code=user_code) if rules.complete_uri else None,
        int(rules.expires_in.total_seconds()),
        rules.interval,
    )


def _scopes(ctx: Context, metadata: Mapping[str, Any], parameters: OAuthParameters) -> list[str]:
    """Return the scopes that are asked for. Only a device that gets a session needs none. Raises InvalidScope."""
    asked = list(dict.fromkeys((parameters.get("scope") or "").split()))
    known = {*STANDARD_SCOPES, *ctx.policy[ClientPolicy].scopes}
    allowed = known & set(metadata["scope"].split())
    if not set(asked) <= allowed or not (asked or metadata["session_sign_in"]):  # defence: O10 device-scopes
        raise InvalidScope
    return asked


def _resources(ctx: Context, metadata: Mapping[str, Any], parameters: OAuthParameters) -> list[str]:
    asked = list(parameters.every("resource"))
    allowed = set(metadata["resources"]) & ctx.policy[ClientPolicy].resources.keys()
    if not set(asked) <= allowed:
        raise InvalidTarget
    return asked


async def read(ctx: Context, user_code: str) -> KnownRequest:
    """Return the request with a user code, without changing it.

    Raises InvalidUserCode, ExpiredUserCode (also if the client is deleted or disabled), Limited.
    """
    row = await user_codes.find(ctx, user_code)
    if row.expires_at <= ctx.now:
        raise ExpiredUserCode
    client = await ctx.reads.one(CLIENT_BY_ID, row.client_id)
    if client is None or client.disabled_at is not None:
        raise ExpiredUserCode
    return KnownRequest(row, client)


async def approve(ctx: Context, user_code: str) -> None:
    """Approve the request of a device in the name of the caller.

    Raises InvalidUserCode, ExpiredUserCode, DeviceCodeAlreadyProcessed, Limited, Unauthenticated.
    """
    known = await read(ctx, user_code)
    row = known.row
    user = await locking.lock_caller(ctx)
    await _decide(ctx, row, DeviceStatus.APPROVED)
    if row.scopes:
        await consents.add(ctx, user.id, row.client_id, row.scopes.split(), row.resources.split())
    await mails.device_authorized(ctx, user, known.client.client_name, row.network)  # defence: O20 notice
    events.approved(ctx, row)


async def deny(ctx: Context, user_code: str) -> None:
    """Refuse access to a device, in the name of the caller.

    Raises InvalidUserCode, ExpiredUserCode, DeviceCodeAlreadyProcessed, Limited, Unauthenticated.
    """
    known = await read(ctx, user_code)
    await locking.lock_caller(ctx)
    await _decide(ctx, known.row, DeviceStatus.DENIED)
    events.denied(ctx, known.row)


async def _decide(ctx: Context, row: DeviceRow, decision: DeviceStatus) -> None:
    caller = ctx.signed_in
    decided = await ctx.db.execute(
        DECIDE_DEVICE_REQUEST,
        code=row.device_code,
        decision=decision,
        decided_by=caller.user.id,
        # The end of the session ends the approval.
        decided_in=caller.session.id,
        now=ctx.now,
    )
    if not decided:
        raise DeviceCodeAlreadyProcessed
