"""The base classes of settings: those of the service itself, and the groups, which capabilities declare."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from domain.trusted_origins import TrustedOrigins
from server.config.value_types import BasePath, Items, Network, OptionalUrl, Origin, setting

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

PolicyType = TypeVar("PolicyType", bound="DataclassInstance")
GroupType = TypeVar("GroupType", bound="Group")
NamedGroupType = TypeVar("NamedGroupType", bound="NamedGroup")

GroupId = Annotated[str, Field(pattern=r"^[a-z0-9-]{1,32}$")]
"""The id of a named group."""


class _Table(BaseModel):
    """Unknown names and wrong types are refused, and nothing changes afterwards."""

    # Deferred, because the validator of all settings contains that of each group: a start needs only the one.
    # defence: R43 unknown-keys
    model_config = ConfigDict(
        frozen=True,
        strict=True,
        extra="forbid",
        validate_default=True,
        hide_input_in_errors=True,
        defer_build=True,
    )


class Group(_Table):
    """Settings that share a prefix. Each module of `server/config/groups/` has the groups of one capability."""

    key: ClassVar[str] = ""
    """The name of the table, without which a group is a part of another group."""

    fills: ClassVar[tuple[type["DataclassInstance"], ...]] = ()
    """Policies whose fields are all settings of this group."""

    former_keys: ClassVar[tuple[str, ...]] = ()
    """Deprecated keys of settings of this group, each with its old prefix; they still work, with a warning."""

    enabled_in_development: ClassVar[bool] = False
    """Whether the development profile sets `enabled`, unless it is set or other settings exclude it."""

    def policies(self, settings: "Settings") -> Iterable[object]:
        """Return the policies that these settings fill, one instance per class."""
        return [fill(kind, self) for kind in self.fills]

    def problems(self, settings: "Settings") -> Iterator[str]:
        """Yield one line per reason not to start, each beginning with the key."""
        yield from ()

    def production_problems(self, settings: "Settings") -> Iterator[str]:
        """Yield the additional problems in the production profile, in the same form."""
        yield from ()


class NamedGroup(Group):
    """A group of which there may be several, each with an id: `providers.<id>.*`."""


class Settings(_Table):
    """All settings of the service. `profiles.py` adds the defaults of the profile.

    The fields of this class are the settings outside of groups. `settings[SessionSettings].expires_in` is a setting of
    a group: code that reads it imports the class of the group, so that this module need not know any.
    """

    profile: Literal["production", "development"] = setting(
        "production", "`development` uses defaults for local use; `production` requires explicit values."
    )
    base_url: Origin = setting(
        "",
        "Public URL of the service without a path, such as https://auth.example.com. All links are built "
        "from it, never from headers of a request.",
    )
    base_path: BasePath = setting(
        "", "Prefix of the paths of all operations, such as /api/auth; empty = no prefix."
    )
    allow_http: bool = setting(
        False, "Whether production accepts an http `base_url` and cookies without the attribute Secure."
    )
    secrets: Annotated[tuple[SecretStr, ...], Items] = setting(
        (),
        "Secrets of at least 32 bytes each, the newest first. The first encrypts and signs; the others "
        "only decrypt older values.",
    )
    database_url: SecretStr = setting(
        SecretStr(""),
        "URL of a PostgreSQL or SQLite database. A PostgreSQL URL names one host: the primary or a proxy.",
    )
    app_name: str = setting(
        "Gatewright", "Name shown in emails and authenticator apps.", min_length=1, max_length=128
    )
    trusted_origins: Annotated[tuple[str, ...], Items] = setting(
        (),
        "Origins whose pages may send requests with cookies, and to which browsers may be redirected, in "
        "addition to `base_url`.",
    )
    trusted_proxies: Annotated[tuple[Network, ...], Items] = setting(
        (), "Networks of the reverse proxies whose header X-Forwarded-For is trusted."
    )
    default_redirect_url: OptionalUrl = setting(
        None,
        "URL to which a browser is redirected after a sign-in through a provider, single sign-on or an emailed "
        "link, if the application began it without callbackURL, and after a logout at a provider of single "
        "sign-on; by default the path / of `base_url`. For the hosted pages see `pages.home_url`.",
    )
    require_authentication: bool = setting(
        True,
        "Whether requests without a session get 401 from the operations on sessions; if false, they get "
        "200 as if there were no sessions.",
    )
    enable_session_listing: bool = setting(True, "Whether /list-sessions exists.")
    enable_session_revocation: bool = setting(
        True, "Whether /revoke-session, /revoke-sessions and /revoke-other-sessions exist."
    )
    reset_token_expiry_hours: int = setting(24, "Lifetime of a reset link, in hours.", ge=1, le=87600)
    require_current_password: bool = setting(True, "Whether /change-password requires currentPassword.")
    send_email_notifications: bool = setting(
        True, "Whether users get an email after changes to their account, such as a new password."
    )

    def __getitem__(self, group: type[GroupType]) -> GroupType:
        """Return the settings of a group."""
        found: GroupType = getattr(self, group.key)
        return found

    def named(self, group: type[NamedGroupType]) -> Mapping[str, NamedGroupType]:
        """Return the settings of a named group, by id."""
        found: Mapping[str, NamedGroupType] = getattr(self, group.key)
        return found

    def groups(self) -> Iterator[Group]:
        """Yield the groups of settings, without named ones."""
        for name in type(self).model_fields:
            if isinstance(group := getattr(self, name), Group):
                yield group

    def replace(self, *groups: Group) -> Self:
        """Return these settings with other values of some groups."""
        return self.model_copy(update={group.key: group for group in groups})

    def parsed_origins(self) -> TrustedOrigins:
        """Return the trusted origins; in development, if none is set, also the loopback origins.

        Raises ValueError that names an invalid entry.
        """
        loopback = self.profile == "development" and "trusted_origins" not in self.model_fields_set
        return TrustedOrigins.parse(self.base_url, self.trusted_origins, loopback=loopback)

    def page_problems(self, key: str, page: str | None) -> Iterator[str]:
        """Yield a problem if a page is set and at none of the origins that users may be redirected to."""
        with contextlib.suppress(ValueError):  # Malformed origins are reported as problems of their own.
            if page is not None and not self.parsed_origins().accepts(page):
                yield f"{key}: must be at base_url or at one of trusted_origins"


def fill(kind: type[PolicyType], source: BaseModel, *, prefix: str = "", **computed: object) -> PolicyType:
    """Create a policy from the settings named like its fields, and from what is computed.

    `prefix` precedes the names of the settings. Raises AttributeError for a field that no setting fills, and TypeError
    for a computed one that does not exist.
    """
    names = [field.name for field in fields(kind) if field.name not in computed]
    return kind(**computed, **{name: getattr(source, prefix + name) for name in names})
