"""The use of API keys in one process: `lastRequest` of keys is written in the background."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from itertools import islice

from sqlalchemy import bindparam, update
from sqlmodel import col

from domain.api_keys.verification import KeyUsage
from models.api_key import ApiKey
from models.base import Instant
from models.statements import table_of
from server.components.component import Component, Core, PeriodicJob
from server.config.groups.api_keys import ApiKeySettings

EVERY = 5.0
"""Seconds between two writes of last uses."""

_BATCH = 500
"""Most keys that one statement updates."""

_MOST = 100_000
"""Most keys with an unwritten use, and most refusals, that are kept in memory."""

_MINUTE = timedelta(minutes=1)
_BURST = 100
"""Number of invalid keys of one verifier within a minute that causes an audit record."""

_latest = bindparam("latest", type_=Instant())


class ApiKeyUsage(Component):
    """Remembers the last uses of API keys until they are written, and the refusals of the last minute.

    Implements `domain.api_keys.verification.KeyUsage`.
    """

    def __init__(self, core: Core) -> None:
        self._is_enabled = core.settings[ApiKeySettings].enabled
        self._interval = core.settings[ApiKeySettings].last_request_interval
        self._database = core.database
        self._metrics = core.metrics
        self._used: dict[str, datetime] = {}
        """Keys whose last use is not written yet."""
        self._written: dict[str, datetime] = {}
        """Keys whose last use was written recently."""
        self._seen: dict[tuple[str, ...], datetime] = {}
        self._unknown: dict[str, tuple[datetime, int]] = {}
        core.port.add(KeyUsage, self)
        core.port.add(ApiKeyUsage, self)

    def jobs(self) -> Iterable[PeriodicJob]:
        """Return the job that writes the last uses; none if API keys are disabled."""
        if self._is_enabled:
            yield PeriodicJob("api_key_usage", self.write, EVERY)

    def verified(self, verifier: str | None, result: str) -> None:
        """Count a verification by its result and the service that asked for it, if metrics are enabled."""
        if self._metrics is not None:
            self._metrics.key_verified(verifier, result)

    def used(self, key_id: str, now: datetime) -> None:
        """Remember a use for the next write, unless one was written within `api_keys.last_request_interval`."""
        written = self._written.get(key_id)
        if (written is None or now - written >= self._interval) and len(self._used) < _MOST:
            self._used[key_id] = now

    def is_first(self, *what: str, now: datetime) -> bool:
        """Return whether this is the first refusal of its kind within a minute; `what` names the kind."""
        last = self._seen.get(what)
        if last is not None and last <= now < last + _MINUTE:
            return False
        # Dropping all is cheap, and costs at most one more audit record per key and minute.
        if len(self._seen) >= _MOST:
            self._seen.clear()
        self._seen[what] = now
        return True

    def is_burst(self, verifier: str, now: datetime) -> bool:
        """Count an invalid key of a verifier; return whether it is the one that makes a burst (100 within a minute)."""
        begin, number = self._unknown.get(verifier, (now, 0))
        if not begin <= now < begin + _MINUTE:
            begin, number = now, 0
        self._unknown[verifier] = begin, number + 1
        return number + 1 == _BURST

    async def write(self) -> None:
        """Write the last uses to the database. If that fails they are dropped, because no decision depends on them."""
        used, self._used = self._used, {}
        if not used:
            return
        # One time for the whole batch, so that one statement updates many keys; it is about five seconds off at most.
        latest = max(used.values())
        self._written = {
            key: moment for key, moment in self._written.items() if latest - moment < self._interval
        }
        self._written |= used
        for batch in _batches(used):
            async with self._database.transaction() as transaction:
                statement = (
                    update(table_of(ApiKey)).where(col(ApiKey.id).in_(batch)).values(last_request=_latest)
                )
                await transaction.execute(statement, latest=latest)


def _batches(keys: dict[str, datetime]) -> Iterator[list[str]]:
    remaining = iter(keys)
    while batch := list(islice(remaining, _BATCH)):
        yield batch
