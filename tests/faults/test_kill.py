"""The process is killed, by a signal nobody can catch, in the middle of what users do (R17, R18).

Few kills hit the moment between two statements. So it is looked at, too, that there is no such moment: all that a step
writes is kept by one commit.
"""

import asyncio
import itertools
import os
import random
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import asyncpg
import httpx
import pytest
from sqlalchemy import text

from models import metadata
from tests.authenticator import Authenticator
from tests.faults import victims
from tests.faults.places import DEADLINE, IS_LONG, Place, Visitor, place_of, until
from tests.faults.victims import Victim
from tests.faults.wholeness import halves
from tests.handlers import passkey_steps, steps
from tests.handlers.steps import ADA, NEW_PASSWORD, join
from tests.handlers.test_passwordless import code_for, link_to, open_link
from tests.live import LiveService
from tests.postgres import Cluster
from tests.provider.process import ProviderProcess
from tests.provider.settings import social_settings
from tests.provider.steps import as_user, begin, deliver, visit
from tests.security import second_factor
from tests.service import PASSWORD, Service, close_service, open_service

KILLS = 100 if IS_LONG else 2
CHANGES = ("reset", "enable", "verify", "delete")
BY_MAIL = ("link", "code", "reset-code")
KINDS = ("sign-up", *CHANGES, "passkey", *BY_MAIL)
SIGN_IN_BY_MAIL = {
    "magic_link.enabled": "true",
    "magic_link.confirm": "false",
    "email_otp.enabled": "true",
}
AT_ONCE = 3
"""Users of each kind at the moment of a kill."""
LEASE = 60.0
"""Seconds for which a mail stays with a process that was killed while it was sending it."""
LATEST = 0.01
"""Seconds after the last answer that was waited for: a step takes a few thousandths."""


def new_random() -> random.Random:
    """Return the randomness of a test; a failure shows the seed, and GATEWRIGHT_SEED repeats it."""
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
        with place.serving(SIGN_IN_BY_MAIL) as live:
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
    """Return users who are about to do something, in any order."""
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
    """Check that every queued mail is sent, also those that were being sent when the process was killed."""

    async def are_sent() -> bool:
        return not await place.rows("SELECT id FROM outbox WHERE state <> 'sent'")

    await until(are_sent, DEADLINE + LEASE)


@pytest.mark.threat("R17")
class TestKilledDuringSignUps:
    """Killed during sign-ups."""

    def test_each_user_is_there_or_can_join(self, aftermath: Aftermath) -> None:
        assert aftermath.steps["sign-up"] == []

    def test_no_row_is_half_of_something(self, aftermath: Aftermath) -> None:
        assert aftermath.tables == []


@pytest.mark.threat("M18")
class TestKilledDuringSignInByMail:
    """Killed while links and codes are used up."""

    @pytest.mark.parametrize("kind", BY_MAIL)
    def test_each_is_used_up_with_its_effect_or_not_at_all(self, aftermath: Aftermath, kind: str) -> None:
        assert aftermath.steps[kind] == []


@pytest.mark.threat("P24")
class TestKilledDuringRegistrations:
    """Killed while passkeys are added."""

    def test_each_is_there_or_can_be_added(self, aftermath: Aftermath) -> None:
        assert aftermath.steps["passkey"] == []


@pytest.mark.threat("R18")
class TestKilledDuringChanges:
    """Killed during resets, enrolments and deletions."""

    @pytest.mark.parametrize("kind", CHANGES)
    def test_each_step_was_taken_or_was_not(self, aftermath: Aftermath, kind: str) -> None:
        assert aftermath.steps[kind] == []

    def test_no_row_is_half_of_something(self, aftermath: Aftermath) -> None:
        assert aftermath.tables == []


COUNTED = {"counter", "lease"}
"""Tables of which nothing belongs to what a user does."""

Step = Callable[[], Awaitable[httpx.Response]]
Take = Callable[[Service, ProviderProcess], Awaitable[Step]]
"""Does what comes before a step, and gives the step."""


@dataclass(frozen=True, slots=True)
class Watched:
    """A service, and a connection to its database, in which every row that is written names its transaction."""

    service: Service
    provider: ProviderProcess
    watcher: asyncpg.Connection


@pytest.fixture
async def watched(cluster: Cluster, provider: ProviderProcess, tmp_path: Path) -> AsyncIterator[Watched]:
    url = cluster.create(migrated=True)
    watcher = await asyncpg.connect(url)
    await watcher.execute(
        """CREATE TABLE written (transaction TEXT, place TEXT);
           CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             INSERT INTO written VALUES (pg_current_xact_id(), TG_OP || ' ' || TG_TABLE_NAME);
             RETURN NULL;
           END $$"""
    )
    for table in set(metadata.tables) - COUNTED:
        await watcher.execute(
            f'CREATE TRIGGER note AFTER INSERT OR UPDATE OR DELETE ON "{table}"'
            " FOR EACH ROW EXECUTE FUNCTION note()"
        )
    service = await open_service(
        url, tmp_path, {"limits.enabled": "false", "secrets": "s" * 32, **social_settings(provider)}
    )
    yield Watched(service, provider, watcher)
    await close_service(service)
    await watcher.close()


async def sign_up(service: Service, provider: ProviderProcess) -> Step:
    """Join with a password."""
    return lambda: service.post("/sign-up/email", {"name": "Ada", "email": ADA, "password": PASSWORD})


async def come_back(service: Service, provider: ProviderProcess) -> Step:
    """Join by a provider."""
    as_user(provider, ADA, "1001")
    flow = await begin(service)
    back = await visit(flow)
    return lambda: deliver(service, back, flow)


async def reset(service: Service, provider: ProviderProcess) -> Step:
    """Replace a forgotten password."""
    await join(service)
    body = {"token": await steps.reset_token(service), "newPassword": NEW_PASSWORD}
    return lambda: service.post("/reset-password", body)


async def enable(service: Service, provider: ProviderProcess) -> Step:
    """Open an enrolment."""
    ada = await join(service)
    return lambda: service.post("/two-factor/enable", {"password": PASSWORD}, headers=ada)


async def verify(service: Service, provider: ProviderProcess) -> Step:
    """Confirm an enrolment."""
    ada = await join(service)
    owner = second_factor.Owner(ADA, ada, *await second_factor.begin(service, ada))
    return lambda: second_factor.enter(service, "totp", owner.code(service), ada)


async def delete(service: Service, provider: ProviderProcess) -> Step:
    """Delete oneself."""
    owner = await second_factor.enrol(service)
    return lambda: service.post("/delete-user", {"password": PASSWORD}, headers=owner.session)


async def add_passkey(service: Service, provider: ProviderProcess) -> Step:
    """Add a passkey."""
    ada = await join(service)
    created = Authenticator().create(await passkey_steps.register_options(service, ada))
    return lambda: service.post(passkey_steps.REGISTER, {"response": created}, headers=ada)


async def use_link(service: Service, provider: ProviderProcess) -> Step:
    """Join by a mailed link."""
    token = await link_to(service)
    return lambda: open_link(service, token)


async def reset_by_code(service: Service, provider: ProviderProcess) -> Step:
    """Replace a forgotten password with a mailed code."""
    await join(service)
    body = {
        "email": ADA,
        "otp": await code_for(service, kind="forget-password"),
        "password": NEW_PASSWORD,
    }
    return lambda: service.post("/email-otp/reset-password", body)


async def create_key(service: Service, provider: ProviderProcess) -> Step:
    """Create an API key."""
    ada = await join(service)
    return lambda: service.post("/api-key/create", {}, headers=ada)


async def set_role(service: Service, provider: ProviderProcess) -> Step:
    """Change the role of a user, as an administrator."""
    admin = await join(service, "root@example.com")
    await join(service)
    async with service.services.database.transaction() as db:
        await db.execute(text("UPDATE \"user\" SET role = 'admin' WHERE email = 'root@example.com'"))
    [(user_id,)] = await service.rows("SELECT id FROM \"user\" WHERE role = 'user'")
    body = {"userId": user_id, "role": "admin"}
    return lambda: service.post("/admin/set-role", body, headers=admin)


async def written(watched: Watched, take: Take) -> list[set[str]]:
    """Take a step; give what each transaction has written, of those that wrote something."""
    step = await take(watched.service, watched.provider)
    await watched.watcher.execute("DELETE FROM written")
    assert (await step()).status_code in (200, 302)
    transactions: dict[str, set[str]] = defaultdict(set)
    for transaction, place in await watched.watcher.fetch("SELECT transaction, place FROM written"):
        transactions[transaction].add(place)
    return list(transactions.values())


@pytest.mark.threat("R17")
class TestSignUpIsOneCommit:
    """Who joins is there with all that belongs to a user, or not at all."""

    @pytest.mark.parametrize("take", [sign_up, come_back])
    async def test_all_that_is_new_is_kept_at_once(self, watched: Watched, take: Take) -> None:
        """A state that came back is used up before, while nobody knows who comes."""
        transactions = await written(watched, take)

        [kept] = [places for places in transactions if places != {"DELETE grant"}]
        assert {"INSERT user", "INSERT account", "INSERT session", "INSERT audit"} <= kept


@pytest.mark.threat("P24")
async def test_a_passkey_comes_with_its_record_and_its_mail(watched: Watched) -> None:
    """The challenge is used up before, whatever the authenticator says."""
    transactions = await written(watched, add_passkey)

    [kept] = [places for places in transactions if places != {"DELETE grant"}]
    assert len(transactions) == 2
    assert {"INSERT passkey", "INSERT audit", "INSERT outbox"} <= kept


@pytest.mark.threat("M18")
async def test_a_link_is_used_up_by_the_commit_that_makes_the_user(watched: Watched) -> None:
    [kept] = await written(watched, use_link)

    assert {"DELETE grant", "INSERT user", "INSERT session", "INSERT audit"} <= kept


@pytest.mark.threat("M18")
async def test_a_code_is_used_up_by_the_commit_that_sets_the_password(watched: Watched) -> None:
    """It was compared before, in a transaction that leaves it as it was, so that none is open while hashing."""
    changes = [places for places in await written(watched, reset_by_code) if places != {"UPDATE grant"}]

    [kept] = changes
    assert {"DELETE grant", "UPDATE account", "DELETE session", "INSERT audit"} <= kept


@pytest.mark.threat("R18")
class TestChangeIsOneCommit:
    """What replaces something, or takes it away, does all of it by one commit."""

    @pytest.mark.parametrize(
        ("take", "places"),
        [
            (reset, {"UPDATE account", "DELETE grant", "DELETE session"}),
            (enable, {"INSERT two_factor", "INSERT backup_code"}),
            (verify, {"UPDATE two_factor", "UPDATE backup_code", "UPDATE user"}),
            (create_key, {"INSERT api_key", "INSERT audit", "INSERT outbox"}),
            (set_role, {"UPDATE user", "INSERT audit", "INSERT outbox"}),
            (delete, {"DELETE user", "DELETE account", "DELETE session", "DELETE two_factor"}),
        ],
    )
    async def test_all_of_it_is_kept_at_once(
        self,
        watched: Watched,
        take: Take,
        places: set[str],
    ) -> None:
        [kept] = await written(watched, take)

        assert places <= kept
