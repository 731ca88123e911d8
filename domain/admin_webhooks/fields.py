"""The fields of endpoints, in the forms in which requests and commands contain them."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import domain
from domain import identifiers
from domain.admin_webhooks.errors import InvalidWebhookUrl, UnknownEvent
from domain.context import Context
from domain.errors import Field, ValidationError
from domain.outbound import OutboundError, OutboundGuard
from domain.webhooks import secrets
from domain.webhooks.publication import EVERYTHING, WEBHOOK_EVENTS
from models.discovery import import_modules
from models.webhook_endpoint import EndpointState

NAME_LENGTH = 64
DESCRIPTION_LENGTH = 256
MOST_SUBSCRIPTIONS = 50

SETTABLE_STATES = (EndpointState.ACTIVE.value, EndpointState.PAUSED.value)
"""The states that an endpoint can be given; only the service disables one."""


@cache
def subscriptions() -> frozenset[str]:
    """Return what an endpoint can subscribe to: the names of events and of groups of events, and `*` for all events."""
    # An event registers itself when its module is imported.
    import_modules(domain, except_for=domain.LOADED_LATER)
    types = WEBHOOK_EVENTS.values()
    groups = {one.group for one in types if not one.by_name_only}
    return frozenset({EVERYTHING, *groups, *(one.name for one in types)})


def columns(sent: Mapping[str, Any]) -> dict[str, Any]:
    """Check the fields name, url, events, description and state, as far as they are present; return their columns.

    The host of the URL is not checked; see `check_url`. Raises ValidationError, UnknownEvent.
    """
    values = {name: sent[name] for name in ("name", "url", "description", "state") if name in sent}
    if "name" in sent and (
        not 1 <= len(sent["name"]) <= NAME_LENGTH or not identifiers.is_name(sent["name"])
    ):
        raise _invalid("name", f"must have 1 to {NAME_LENGTH} characters, without control characters")
    description = sent.get("description")
    if description is not None and (
        len(description) > DESCRIPTION_LENGTH or not identifiers.is_name(description)
    ):
        raise _invalid(
            "description", f"must have at most {DESCRIPTION_LENGTH} characters, without control characters"
        )
    if "state" in sent and sent["state"] not in SETTABLE_STATES:
        raise _invalid("state", f"must be one of {', '.join(SETTABLE_STATES)}")
    if "events" in sent:
        values["events"] = _events(sent["events"])
    return values


def _events(names: Sequence[str]) -> str:
    if not 1 <= len(names) <= MOST_SUBSCRIPTIONS:  # defence: WH22 number-of-events
        raise _invalid("events", f"must have 1 to {MOST_SUBSCRIPTIONS} entries")
    for name in names:
        if name not in subscriptions():  # defence: WH22 known-events
            raise UnknownEvent(f"{UnknownEvent.message}: {name}")
    return json.dumps(list(dict.fromkeys(names)))


def secret(given: str | None) -> str:
    """Return the given secret, or a new one for None. Raises ValidationError if the secret is malformed."""
    if given is None:
        return secrets.create()
    if not secrets.is_secret(given):
        raise _invalid("secret", "must be whsec_ and the standard base64 of 24 to 64 bytes")
    return given


async def check_url(ctx: Context, url: str) -> None:
    """Check the form of a URL and the addresses of its host; call it before the transaction begins.

    The check is early feedback for the user: it is repeated for every delivery. Raises InvalidWebhookUrl.
    """
    try:
        await ctx.port[OutboundGuard].check(url)  # defence: WH15 endpoint-url
    except OutboundError as error:
        raise InvalidWebhookUrl(f"{InvalidWebhookUrl.message}: {str(error).removesuffix('.')}") from None


def _invalid(name: str, problem: str) -> ValidationError:
    return ValidationError(f"[body.{name}] {problem}", Field("body", name, problem))
