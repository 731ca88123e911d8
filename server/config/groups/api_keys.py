"""The settings of API keys, their kinds, and the services that verify them."""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from typing import Annotated, Any, Literal

from pydantic import Field, SecretStr

from domain.api_keys.policy import DEFAULT, ApiKeyPolicy, KeyKind
from server.config.base import Group, Settings, fill
from server.config.groups.organizations import OrganizationSettings
from server.config.value_types import Duration, Items, duration_between, setting

Statements = dict[str, Annotated[tuple[str, ...], Items]]
"""Lists of actions by resource."""

_VERIFIER = re.compile(r"([a-z0-9-]{1,32}):([A-Za-z0-9_-]{32,128})", re.ASCII)
_KIND = re.compile(r"[a-z0-9_-]{1,32}", re.ASCII)
_PREFIX = re.compile(r"[A-Za-z0-9_-]{0,32}", re.ASCII)
_ACTION = re.compile(r"[A-Za-z][A-Za-z0-9_:.-]{0,63}", re.ASCII)


class KeyRateLimit(Group):
    """`rate_limit.*`: the limit on uses of keys that are created without a limit of their own."""

    enabled: bool = setting(False, "Whether the number of uses of a key in `window` is limited.")
    window: Duration = duration_between("1m", "Period to which `max` applies.", at_most="365d")
    max: int = setting(600, "Largest number of uses of a key in `window`.", ge=1, le=2**31 - 1)


class Kind(Group):
    """`api_keys.kinds.<id>.*`: a further kind of keys; other settings are those of `api_keys`."""

    references: Literal["user", "organization"] = Field(
        description="Owner of the keys: `user` or `organization`."
    )
    default_prefix: str | None = setting(
        None, "Prefix of keys of this kind that are created without a prefix."
    )
    expires_in: Duration | None = setting(
        None, "Lifetime of keys of this kind that are created without `expiresIn`; 0 = for ever."
    )
    minimum_expires_in: Duration | None = setting(None, "Shortest lifetime that a request may choose.")
    maximum_expires_in: Duration | None = setting(None, "Longest lifetime that a request may choose.")
    custom_expiry: bool | None = setting(None, "Whether requests may choose the lifetime of a key.")
    rate_limit: KeyRateLimit | None = setting(
        None, "Rate limit of keys of this kind that are created without one of their own."
    )
    default_permissions: Statements | None = setting(
        None, "Permissions of keys of this kind that are created without permissions."
    )
    grantable: Statements | None = setting(None, "Permissions that users may give keys of this kind.")


class ApiKeySettings(Group):
    """`api_keys.*`: keys of programs, and the services that verify them."""

    key = "api_keys"
    enabled_in_development = True

    enabled: bool = setting(
        False, "Whether the operations under /api-key/ exist; by default true in development."
    )
    verifiers: Annotated[tuple[SecretStr, ...], Items] = setting(
        (),
        "Services that may verify keys, each as `name:token`. While the token of a service is changed, its "
        "name can occur twice.",
        max_length=32,
    )
    sessions: bool = setting(False, "Whether /get-session accepts keys in the header x-api-key.")
    default_prefix: str = setting("gwk_", "Prefix of keys that are created without a prefix.")
    minimum_prefix_length: int = setting(1, "Fewest characters of a prefix that a request sets.", ge=1, le=32)
    maximum_prefix_length: int = setting(32, "Most characters of a prefix that a request sets.", ge=1, le=32)
    starting_characters: int = setting(
        4,
        "Number of characters after the prefix that lists of keys show; 0 = nothing of a key is shown.",
        ge=0,
        le=8,
    )
    require_name: bool = setting(False, "Whether every key needs a name.")
    minimum_name_length: int = setting(1, "Shortest name, in characters.", ge=0, le=256)
    maximum_name_length: int = setting(32, "Longest name, in characters.", ge=1, le=256)
    metadata: bool = setting(False, "Whether requests may store metadata with a key.")
    expires_in: Duration = duration_between(
        "0s", "Lifetime of keys that are created without `expiresIn`; 0 = for ever.", at_least="0s"
    )
    minimum_expires_in: Duration = duration_between("1d", "Shortest lifetime that a request may choose.")
    maximum_expires_in: Duration = duration_between("365d", "Longest lifetime that a request may choose.")
    custom_expiry: bool = setting(True, "Whether requests may choose the lifetime of a key.")
    allow_never: bool = setting(
        True,
        "Whether keys without an expiry may be created; if false, a key created without a lifetime gets "
        "`expires_in`, or `maximum_expires_in` if that is 0.",
    )
    accept_imported: bool = setting(
        False, "Whether keys that were imported from another service are accepted."
    )
    limit_per_owner: int = setting(
        100, "Largest number of keys of one user or organization; expired keys do not count.", ge=1, le=10_000
    )
    rate_limit: KeyRateLimit = KeyRateLimit()
    default_permissions: Statements = setting(
        {}, "Permissions of keys that are created without permissions: actions by resource."
    )
    grantable: Statements = setting(
        {},
        "Permissions that users may give their keys, as actions by resource; empty = only administrators "
        "can give permissions.",
    )
    last_request_interval: Duration = duration_between(
        "60s", "Shortest time between two updates of `lastRequest` of a key.", at_most="1d"
    )
    disable_on_reset: bool = setting(False, "Whether a password reset disables the keys of the user.")
    kinds: dict[str, Kind] = setting(
        {},
        "Further kinds of keys by id (`configId` in requests). Each has `references` (user or "
        "organization), and can have its own default_prefix, expires_in, minimum_expires_in, "
        "maximum_expires_in, custom_expiry, rate_limit, default_permissions and grantable.",
    )

    @property
    def verifies(self) -> bool:
        """Return whether /api-key/verify exists."""
        return self.enabled and bool(self.verifiers)

    def verifier_tokens(self) -> list[tuple[str, str]]:
        """Return the names and tokens of the services that verify keys, without malformed entries."""
        found = (_VERIFIER.fullmatch(entry.get_secret_value()) for entry in self.verifiers)
        return [(match[1], match[2]) for match in found if match]

    def policies(self, settings: Settings) -> Iterable[object]:
        """Return the format of keys, and their kinds."""
        return [fill(ApiKeyPolicy, self, kinds=self._kinds())]

    def _kinds(self) -> dict[str, KeyKind]:
        further = {name: self._kind(dict(kind)) for name, kind in self.kinds.items()}
        return {**further, DEFAULT: self._kind({})}

    def _kind(self, written: Mapping[str, Any]) -> KeyKind:
        """Return a kind; settings that it does not set are those of all keys."""
        chosen = {**dict(self), **{name: value for name, value in written.items() if value is not None}}
        limit: KeyRateLimit = chosen["rate_limit"]
        return KeyKind(
            is_of_organizations=written.get("references") == "organization",
            default_prefix=chosen["default_prefix"],
            expires_in=chosen["expires_in"],
            minimum_expires_in=chosen["minimum_expires_in"],
            maximum_expires_in=chosen["maximum_expires_in"],
            custom_expiry=chosen["custom_expiry"],
            rate_limit_enabled=limit.enabled,
            rate_limit_window=limit.window,
            rate_limit_max=limit.max,
            default_permissions=chosen["default_permissions"],
            grantable=chosen["grantable"],
        )

    def problems(self, settings: Settings) -> Iterator[str]:
        """Yield malformed verifiers, prefixes, permissions and kinds."""
        if len(self.verifier_tokens()) < len(self.verifiers):
            yield (
                "api_keys.verifiers: each is name:token, a name of a-z, 0-9 and -, and a token of 32 to 128 letters, "
                "digits, _ and -; make one with: gatewright api-keys verifier NAME"
            )
        if self.sessions and not self.enabled:
            yield "api_keys.sessions: needs api_keys.enabled"
        for name in ("prefix_length", "name_length"):
            if getattr(self, f"minimum_{name}") > getattr(self, f"maximum_{name}"):
                yield f"api_keys.minimum_{name}: is above api_keys.maximum_{name}"
        if DEFAULT in self.kinds:
            yield f"api_keys.kinds.{DEFAULT}: this kind has the settings of api_keys itself"
        for name, kind in self.kinds.items():
            if not _KIND.fullmatch(name):
                yield f"api_keys.kinds.{name}: an id has 1 to 32 characters of a-z, 0-9, _ and -"
            if kind.references == "organization" and not settings[OrganizationSettings].enabled:
                yield f"api_keys.kinds.{name}.references: organization needs organizations.enabled"
        for name, chosen in self._kinds().items():
            yield from _kind_problems("api_keys" if name == DEFAULT else f"api_keys.kinds.{name}", chosen)


def _kind_problems(key: str, kind: KeyKind) -> Iterator[str]:
    if not _PREFIX.fullmatch(kind.default_prefix):
        yield f"{key}.default_prefix: at most 32 letters, digits, _ and -"
    if kind.minimum_expires_in > kind.maximum_expires_in:
        yield f"{key}.minimum_expires_in: is above maximum_expires_in"
    if kind.expires_in < timedelta(0):
        yield f"{key}.expires_in: must be 0 or more"
    for name in ("default_permissions", "grantable"):
        statements: Mapping[str, Iterable[str]] = getattr(kind, name)
        if not all(
            _ACTION.fullmatch(word)
            for resource, actions in statements.items()
            for word in (resource, *actions)
        ):
            yield f"{key}.{name}: names have 1 to 64 letters, digits and _:.-, the first a letter"
