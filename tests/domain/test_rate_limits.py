"""How often something may be tried: the rules, against counters in memory."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from domain import errors
from domain.context import Challenge, Client, Context, RequestFacts, Resources
from domain.ports import Cipher, Counters, Limit, LimitResult, Ports
from domain.rate_limits import limits
from domain.rate_limits.limits import FailureSubject
from domain.rate_limits.policy import Quota, RateLimitPolicy
from domain.two_factor import verification
from server.crypto.keyring import Keyring
from tests.policies import policy

NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
CIPHER = Keyring(["k" * 32])
ADA = FailureSubject("a" * 32)
HERE = "192.0.2.1"
OFF = Quota(0, MINUTE)
NONE = RateLimitPolicy(OFF, OFF, OFF, OFF, OFF, OFF, OFF, OFF)


@dataclass
class Memory:
    """Counters that never forget by themselves, and the networks a user is known from."""

    counts: dict[bytes, int] = field(default_factory=dict)
    known: dict[bytes, datetime] = field(default_factory=dict)
    is_away: bool = False

    async def exceeded_until(
        self, counts: Sequence[Limit], now: datetime, db: Any = None
    ) -> list[datetime | None]:
        if self.is_away:
            raise errors.Unavailable
        return [now + count.window if self._is_spent(count) else None for count in counts]

    async def hit(self, db: Any, counts: Sequence[Limit], now: datetime) -> LimitResult:
        if self.is_away:
            raise errors.Unavailable
        if any(self._is_spent(count) for count in counts):
            return LimitResult(max(now + count.window for count in counts if self._is_spent(count)))
        for count in counts:
            self.counts[count.key] = self.counts.get(count.key, 0) + 1
        return LimitResult(
            filled=frozenset(count.key for count in counts if self.counts[count.key] == count.number)
        )

    async def reset(self, db: Any, keys: Sequence[bytes]) -> None:
        for key in keys:
            self.counts.pop(key, None)

    async def one(self, query: Any, value: bytes) -> datetime | None:
        return self.known.get(value)

    def _is_spent(self, count: Limit) -> bool:
        return not count.unbounded and self.counts.get(count.key, 0) >= count.number


@pytest.fixture
def memory() -> Memory:
    return Memory()


def context(memory: Memory, address: str | None = HERE, **numbers: Quota) -> Context:
    """A request from an address, with these limits and no others."""
    none = cast(Any, None)
    port = Ports()
    port.add(Cipher, CIPHER)
    port.add(Counters, memory)
    database = cast(Any, SimpleNamespace(reads=memory, begin=lambda: none))
    resources = Resources(policy(replace(NONE, **numbers)), database, port, clock=none, run=none)
    return Context(resources, RequestFacts(NOW, Client(address)))


async def fail(ctx: Context, whose: FailureSubject = ADA, times: int = 1) -> None:
    for _ in range(times):
        await limits.count_failure(ctx, whose)


async def is_refused(ctx: Context, whose: FailureSubject = ADA) -> bool:
    """Return whether nobody may try, which both questions agree about."""
    spent = await limits.is_exhausted(ctx, whose)
    if spent:
        with pytest.raises(errors.Limited):
            await limits.check(ctx, whose)
    else:
        await limits.check(ctx, whose)
    return spent


class TestFailures:
    async def test_count_for_what_was_typed_where_there_is_no_user(self, memory: Memory) -> None:
        ctx = context(memory, failures=Quota(1, MINUTE))
        await fail(ctx, FailureSubject(None, "nobody@example.com"))

        assert await is_refused(ctx, FailureSubject(None, "nobody@example.com"))
        assert not await is_refused(ctx, FailureSubject(None, "somebody@example.com"))

    async def test_cannot_be_pushed_onto_a_user_by_typing_an_id(self, memory: Memory) -> None:
        ctx = context(memory, failures=Quota(1, MINUTE))
        await fail(ctx, FailureSubject(None, "a" * 32))

        assert not await is_refused(ctx, ADA)

    async def test_leave_nothing_to_read_in_the_keys(self, memory: Memory) -> None:
        await fail(context(memory, failures=Quota(1, MINUTE)), FailureSubject(None, "nobody@example.com"))

        [key] = memory.counts
        assert len(key) == 32


class TestOfASignIn:
    async def test_a_failure_from_a_known_network_leaves_the_check_as_it_was(self, memory: Memory) -> None:
        """To count it the account's own number is put aside, which must not reach further than that."""
        memory.known[CIPHER.digests(limits.NETWORK, f"{ADA.user_id} {HERE}")[0]] = NOW
        ctx = context(memory, account_failures=Quota(1, MINUTE))
        await fail(ctx, times=2)

        memory.known.clear()

        assert await is_refused(ctx)


class TestKnownNetworks:
    def known(self, memory: Memory, ago: timedelta) -> None:
        """Record that Ada signed in from here so long ago."""
        digest = CIPHER.digests(limits.NETWORK, f"{ADA.user_id} {HERE}")[0]
        memory.known[digest] = NOW - ago

    async def test_put_the_last_of_the_account_on_record_too(self, memory: Memory) -> None:
        self.known(memory, timedelta(days=1))
        ctx = context(memory, HERE, account_failures=Quota(2, MINUTE))

        await fail(ctx, times=4)

        assert [record.details for record in ctx.records] == [{"limit": "account_failures"}]

    async def test_are_known_under_an_older_key(self, memory: Memory) -> None:
        self.known(memory, timedelta(days=1))
        ctx = context(memory, HERE, account_failures=Quota(1, MINUTE))
        ctx.port.add(Cipher, Keyring(["n" * 32, "k" * 32]))
        await fail(ctx)

        assert not await is_refused(ctx)

    async def test_are_forgotten_after_90_days(self, memory: Memory) -> None:
        self.known(memory, timedelta(days=90))
        ctx = context(memory, HERE, account_failures=Quota(1, MINUTE))
        await fail(ctx)

        assert await is_refused(ctx)

    async def test_are_of_one_user(self, memory: Memory) -> None:
        self.known(memory, timedelta(days=1))
        ctx = context(memory, HERE, account_failures=Quota(1, MINUTE))
        await fail(ctx, FailureSubject("b" * 32))

        assert await is_refused(ctx, FailureSubject("b" * 32))


class TestTransactions:
    @pytest.mark.parametrize(
        "enter", [verification.verify_totp, verification.verify_otp, verification.verify_backup_code]
    )
    async def test_are_not_begun_by_who_enters_a_code_while_the_counts_are_away(
        self, memory: Memory, enter: Any
    ) -> None:
        """Or else others would wait for a locked row as long as this request for a store that hangs."""
        ctx = context(memory, failures=Quota(1, MINUTE))
        challenge = Challenge(b"", cast(Any, SimpleNamespace(id=ADA.user_id)), remembered=False, attempts=0)
        ctx.facts = ctx.facts._replace(challenge=challenge)
        database = SimpleNamespace(
            reads=memory, begin=lambda: pytest.fail("nothing may be locked before the counts have answered")
        )
        ctx.resources = replace(ctx.resources, database=cast(Any, database))
        memory.is_away = True

        with pytest.raises(errors.Unavailable):
            await enter(ctx, "123456", trust_device=False)


class TestForgive:
    async def test_leaves_what_the_network_did_to_others(self, memory: Memory) -> None:
        ctx = context(memory, network_failures=Quota(1, MINUTE))
        await fail(ctx)

        await limits.reset_failures(ctx, "a" * 32)

        assert await is_refused(ctx)


class TestMails:
    async def test_are_sent_while_the_counts_are_away(self, memory: Memory) -> None:
        ctx = context(memory, mail_burst=Quota(1, MINUTE))
        memory.is_away = True

        assert all([await limits.may_mail(ctx, limits.LINKS, "ada@example.com") for _ in range(3)])
