"""The settings of directories."""

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

    enabled: bool = setting(False, "Whether the operations of directories exist.")
    page_size: int = setting(200, "Users or groups of one page.", ge=1, le=1000)
    rate: int = setting(600, "Requests of one token in `rate_window`; 0 = any number.", ge=0, le=1_000_000)
    rate_window: Duration = duration_between("1m", "Window of `rate`.")
    on_delete: Literal["disable", "remove"] = setting(
        "disable",
        "What happens to an account that a directory has created, and that is in no other organization or directory, "
        "when the directory deletes the user: it is banned (`disable`) or deleted (`remove`).",
    )

    def policies(self, settings: Settings) -> Iterable[object]:
        """Return the limits of directories."""
        rate = self.rate if settings[LimitSettings].enabled else 0
        return [fill(ScimPolicy, self, rate=Quota(rate, self.rate_window))]

    def problems(self, settings: Settings) -> Iterator[str]:
        """Yield that directories need connections."""
        if self.enabled and not settings[SsoSettings].enabled:
            yield "scim.enabled: needs sso.enabled"
