"""List the settings in force."""

from collections.abc import Sequence

from domain.admin import permissions
from domain.admin.errors import YouAreNotAllowedToManageService
from domain.context import Context
from domain.ports import SettingInForce, SettingsInForce


def list_settings(ctx: Context) -> Sequence[SettingInForce]:
    """Return every setting of this process. For a secret, only whether it is set is returned.

    Raises YouAreNotAllowedToManageService, TwoFactorRequired.
    """
    # defence: ADM24 settings
    permissions.require(ctx, "service", "manage", YouAreNotAllowedToManageService)
    return ctx.port[SettingsInForce]()
