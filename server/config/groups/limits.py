"""The settings of rate limits."""

from collections.abc import Iterable
from datetime import timedelta

from pydantic import SecretStr

from domain.rate_limits.policy import Quota, RateLimitPolicy
from server.config.base import Group, Settings
from server.config.value_types import CounterStore, Duration, duration_between, setting

MOST = 1_000_000_000
"""The highest number of a limit: counters must fit into an integer of every store."""


class LimitSettings(Group):
    """`limits.*`: limits on requests, wrong passwords and codes, and emails; a number of 0 turns its limit off."""

    key = "limits"

    enabled: bool = setting(True, "Whether the limits of this group are enforced.")
    store: CounterStore = setting(
        SecretStr("database"),
        "Where counters are stored: `database`, or the URL of a Valkey or Redis server, or of its Sentinels"
        " (`redis+sentinel://host:26379,host:26379/service/0`).",
    )
    requests: int = setting(
        100,
        "Largest number of requests per client network and operation in `requests_window`.",
        ge=0,
        le=MOST,
    )
    requests_window: Duration = duration_between("10s", "Period to which `requests` applies.")
    failures: int = setting(
        10,
        "Largest number of wrong passwords and codes per account and client network in `failures_window`.",
        ge=0,
        le=MOST,
    )
    failures_window: Duration = duration_between("15m", "Period to which `failures` applies.")
    network_failures: int = setting(
        100,
        "Largest number of wrong passwords and codes per client network, over all accounts, in "
        "`network_failures_window`.",
        ge=0,
        le=MOST,
    )
    network_failures_window: Duration = duration_between("15m", "Period to which `network_failures` applies.")
    account_failures: int = setting(
        100,
        "Largest number of wrong passwords and codes per account, over all networks, in "
        "`account_failures_window`.",
        ge=0,
        le=MOST,
    )
    account_failures_window: Duration = duration_between("24h", "Period to which `account_failures` applies.")
    mail_burst: int = setting(
        5,
        "Largest number of emails of one kind, such as links, to one recipient in `mail_burst_window`.",
        ge=0,
        le=MOST,
    )
    mail_burst_window: Duration = duration_between("15m", "Period to which `mail_burst` applies.")
    mail_daily: int = setting(
        20,
        "Largest number of emails of one kind, such as links, to one recipient in 24 hours.",
        ge=0,
        le=MOST,
    )

    sign_in_mail_burst: int = setting(
        5,
        "Largest number of emails with sign-in links and codes to one recipient in "
        "`sign_in_mail_burst_window`.",
        ge=0,
        le=MOST,
    )
    sign_in_mail_burst_window: Duration = duration_between(
        "15m", "Period to which `sign_in_mail_burst` applies."
    )
    sign_in_mail_daily: int = setting(
        20,
        "Largest number of emails with sign-in links and codes to one recipient in 24 hours.",
        ge=0,
        le=MOST,
    )

    def policies(self, settings: Settings) -> Iterable[object]:
        """Return how often something may be tried."""
        return (
            RateLimitPolicy(
                requests=self._quota(self.requests, self.requests_window),
                failures=self._quota(self.failures, self.failures_window),
                network_failures=self._quota(self.network_failures, self.network_failures_window),
                account_failures=self._quota(self.account_failures, self.account_failures_window),
                mail_burst=self._quota(self.mail_burst, self.mail_burst_window),
                mail_daily=self._quota(self.mail_daily, timedelta(days=1)),
                sign_in_mail_burst=self._quota(self.sign_in_mail_burst, self.sign_in_mail_burst_window),
                sign_in_mail_daily=self._quota(self.sign_in_mail_daily, timedelta(days=1)),
            ),
        )

    def _quota(self, number: int, window: timedelta) -> Quota:
        return Quota(number if self.enabled else 0, window)
