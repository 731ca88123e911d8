"""The process is killed, by a signal nobody can catch, in the middle of what users do (R17, R18)."""

import asyncio
import itertools
import os
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from tests.faults import victims
from tests.faults.places import DEADLINE, IS_LONG, Place, Visitor, place_of, until
from tests.faults.victims import Victim
from tests.faults.wholeness import halves
from tests.live import LiveService

KILLS = 100 if IS_LONG else 2
KINDS = ("sign-up", "reset", "enable", "verify", "delete")
AT_ONCE = 3
"""Users of each kind at the moment of a kill."""
LEASE = 60.0
"""Seconds for which a mail stays with a process that was killed while it was sending it."""
LATEST = 0.01
"""Seconds after the last answer that was waited for: a step takes a few thousandths."""


def new_random() -> random.Random:
    """Give the randomness of a test; a failure shows the seed, and GATEWRIGHT_SEED repeats it."""
    seed = os.environ.get("GATEWRIGHT_SEED") or str(random.SystemRandom().randrange(2**32))
    print(f"GATEWRIGHT_SEED={seed}")
    return random.Random(seed)


@dataclass(frozen=True, slots=True)
class Aftermath:
    """What was found wrong after the kills: by kind of step, and in the tables."""

    steps: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    tables: list[str] = field(default_factory=list)


@pytest.fixture(params=["sqlite", "postgresql"], scope="module")
async def aftermath(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Aftermath:
    """Kill process after process among all kinds of steps; each next one looks what it finds."""
    place = place_of(request, str(request.param), tmp_path_factory.mktemp("killed"))
    found, chance, group = Aftermath(), new_random(), list[Victim]()
    for number in range(KILLS + 1):
        with place.serving() as live:
            found.tables.extend(await halves(place))
            async with Visitor(live) as visitor:
                await look_after(visitor, group, found)
                group = await prepare(place, visitor, number, chance)
            if number < KILLS:
                await kill_among(live, group, chance)
            elif IS_LONG:
                await expect_all_sent(place)
    return found


async def prepare(place: Place, visitor: Visitor, number: int, chance: random.Random) -> list[Victim]:
    """Give users who are about to do something, in any order."""
    addresses = [(kind, f"{kind}-{number}-{one}@example.com") for kind in KINDS for one in range(AT_ONCE)]
    group = [await victims.prepare(place, visitor, *address) for address in addresses]
    chance.shuffle(group)
    return group


async def kill_among(live: LiveService, group: Sequence[Victim], chance: random.Random) -> None:
    """Let all of them act at once, and kill the process when some have an answer and others have not."""
    async with Visitor(live) as visitor:
        steps = [asyncio.create_task(victims.act(visitor, victim)) for victim in group]
        answered = chance.randrange(len(steps))
        for step in itertools.islice(asyncio.as_completed(steps), answered):
            await step
        await asyncio.sleep(chance.uniform(0, LATEST))
        live.process.kill()
        await asyncio.gather(*steps)
    await asyncio.to_thread(live.process.wait)


async def look_after(visitor: Visitor, group: Sequence[Victim], found: Aftermath) -> None:
    """See what became of each user, and that they can go on."""
    for victim in group:
        try:
            await victims.check(visitor, victim)
        except AssertionError as fault:
            found.steps[victim.kind].append(f"{victim.email}: {fault}")


async def expect_all_sent(place: Place) -> None:
    """See that every filed mail goes out, those too that were being sent when the process was killed."""

    async def are_sent() -> bool:
        return not await place.rows("SELECT id FROM outbox WHERE state <> 'sent'")

    await until(are_sent, DEADLINE + LEASE)


class TestR17:
    """Killed during sign-ups."""

    def test_r17_each_user_is_there_or_can_join(self, aftermath: Aftermath) -> None:
        assert aftermath.steps["sign-up"] == []

    def test_r17_no_row_is_half_of_something(self, aftermath: Aftermath) -> None:
        assert aftermath.tables == []


class TestR18:
    """Killed during resets, enrolments and deletions."""

    @pytest.mark.parametrize("kind", KINDS[1:])
    def test_r18_each_step_was_taken_or_was_not(self, aftermath: Aftermath, kind: str) -> None:
        assert aftermath.steps[kind] == []

    def test_r18_no_row_is_half_of_something(self, aftermath: Aftermath) -> None:
        assert aftermath.tables == []
