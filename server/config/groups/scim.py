"""The settings of SCIM, by which directories of companies manage users."""

from collections.abc import Iterable, Iterator
from typing import Literal

from domain.rate_limits.policy import Quota
from domain.scim.policy import ScimPolicy
from server.config.base import Group, Settings, fill
from server.config.groups.limits import LimitSettings
from server.config.groups.sso import SsoSettings
from server.config.value_types import Duration, duration_between, setting


class ScimSettings(Group):
    """`scim.*`: users and groups from directories of companies, by SCIM 2.0."""

    key = "scim"

    enabled: bool = setting(
        False, "Whether the SCIM operations exist, by which directories manage users; needs `sso.enabled`."
    )
    page_size: int = setting(200, "Largest number of users or groups in one response.", ge=1, le=1000)
    rate: int = setting(
        600, "Largest number of requests with one token in `rate_window`; 0 = no limit.", ge=0, le=1_000_000
    )
    rate_window: Duration = duration_between("1m", "Period to which `rate` applies.")
    on_delete: Literal["disable", "remove"] = setting(
        "disable",
        "What happens when a directory deletes a user whom it has created, and who is in no other "
        "organization or directory: the user is banned (`disable`) or deleted (`remove`).",
    )

    def policies(self, settings: Settings) -> Iterable[object]:
        """Return the limits of directories."""
        rate = self.rate if settings[LimitSettings].enabled else 0
        return [fill(ScimPolicy, self, rate=Quota(rate, self.rate_window))]

    def problems(self, settings: Settings) -> Iterator[str]:
        """Yield that directories need connections."""
        if self.enabled and not settings[SsoSettings].enabled:
            yield "scim.enabled: needs sso.enabled"
