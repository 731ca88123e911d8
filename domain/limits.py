"""How often passwords and codes may be wrong, and how many mails an address gets (behaviour 10.1, 10.2).

What is counted lies under keyed digests: neither account nor address nor network can be read from it. Only the newest
service key makes them, so that a change of keys begins every window anew, once; known networks outlive it.
"""

import math
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

from sqlalchemy import select
from sqlmodel import col

from domain import audit, errors
from domain.context import Context
from domain.policy import Quota
from domain.ports import Count
from models import KnownNetwork
from models.commands import SEE_NETWORK
from models.queries import LAST_SUCCESS_BY_NETWORK

COUNTER = "limits.counter"
NETWORK = "limits.network"
"""The purposes of the keyed digests."""

KNOWN_FOR = timedelta(days=90)
"""How long after a sign-in its network counts as known."""

ACCOUNT = "account_failures"

Family = Literal["links", "otp", "delete-account", "notices", "nobody"]
"""Mails that share a budget. Links may be wanted by strangers, who must not use up what a signing-in user needs; nobody
gets those that are only counted because the work must be the same."""


class Whose(NamedTuple):
    """Whose password or code is tried: a user's, or that of somebody who is only what was typed."""

    user_id: str | None
    typed: str = ""
    """Lower-cased."""

    @property
    def name(self) -> str:
        """What is counted under."""
        return f"typed {self.typed}" if self.user_id is None else f"user {self.user_id}"


async def check(ctx: Context, whose: Whose) -> None:
    """Let nobody try whose failure budget is spent, with what is right neither.

    To be asked before hashing, and again before something right is let through. Raises Limited, Unavailable.
    """
    until = await _spent_until(ctx, whose)
    if until is not None:
        raise _limited(ctx, until)


async def is_spent(ctx: Context, whose: Whose) -> bool:
    """Whether `check` would refuse now. Raises Unavailable."""
    return await _spent_until(ctx, whose) is not None


async def _spent_until(ctx: Context, whose: Whose) -> datetime | None:
    counts = _failures(ctx, whose)
    found = await ctx.counters.ends(list(counts.values()), ctx.now, ctx.opened)
    ends = dict(zip(counts, found, strict=True))
    if ends.get(ACCOUNT) is not None and await _is_known(ctx, whose):
        del ends[ACCOUNT]
    return max((end for end in ends.values() if end is not None), default=None)


async def count_failure(ctx: Context, whose: Whose) -> None:
    """Count something wrong, before anybody is told: it may be told if this returns, and the count is kept.

    Where the account's own number is spent, those who come from a network it is known from are still told. Raises
    Limited, when nothing was counted; Unavailable.
    """
    counts = dict(_failures(ctx, whose))
    if ACCOUNT in counts and await _is_known(ctx, whose):
        counts[ACCOUNT] = counts[ACCOUNT]._replace(is_open=True)
    typed = whose.typed if whose.user_id is None else None
    until = await _take(ctx, counts, user_id=whose.user_id, identifier=typed) if counts else None
    if until is not None:
        raise _limited(ctx, until)


async def forgive(ctx: Context, user_id: str) -> None:
    """Begin anew with the failures of a user whose row is locked, and of the network they come from."""
    counts = _failures(ctx, Whose(user_id))
    keys = [count.key for name, count in counts.items() if name != "network_failures"]
    if keys:
        await ctx.counters.forget(ctx.db, keys)


async def signed_in(ctx: Context, user_id: str, *, is_first: bool = False) -> None:
    """Forgive a user who gets a session now, and remember where they came from. Their row is locked.

    `is_first` says that they are made by the same transaction: nobody has failed in their name yet.
    """
    if not is_first:
        await forgive(ctx, user_id)
    if ctx.client.network is None or not ctx.policy.limits.account_failures.number:
        return
    network = _network(ctx, user_id)[0]
    ctx.db.file(SEE_NETWORK, user_id=user_id, network=network, last_success=ctx.now)


async def may_notify(ctx: Context, recipient: str, *, is_verified: bool) -> bool:
    """Whether a notice may go to the address: always to one that is proven, counted to one that may be a stranger's.

    Raises Unavailable.
    """
    return is_verified or await may_mail(ctx, "notices", recipient)


async def may_mail(ctx: Context, family: Family, recipient: str) -> bool:
    """Whether one more mail of this family may go to the address, which counts it; the answer must not show it.

    While the counts are away mails go out: only what has a budget of failures waits for them (behaviour 12).
    """
    rules = ctx.policy.limits
    counts = {
        name: _count(ctx, f"{name} {family} {recipient}", quota)
        for name, quota in (("mail_burst", rules.mail_burst), ("mail_daily", rules.mail_daily))
        if quota.number
    }
    try:
        return not counts or await _take(ctx, counts) is None
    except errors.Unavailable:
        return True


async def _take(
    ctx: Context, counts: dict[str, Count], *, user_id: str | None = None, identifier: str | None = None
) -> datetime | None:
    """Count one on each, or give when to try again; whoever takes the last one puts it on record."""
    counted = await ctx.counters.take(ctx.db, list(counts.values()), ctx.now)
    for name, count in counts.items():
        if count.key in counted.filled:
            audit.limit_reached(ctx, name, user_id=user_id, identifier=identifier)
    return counted.spent_until


def _failures(ctx: Context, whose: Whose) -> Mapping[str, Count]:
    """Give what a failure counts for, by the setting's name: account and network, network, account."""
    counts = ctx.failures.get(whose.name)
    if counts is None:
        # A sign-in asks three times, and what stands for a name takes as long as a statement to make.
        counts = ctx.failures[whose.name] = _counts_of(ctx, whose)
    return counts


def _counts_of(ctx: Context, whose: Whose) -> dict[str, Count]:
    """Give them. Where the network is unknown there is none to count for: everybody would share it."""
    rules, network = ctx.policy.limits, ctx.client.network
    found: dict[str, tuple[str, Quota]] = {"failures": (f"{whose.name} from {network}", rules.failures)}
    if network is not None:
        found["network_failures"] = (f"anybody from {network}", rules.network_failures)
    found[ACCOUNT] = (f"{whose.name} from anywhere", rules.account_failures)
    return {name: _count(ctx, text, quota) for name, (text, quota) in found.items() if quota.number}


def _count(ctx: Context, text: str, quota: Quota) -> Count:
    return Count(ctx.cipher.digests(COUNTER, text)[0], quota.number, quota.window)


async def _is_known(ctx: Context, whose: Whose) -> bool:
    """Whether the user has signed in from here not long ago; who is no user costs the same look."""
    here = _network(ctx, whose.user_id or "")
    if ctx.opened is None:
        seen = [last for network in here if (last := await ctx.reads.one(LAST_SUCCESS_BY_NETWORK, network))]
    else:
        last_success = select(col(KnownNetwork.last_success)).where(col(KnownNetwork.network).in_(here))
        seen = list(await ctx.opened.scalars(last_success))
    return any(ctx.now - last < KNOWN_FOR for last in seen)


def _network(ctx: Context, user_id: str) -> list[bytes]:
    """Give what stands for the client's network among those of the user, under every service key."""
    return ctx.cipher.digests(NETWORK, f"{user_id} {ctx.client.network}")


def _limited(ctx: Context, until: datetime) -> errors.Limited:
    return errors.Limited(retry_after=max(1, math.ceil((until - ctx.now).total_seconds())))
