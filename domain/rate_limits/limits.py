"""Limits on wrong passwords and codes, on emails per address, and on some other actions.

Counters are stored under keyed digests, which do not reveal the account, address or network. Only the newest service
key creates these digests, so a new key restarts every window once; known networks remain valid.
"""

import math
from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import select
from sqlmodel import col

from domain import errors
from domain.context import Context
from domain.ports import Counters, Limit
from domain.rate_limits import events
from domain.rate_limits.policy import Quota, RateLimitPolicy
from models import KnownNetwork
from models.known_network import KNOWN_FOR, LAST_SUCCESS_BY_NETWORK, upsert_known_network

COUNTER = "limits.counter"
NETWORK = "limits.network"
"""The purposes of the keyed digests of counters (`COUNTER`) and of known networks (`NETWORK`)."""

ACCOUNT = "account_failures"


class MailFamily(NamedTuple):
    """Emails that are counted together for the limit per recipient. Packages may declare families of their own."""

    name: str
    is_sign_in: bool = False
    """Whether the settings `limits.sign_in_mail_*` apply instead of `limits.mail_*`."""


# Strangers can request links, which must not use up the codes of a user who signs in.
LINKS = MailFamily("links")
SIGN_IN = MailFamily("sign-in-mail", is_sign_in=True)
NOTICES = MailFamily("notices")
DECOYS = MailFamily("decoys")
"""Emails that are prepared but not sent. They are counted so that the work is the same."""


class FailureSubject(NamedTuple):
    """Whom a failed attempt is counted for: a user, or (`user_id` None) an identifier that belongs to no user."""

    user_id: str | None
    typed: str = ""
    """The identifier that was entered, in lower case."""

    @property
    def name(self) -> str:
        """The text that identifies the subject in the keys of counters."""
        return f"typed {self.typed}" if self.user_id is None else f"user {self.user_id}"


async def check(ctx: Context, subject: FailureSubject) -> None:
    """Check that the subject has failed attempts left. Raises Limited if not, even for correct credentials.

    Call it before hashing, and again before a correct credential is accepted. Raises Unavailable.
    """
    until = await _exceeded_until(ctx, subject)
    if until is not None:  # defence: V66 spent-budget
        raise _limited(ctx, until)


async def is_exhausted(ctx: Context, subject: FailureSubject) -> bool:
    """Return whether `check` would raise Limited now. Raises Unavailable."""
    return await _exceeded_until(ctx, subject) is not None


async def _exceeded_until(ctx: Context, subject: FailureSubject) -> datetime | None:
    counts = _failures(ctx, subject)
    times = await ctx.port[Counters].exceeded_until(list(counts.values()), ctx.now, ctx.transaction)
    ends = dict(zip(counts, times, strict=True))
    # A stranger can exhaust the budget of an account. Networks from which its owner has signed in are not locked out
    # by that.
    if ends.get(ACCOUNT) is not None and await _is_known(ctx, subject):  # defence: V69 open-account
        del ends[ACCOUNT]
    return max((end for end in ends.values() if end is not None), default=None)


async def count_failure(ctx: Context, subject: FailureSubject) -> None:
    """Count a failed attempt. Call it before the response reveals the failure.

    If the account's limit for all networks is reached, clients from a network from which the user has signed in may
    still try. Raises Limited, without counting, if a limit was reached before; Unavailable.
    """
    counts = dict(_failures(ctx, subject))
    if ACCOUNT in counts and await _is_known(ctx, subject):  # defence: V69 open-mistakes
        counts[ACCOUNT] = counts[ACCOUNT]._replace(unbounded=True)
    typed = subject.typed if subject.user_id is None else None
    until = await _hit(ctx, counts, user_id=subject.user_id, identifier=typed) if counts else None
    # The failure is counted before the response: the number decides, so of any burst only as many guesses get a
    # verdict as the limit allows.
    if until is not None:  # defence: V66 last-failure
        raise _limited(ctx, until)


async def check_network(ctx: Context) -> None:
    """Check that the client's network has failed attempts left. Raises Limited if not; Unavailable."""
    counts = _network_failures(ctx)
    times = await ctx.port[Counters].exceeded_until(list(counts.values()), ctx.now, ctx.transaction)
    until = max((end for end in times if end is not None), default=None)
    if until is not None:  # defence: O19 network-budget
        raise _limited(ctx, until)


async def count_network_failure(ctx: Context) -> None:
    """Count a wrong code that belongs to no user, for the client's network alone.

    Call it before the response reveals the failure. Raises Limited, without counting, if the limit was reached before;
    Unavailable.
    """
    counts = _network_failures(ctx)
    until = await _hit(ctx, counts) if counts else None
    if until is not None:  # defence: O19 last-failure
        raise _limited(ctx, until)


async def reset_failures(ctx: Context, user_id: str) -> None:
    """Reset the failure counters of a user, whose row is locked: for the client's network, and for all networks.

    The counter that the network has for all users together is not reset.
    """
    counts = _failures(ctx, FailureSubject(user_id))
    keys = [count.key for name, count in counts.items() if name != "network_failures"]
    if keys:
        await ctx.port[Counters].reset(ctx.db, keys)


async def record_success(ctx: Context, user_id: str, *, is_first: bool = False) -> None:
    """Reset the failure counters of a user who gets a session now, and store the client's network as known.

    The user's row is locked. `is_first` means that this transaction has created the user, who has no counters yet.
    """
    if not is_first:
        await reset_failures(ctx, user_id)
    if ctx.client.network is None or not ctx.policy[RateLimitPolicy].account_failures.number:
        return
    network = _network(ctx, user_id)[0]
    ctx.db.defer(upsert_known_network(ctx.db.dialect), user_id=user_id, network=network, last_success=ctx.now)


async def may_notify(ctx: Context, recipient: str, *, is_verified: bool) -> bool:
    """Return whether a notice may be sent: always to a verified address; to an unverified one, up to a limit.

    A notice to an unverified address is counted. If the counters are unavailable, it may be sent.
    """
    # An address that was never verified may belong to a person who has nothing to do with the account.
    return is_verified or await may_mail(ctx, NOTICES, recipient)  # defence: V74 notice-mails


async def may_mail(ctx: Context, family: MailFamily, recipient: str) -> bool:
    """Count one email of this family to `recipient`; return whether it may be sent.

    The response must not depend on the result. If the counters are unavailable, the email may be sent.
    """
    return await _count_mail(ctx, family, recipient) is None


async def may_cause(ctx: Context, name: str, user_id: str, quota: Quota) -> bool:
    """Count one email that a user causes to be sent to others; return whether it may be sent.

    `name` and `quota` are those of the limit. If the counters are unavailable, the email may be sent.
    """
    if not quota.number:
        return True
    try:
        return await _hit(ctx, {name: _count(ctx, f"{name} {user_id}", quota)}, user_id=user_id) is None
    except errors.Unavailable:
        return True


async def check_quota(ctx: Context, name: str, user_id: str, quota: Quota) -> None:
    """Count one action of a user for the limit `name`. Raises Limited if `quota` is exceeded; Unavailable."""
    until = await _hit(ctx, {name: _count(ctx, f"{name} {user_id}", quota)}, user_id=user_id)
    if until is not None:
        raise _limited(ctx, until)


async def check_program(ctx: Context, name: str, program_id: str, quota: Quota) -> None:
    """Count one request of a program for the limit `name`. Raises Limited if `quota` is exceeded; Unavailable.

    Do nothing if the number in `quota` is 0.
    """
    if not quota.number:
        return
    until = await _hit(ctx, {name: _count(ctx, f"{name} {program_id}", quota)})
    if until is not None:
        raise _limited(ctx, until)


async def check_network_quota(ctx: Context, name: str, quota: Quota) -> None:
    """Count one action of the client's network for the limit `name`. Do nothing if the network is unknown.

    Raises Limited if `quota` is exceeded; Unavailable.
    """
    # Clients of unknown network are not limited: all would share the counter.
    if ctx.client.network is None:
        return
    until = await _hit(ctx, {name: _count(ctx, f"{name} from {ctx.client.network}", quota)})
    if until is not None:
        raise _limited(ctx, until)


async def check_mail(ctx: Context, family: MailFamily, recipient: str) -> None:
    """Count one email of this family to `recipient`; raise Limited if it may not be sent.

    Use it instead of `may_mail` only where the caller may learn that the limit is reached.
    """
    until = await _count_mail(ctx, family, recipient)
    if until is not None:
        raise _limited(ctx, until)


async def _count_mail(ctx: Context, family: MailFamily, recipient: str) -> datetime | None:
    """Count one email, or return when the next one may be sent."""
    rules = ctx.policy[RateLimitPolicy]
    # defence: V74 daily-mails
    quotas = [("mail_burst", rules.mail_burst), ("mail_daily", rules.mail_daily)]
    if family.is_sign_in:
        # defence: M14 daily-mails
        quotas = [
            ("sign_in_mail_burst", rules.sign_in_mail_burst),
            ("sign_in_mail_daily", rules.sign_in_mail_daily),
        ]
    counts = {
        name: _count(ctx, f"{name} {family.name} {recipient}", quota)
        for name, quota in quotas
        if quota.number
    }
    try:
        return await _hit(ctx, counts) if counts else None
    except errors.Unavailable:
        return None


async def _hit(
    ctx: Context, counts: dict[str, Limit], *, user_id: str | None = None, identifier: str | None = None
) -> datetime | None:
    """Increment every counter, or return when to retry; the hit that reaches a limit is audited."""
    counted = await ctx.port[Counters].hit(ctx.db, list(counts.values()), ctx.now)
    for name, count in counts.items():
        if count.key in counted.filled:
            events.limit_reached(ctx, name, user_id=user_id, identifier=identifier)
    return counted.spent_until


def _failures(ctx: Context, subject: FailureSubject) -> Mapping[str, Limit]:
    """Return the limits that a failure counts towards, by the names of their settings."""
    counts = ctx.failures.get(subject.name)
    if counts is None:
        # Cached, because a sign-in needs them three times, and a keyed digest costs as much as building a statement.
        counts = ctx.failures[subject.name] = _counts_of(ctx, subject)
    return counts


def _counts_of(ctx: Context, subject: FailureSubject) -> dict[str, Limit]:
    """Return the counters of a failure. Clients of unknown network have none by network: all would share it."""
    rules, network = ctx.policy[RateLimitPolicy], ctx.client.network
    # Account and network together, so that a stranger elsewhere does not lock the owner out.
    # defence: V67 network-key
    quotas: dict[str, tuple[str, Quota]] = {"failures": (f"{subject.name} from {network}", rules.failures)}
    if network is not None:  # defence: V66 V67 known-network
        quotas["network_failures"] = (f"anybody from {network}", rules.network_failures)
    quotas[ACCOUNT] = (f"{subject.name} from anywhere", rules.account_failures)  # defence: V69 account-key
    return {name: _count(ctx, text, quota) for name, (text, quota) in quotas.items() if quota.number}


def _network_failures(ctx: Context) -> dict[str, Limit]:
    """Return the counter that all failures of the client's network share; none if the network is unknown."""
    quota, network = ctx.policy[RateLimitPolicy].network_failures, ctx.client.network
    if network is None or not quota.number:
        return {}
    return {"network_failures": _count(ctx, f"anybody from {network}", quota)}


def _count(ctx: Context, text: str, quota: Quota) -> Limit:
    return Limit(ctx.cipher.digests(COUNTER, text)[0], quota.number, quota.window)


async def _is_known(ctx: Context, subject: FailureSubject) -> bool:
    """Return whether the user has signed in from this network recently; an unknown identifier costs the same query."""
    here = _network(ctx, subject.user_id or "")
    if ctx.transaction is None:
        seen = [last for network in here if (last := await ctx.reads.one(LAST_SUCCESS_BY_NETWORK, network))]
    else:
        last_success = select(col(KnownNetwork.last_success)).where(col(KnownNetwork.network).in_(here))
        seen = (await ctx.transaction.execute(last_success)).scalars()
    return any(ctx.now - last < KNOWN_FOR for last in seen)


def _network(ctx: Context, user_id: str) -> list[bytes]:
    """Return the digests of the client's network for the user, one per service key."""
    return ctx.cipher.digests(NETWORK, f"{user_id} {ctx.client.network}")


def _limited(ctx: Context, until: datetime) -> errors.Limited:
    return errors.Limited(retry_after=max(1, math.ceil((until - ctx.now).total_seconds())))
