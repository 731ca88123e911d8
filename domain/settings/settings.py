"""List the settings in force."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from domain.admin import permissions
from domain.admin.errors import YouAreNotAllowedToManageService
from domain.context import Context


class SettingInForce(NamedTuple):
    """A setting of this process, and where it comes from."""

    key: str
    group: str
    """The key without its last part; empty for a setting outside of groups."""
    value: str
    """The value as it is written in the configuration; for a secret only `set` or `not set`."""
    is_secret: bool
    source: str
    """`default`, `profile`, `file` or `variable`."""
    origin: str
    """The file and line, the environment variable, or the profile that sets it; otherwise `default`."""
    description: str
    """Its description in the reference of settings, in English, with names in backticks."""
    anchor: str
    """The heading of its group in the reference."""
    digests: Sequence[str] = ()
    """For a secret that is set, its digests under each service secret, which are compared between processes."""


class SettingsInForce(Protocol):
    """The settings of this process."""

    def __call__(self) -> Sequence[SettingInForce]:
        """Return every setting, in the order of their reference."""


def list_settings(ctx: Context) -> Sequence[SettingInForce]:
    """Return every setting of this process. For a secret, only whether it is set is returned.

    Raises YouAreNotAllowedToManageService, TwoFactorRequired.
    """
    # defence: ADM24 settings
    permissions.require(ctx, "service", "manage", YouAreNotAllowedToManageService)
    return ctx.port[SettingsInForce]()
