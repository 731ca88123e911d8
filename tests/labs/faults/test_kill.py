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

import asyncpg
import httpx
import pytest
from sqlalchemy import text

from models import metadata
from tests import oauth_codes, oauth_flow
from tests.authenticator import Authenticator
from tests.handlers import device_steps, organization_steps, passkey_steps, steps
from tests.handlers.mailed import code_for, link_to, open_link
from tests.handlers.steps import ADA, NEW_PASSWORD, join
from tests.labs.faults import victims
from tests.labs.faults.asking import until
from tests.labs.faults.places import DEADLINE, IS_LONG, Place, Visitor, place_of
from tests.labs.faults.victims import Victim
from tests.labs.faults.wholeness import halves
from tests.labs.provider.process import ProviderProcess
from tests.labs.provider.settings import social_settings
from tests.labs.provider.steps import as_user, begin, deliver, visit
from tests.live import LiveService
from tests.oauth import add_client
from tests.postgres import Cluster
from tests.security import second_factor
from tests.service import PASSWORD, Service, running_service

KILLS = 100 if IS_LONG else 2
KINDS = ("sign-up", "reset", "enable", "verify", "delete", "passkey", "link", "code", "reset-code")
SIGN_IN_BY_MAIL = {
    "magic_links.enabled": "true",
    "magic_links.confirm": "false",
    "email_codes.enabled": "true",
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
    """Run all of them at once, and kill the process when some have an answer and others have not."""
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


@pytest.mark.threat("R17", "R18", "M18", "P24")
class TestKilled:
    """A step is taken whole or not at all; it was taken if the user was told so, and can be taken if it was not."""

    @pytest.mark.parametrize("kind", KINDS)
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


@pytest.fixture(scope="module")
async def observed(
    cluster: Cluster, provider_process: ProviderProcess, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Watched]:
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
    settings = {"limits.enabled": "false", "secrets": "s" * 32, **social_settings(provider_process)}
    async with running_service(url, tmp_path_factory.mktemp("watched"), settings) as service:
        yield Watched(service, provider_process, watcher)
    await watcher.close()


@pytest.fixture
async def watched(observed: Watched, provider: ProviderProcess) -> Watched:
    """The service as if just started, and the provider too."""
    await observed.service.reset()
    return observed


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


async def create_organization(service: Service, provider: ProviderProcess) -> Step:
    """Create an organization."""
    ada = await join(service)
    return lambda: service.post("/organization/create", {"name": "Acme", "slug": "acme"}, headers=ada)


async def accept_invitation(service: Service, provider: ProviderProcess) -> Step:
    """Join an organization."""
    ada, bob = await organization_steps.add(service, "ada"), await organization_steps.add(service, "bob")
    await organization_steps.create(service, ada)
    sent = await organization_steps.invite(service, ada, bob.email)
    return lambda: organization_steps.accept(service, bob, sent["id"])


async def delete_organization(service: Service, provider: ProviderProcess) -> Step:
    """Delete an organization."""
    ada = await organization_steps.add(service, "ada")
    body = {"organizationId": (await organization_steps.create(service, ada))["id"]}
    return lambda: service.post("/organization/delete", body, headers=ada.headers)


async def issue_code(service: Service, provider: ProviderProcess) -> Step:
    """Continue an authorization request to its code."""
    ada, shop = await join(service), await add_client(service)
    handle = oauth_flow.handle_of(await oauth_flow.arrive(service, shop, ada))
    await oauth_flow.consent(service, handle, ada)
    return lambda: oauth_flow.arrive_by_uri(service, shop, oauth_flow.uri_of(handle), ada)


async def redeem_code(service: Service, provider: ProviderProcess) -> Step:
    """Redeem an authorization code."""
    ada, shop = await join(service), await add_client(service, **oauth_codes.OFFLINE)
    code = await oauth_codes.add_code(service, shop, ada, scopes="openid offline_access")
    return lambda: oauth_codes.redeem(service, shop, code)


async def refresh(service: Service, provider: ProviderProcess) -> Step:
    """Refresh tokens."""
    ada, shop = await join(service), await add_client(service, **oauth_codes.OFFLINE)
    tokens = await oauth_codes.first_tokens(service, shop, ada)
    return lambda: oauth_codes.refresh(service, shop, tokens["refresh_token"])


async def approve_device(service: Service, provider: ProviderProcess) -> Step:
    """Approve a device."""
    ada, television = await join(service), await device_steps.add_television(service, gets_session=False)
    started = await device_steps.start(service, television)
    return lambda: device_steps.decide(service, started["user_code"], ada)


async def redeem_device(service: Service, provider: ProviderProcess) -> Step:
    """Redeem the code of a device."""
    ada, television = await join(service), await device_steps.add_television(service, gets_session=False)
    started = await device_steps.start(service, television)
    await device_steps.approve(service, started["user_code"], ada)
    return lambda: device_steps.redeem(service, television, started["device_code"])


async def written(watched: Watched, take: Take) -> list[set[str]]:
    """Take a step; give what each transaction has written, of those that wrote something."""
    step = await take(watched.service, watched.provider)
    await watched.watcher.execute("DELETE FROM written")
    assert (await step()).status_code in (200, 302)
    transactions: dict[str, set[str]] = defaultdict(set)
    for transaction, place in await watched.watcher.fetch("SELECT transaction, place FROM written"):
        transactions[transaction].add(place)
    return list(transactions.values())


USED_UP, COMPARED = {"DELETE grant"}, {"UPDATE grant"}
"""What is committed before a step: a state, or a challenge, is used up while nobody knows who comes; a code is compared
in a transaction that leaves it as it was, so that none is open while hashing."""


@pytest.mark.threat("R17", "R18", "M18", "P24", "ORG25", "O26")
@pytest.mark.parametrize(
    ("take", "before", "places"),
    [
        (sign_up, [], {"INSERT user", "INSERT account", "INSERT session", "INSERT audit"}),
        (come_back, [USED_UP], {"INSERT user", "INSERT account", "INSERT session", "INSERT audit"}),
        (add_passkey, [USED_UP], {"INSERT passkey", "INSERT audit", "INSERT outbox"}),
        (use_link, [], {"DELETE grant", "INSERT user", "INSERT session", "INSERT audit"}),
        (reset_by_code, [COMPARED], {"DELETE grant", "UPDATE account", "DELETE session", "INSERT audit"}),
        (reset, [], {"UPDATE account", "DELETE grant", "DELETE session"}),
        (enable, [], {"INSERT two_factor", "INSERT backup_code"}),
        (verify, [], {"UPDATE two_factor", "UPDATE backup_code", "UPDATE user"}),
        (create_key, [], {"INSERT api_key", "INSERT audit", "INSERT outbox"}),
        (set_role, [], {"UPDATE user", "INSERT audit", "INSERT outbox"}),
        (delete, [], {"DELETE user", "DELETE account", "DELETE session", "DELETE two_factor"}),
        (
            create_organization,
            [],
            {"INSERT organization", "INSERT member", "INSERT team", "INSERT team_member", "UPDATE session"},
        ),
        (accept_invitation, [], {"UPDATE invitation", "INSERT member", "UPDATE session", "INSERT audit"}),
        (issue_code, [], {"DELETE oauth_request", "INSERT oauth_code", "INSERT audit"}),
        (
            redeem_code,
            [],
            {"UPDATE oauth_code", "INSERT oauth_grant", "INSERT oauth_token", "INSERT audit"},
        ),
        (refresh, [], {"UPDATE oauth_token", "INSERT oauth_token", "INSERT audit"}),
        (
            approve_device,
            [],
            {"UPDATE device_request", "INSERT oauth_consent", "INSERT audit", "INSERT outbox"},
        ),
        (redeem_device, [], {"UPDATE device_request", "INSERT oauth_grant", "INSERT oauth_token"}),
        (delete_organization, [], {"DELETE organization", "DELETE member", "UPDATE session", "INSERT audit"}),
    ],
)
async def test_all_that_a_step_writes_is_kept_by_one_commit(
    watched: Watched, take: Take, before: list[set[str]], places: set[str]
) -> None:
    transactions = await written(watched, take)

    [kept] = [written for written in transactions if written not in before]
    assert len(transactions) == len(before) + 1
    assert places <= kept
