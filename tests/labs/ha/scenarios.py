"""What happens to the cluster or to the instances, and what is measured meanwhile."""

import asyncio
import os
import signal
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tests.labs.ha.cluster import PatroniCluster
from tests.labs.ha.instances import POOL, Instances
from tests.labs.ha.ledger import Ledger, Losses, losses
from tests.labs.ha.limit_store import TIMEOUT, LimitStore
from tests.labs.ha.load import Load
from tests.labs.ha.processes import send, until

QUIET = 3.0
"""Seconds of load before the fault, and after its end."""
BEHIND = 2.0
"""Seconds by which replicas are behind when the primary dies."""
FROZEN = 40.0
AWAY = 30.0
STALLED = 15.0
STORE_AWAY = 12.0
AT_MOST = 1.0
"""Seconds from the first write past the service to the first one through each instance."""
PING_TIMEOUT = 11.0
"""The same for sign-ins where the store of the limits was silent: one waits for 5 s, and for 5 s none is tried."""
COUNTED = {"/sign-in/email", "/sign-up/email"}
"""The paths of the requests that need the store of the limits."""


@dataclass
class Place:
    """Where a scenario happens."""

    cluster: PatroniCluster
    instances: Instances
    store: LimitStore
    lost_from: float = 0.0
    """When (monotonic seconds) replication stopped, if a scenario stops it."""


@dataclass(frozen=True)
class Scenario:
    """A fault, from its beginning to its end; whatever is broken by it is repaired by `repair`."""

    name: str
    fault: Callable[[Place], Awaitable[None]]
    repair: Callable[[Place], Awaitable[None]] | None = None
    is_direct: bool = True
    """Whether the instances stay, so that each can be asked."""
    is_unnoticed: bool = False
    """Whether no request may fail."""
    is_behind: bool = False
    """Whether the standby that takes over lacks what was acknowledged, so that an asynchronous cluster loses it."""
    is_of_store: bool = False
    """Whether it is the store of the limits that breaks."""
    at_most: float = AT_MOST


@dataclass(frozen=True)
class Row:
    """What was measured in a scenario."""

    scenario: Scenario
    is_synchronous: bool
    gaps: list[float]
    """The longest time without a write, at each instance and then past the service."""
    lags: list[float]
    """How much later than past the service each instance wrote again."""
    ledger: Ledger
    lost: Losses
    predicted: bool
    """Whether everything that is gone was acknowledged when the manual says that it may be."""
    connections: int
    excess: int
    """Wrong passwords that were compared beyond the limit."""
    busy: float
    """The load average of the machine at the end."""

    def broken(self) -> list[str]:
        """Return the promises that were not kept."""
        statuses, lag, at_most = self.ledger.statuses, max(self.lags, default=0.0), self.scenario.at_most
        others = set(self.ledger.refused) - COUNTED
        promises = {
            f"{statuses['500']} answers of 500": statuses["500"] == 0,
            f"{len(self.lost.writes)} acknowledged writes lost": not self.lost.writes
            or not self.is_synchronous,
            f"{len(self.lost.revived)} ended sessions live": not self.lost.revived or not self.is_synchronous,
            "something was lost that the manual does not predict": self.predicted,
            "nothing was lost, so the standbys were not behind": bool(self.lost.writes)
            or self.is_synchronous
            or not self.scenario.is_behind,
            f"first write {lag:.1f} s after it was possible, at a load average of {self.busy:.0f}": lag
            <= at_most,
            f"{self.connections} connections": self.connections <= 2 * POOL,
            f"requests failed: {dict(statuses)}": not self.scenario.is_unnoticed or set(statuses) == {"200"},
            f"requests failed that need no count: {others}": not self.scenario.is_of_store or not others,
            f"{self.excess} wrong passwords compared beyond the limit": not self.excess,
        }
        return [broken for broken, is_kept in promises.items() if not is_kept]


async def measure(scenario: Scenario, place: Place) -> Row:
    """Run a scenario under load, wait until everything is well again, and see what is lost."""
    cluster, instances = place.cluster, place.instances
    store = place.store if scenario.is_of_store else None
    load = Load(cluster, instances.url, instances.urls if scenario.is_direct else [], store)
    place.lost_from = 0.0
    async with load.running():
        await asyncio.sleep(QUIET)
        began = time.monotonic()
        await scenario.fault(place)
        await load.writes_everywhere(time.monotonic())
        await asyncio.sleep(QUIET)
        gaps = [writes.longest_gap(began) for writes in (*load.at_instances, load.at_source)]
        # Only where the source itself could not be written to is there a moment from which it could be again.
        back = gaps[-1][1] if gaps[-1][1] - gaps[-1][0] > AT_MOST else None
        lags = [writes.first_since(back) - back for writes in load.at_instances] if back is not None else []
    if scenario.repair is not None:
        await scenario.repair(place)
    await asyncio.gather(cluster.whole(), place.store.whole())
    lost = await losses(load.ledger, cluster.url, instances.urls[0])
    # Without a standby that is stopped, one that keeps up lacks what was written in the last moment.
    window = (place.lost_from or began) - 1.0, gaps[-1][1]
    gone = [*lost.writes, *lost.revived]
    return Row(
        scenario=scenario,
        is_synchronous=cluster.is_synchronous,
        gaps=[end - start for start, end in gaps],
        lags=lags,
        ledger=load.ledger,
        lost=lost,
        predicted=all(window[0] <= when <= window[1] for when in gone),
        connections=load.connections,
        excess=load.excess,
        busy=os.getloadavg()[0],
    )


async def _kill_host(place: Place) -> None:
    place.cluster.kill(await place.cluster.primary())


async def _kill_host_that_is_ahead(place: Place) -> None:
    """Stop the standbys from receiving the last writes, then kill the primary: what was sent does not arrive."""
    primary = await place.cluster.primary()
    stopped = place.cluster.stall([node for node in place.cluster.nodes if node is not primary])
    place.lost_from = time.monotonic()
    await asyncio.sleep(BEHIND)
    place.cluster.kill(primary)
    send(signal.SIGTERM, stopped)
    send(signal.SIGCONT, stopped)


async def _start_hosts(place: Place) -> None:
    for node in place.cluster.nodes:
        if not node.patroni.pids():
            node.patroni.start()


async def _kill_processes(place: Place) -> None:
    place.cluster.kill_database(await place.cluster.primary())


async def _switch_over(place: Place) -> None:
    await place.cluster.switch_over()


async def _freeze(place: Place) -> None:
    primary = await place.cluster.primary()
    place.cluster.freeze(primary)
    try:
        await asyncio.sleep(FROZEN)
    finally:
        place.cluster.thaw(primary)


async def _lose_consensus(place: Place) -> None:
    place.cluster.lose_consensus()
    try:
        await asyncio.sleep(AWAY)
    finally:
        place.cluster.find_consensus()


async def _lose_consensus_without_failsafe(place: Place) -> None:
    await place.cluster.set_failsafe(is_on=False)
    await _lose_consensus(place)


async def _restore_failsafe(place: Place) -> None:
    await place.cluster.set_failsafe(is_on=True)


async def _stall(place: Place) -> None:
    primary = await place.cluster.primary()
    stopped = place.cluster.stall([node for node in place.cluster.nodes if node is not primary])
    try:
        await asyncio.sleep(STALLED)
    finally:
        send(signal.SIGCONT, stopped)


async def _roll(place: Place) -> None:
    for number in range(2):
        await place.instances.restart(number)
        await asyncio.sleep(QUIET)


async def _kill_store(place: Place) -> None:
    """Kill all servers and Sentinels, and start them again with what is on their disks."""
    for host in place.store.hosts:
        host.kill()
    await asyncio.sleep(STORE_AWAY)
    for host in place.store.hosts:
        host.start()


async def _freeze_store(place: Place) -> None:
    for host in place.store.hosts:
        host.freeze()
    try:
        await asyncio.sleep(STORE_AWAY)
    finally:
        for host in place.store.hosts:
            host.thaw()


async def _kill_store_primary(place: Place) -> None:
    host = await place.store.primary()
    host.kill()
    await until(place.store.write, "a new primary of the store", TIMEOUT)
    host.start()


async def _freeze_store_primary(place: Place) -> None:
    host = await place.store.primary()
    host.freeze()
    try:
        await until(place.store.write, "a new primary of the store", TIMEOUT)
        await asyncio.sleep(STORE_AWAY)
    finally:
        host.thaw()


SCENARIOS = {
    "switchover": Scenario("planned switchover", _switch_over),
    "processes": Scenario("primary's processes killed", _kill_processes),
    "stalled": Scenario(f"replication stalled for {STALLED:g} s", _stall),
    "rolling": Scenario("rolling restart of the instances", _roll, is_direct=False, is_unnoticed=True),
    "host": Scenario("host of the primary killed", _kill_host, _start_hosts),
    "behind": Scenario(
        f"the same, standbys {BEHIND:g} s behind", _kill_host_that_is_ahead, _start_hosts, is_behind=True
    ),
    "frozen": Scenario(f"primary frozen for {FROZEN:g} s", _freeze),
    "consensus": Scenario(f"consensus store away for {AWAY:g} s", _lose_consensus, is_unnoticed=True),
    "unsafe": Scenario("the same without failsafe_mode", _lose_consensus_without_failsafe, _restore_failsafe),
    "store-killed": Scenario(
        f"limit store killed for {STORE_AWAY:g} s", _kill_store, is_of_store=True, at_most=PING_TIMEOUT
    ),
    "store-frozen": Scenario(
        f"limit store frozen for {STORE_AWAY:g} s", _freeze_store, is_of_store=True, at_most=PING_TIMEOUT
    ),
    "store-failover": Scenario("host of the store's primary killed", _kill_store_primary, is_of_store=True),
    "store-silent": Scenario(
        "host of the store's primary frozen", _freeze_store_primary, is_of_store=True, at_most=PING_TIMEOUT
    ),
}
