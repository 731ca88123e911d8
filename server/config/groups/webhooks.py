"""The settings of webhooks, and the endpoints from the configuration."""

import re
from collections.abc import Iterable, Iterator
from typing import Annotated, Literal

from pydantic import Field, SecretStr

from domain.webhooks.policy import WebhookPolicy
from domain.webhooks.secrets import ConfiguredEndpoint, is_secret
from server.config.base import Group, Settings, fill
from server.config.value_types import (
    Duration,
    Items,
    Network,
    OptionalPath,
    OptionalText,
    duration_between,
    read_secret,
    setting,
)

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)

UserField = Literal["id", "email", "emailVerified", "name", "image", "createdAt", "updatedAt"]


class ConfiguredWebhook(Group):
    """`webhooks.endpoints.<name>.*`: an endpoint from the configuration, which cannot be changed elsewhere."""

    url: str = Field(description="URL of the receiver.")
    secret: SecretStr | None = setting(None, "Secret `whsec_…` with which the requests are signed.")
    secret_file: OptionalPath = setting(None, "File with the secret, instead of `secret`.")
    events: Annotated[tuple[str, ...], Items] = Field(
        min_length=1, max_length=50, description="Events, groups such as `user.*`, or `*`."
    )
    description: OptionalText = setting(None, "Text for administrators.")


class WebhookSettings(Group):
    """`webhooks.*`: events that are sent to the endpoints of other systems."""

    key = "webhooks"

    enabled: bool = setting(
        False, "Whether events are stored and sent, and the operations of webhooks exist."
    )
    management: Literal["admin", "cli"] = setting(
        "cli",
        "Where endpoints are managed: only on the command line (`cli`), or also by operations and pages "
        "for users with the permission `service: manage` (`admin`).",
    )
    endpoints: dict[str, ConfiguredWebhook] = setting(
        {}, "Endpoints by name, each with url, events, secret or secret_file, and a description."
    )
    max_endpoints: int = setting(50, "Largest number of endpoints.", ge=1, le=1000)
    timeout: Duration = duration_between(
        "15s",
        "Longest time of one attempt, from the look-up of the address to the status of the response.",
        at_most="30s",
    )
    allowed_ports: Annotated[tuple[Annotated[int, Field(strict=False)], ...], Items] = setting(
        (443,),
        "Ports that the URLs of endpoints may have, and those of logout tokens and of the identity providers of "
        "organizations.",
        min_length=1,
        max_length=100,
    )
    allowed_networks: Annotated[tuple[Network, ...], Items] = setting(
        (),
        "Private networks to which webhooks, logout tokens, and requests to the identity providers of single "
        "sign-on may be sent; also requests for documents of clients, if `oauth.client_document_hosts` is set.",
    )
    concurrency: int = setting(16, "Largest number of attempts at the same time, per instance.", ge=1, le=256)
    endpoint_concurrency: int = setting(
        4, "Largest number of attempts at the same time to one endpoint, per instance.", ge=1, le=64
    )
    payload_retention: Duration = duration_between(
        "3d", "How long the content of an event is kept after its last delivery has ended.", at_least="0s"
    )
    history_retention: Duration = duration_between(
        "30d", "How long the record of a delivery is kept after the delivery has ended."
    )
    disable_after: Duration = duration_between(
        "5d",
        "How long deliveries to an endpoint may fail before it is disabled; 0 = it is not disabled for "
        "failing.",
        at_least="0s",
    )
    secret_overlap: Duration = duration_between(
        "24h",
        "How long requests are signed with the old and the new secret after a secret was replaced.",
        at_least="0s",
        at_most="7d",
    )
    user_fields: Annotated[tuple[UserField, ...], Items] = setting(
        ("id", "email", "emailVerified", "name"), "Fields of the user that events contain."
    )

    def policies(self, settings: Settings) -> Iterable[object]:
        """Return who manages endpoints, where they may be, and what they receive."""
        configured = {name: _endpoint(one) for name, one in self.endpoints.items()}
        return [fill(WebhookPolicy, self, configured=configured)]

    def problems(self, settings: Settings) -> Iterator[str]:
        """Yield malformed ports and endpoints."""
        if not all(0 < port < 65536 for port in self.allowed_ports):
            yield "webhooks.allowed_ports: a port is a number from 1 to 65535"
        if len(self.endpoints) > self.max_endpoints:
            yield "webhooks.endpoints: more than webhooks.max_endpoints"
        for name, one in self.endpoints.items():
            key = f"webhooks.endpoints.{name}"
            if not _NAME.fullmatch(name):
                yield f"{key}: a name has 1 to 64 letters, digits, _ and -"
            yield from _problems(key, one)


def _problems(key: str, endpoint: ConfiguredWebhook) -> Iterator[str]:
    if (endpoint.secret is None) == (endpoint.secret_file is None):
        yield f"{key}: needs either secret or secret_file"
        return
    try:
        secret = _secret(endpoint)
    except (OSError, UnicodeDecodeError):
        yield f"{key}.secret_file: cannot be read"
        return
    if not is_secret(secret):
        yield f"{key}.secret: is whsec_ and the standard base64 of 24 to 64 bytes"


def _secret(endpoint: ConfiguredWebhook) -> str:
    """Return the secret of an endpoint. Raises OSError and UnicodeDecodeError for a file that cannot be read."""
    return read_secret(endpoint.secret, endpoint.secret_file) or ""


def _endpoint(one: ConfiguredWebhook) -> ConfiguredEndpoint:
    return ConfiguredEndpoint(one.url, _secret(one), one.events, one.description)
