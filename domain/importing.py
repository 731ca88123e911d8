"""Taking over users of another program: what of theirs is somebody's already, and the rows that make them.

No password is hashed and no mail is filed: a user comes with the hash they had, and signs in as they did.
"""

from collections.abc import Callable, Iterable, Sequence

from sqlalchemy import select, tuple_
from sqlmodel import SQLModel, col

from domain import accounts, audit, enrolment, secrets, users
from domain.context import Context
from domain.newcomers import (
    Field,
    Known,
    Linked,
    Outcome,
    Person,
    SecondFactor,
    Verdict,
    claims_of,
    email_key,
    id_key,
    identity_key,
    judge,
    username_key,
)
from models import CREDENTIAL, Account, TwoFactor, User

LOOKED_UP_AT_ONCE = 1000
"""Identities in one statement; a database takes some ten thousand values."""

Earlier = Callable[[Sequence[str]], Known]
"""What rows before this batch claim, of the keys that are asked for, where they were not written (a dry run)."""


async def add(
    ctx: Context, batch: Sequence[Person], without: frozenset[Field] = frozenset()
) -> list[Verdict]:
    """Store those who are new, in one transaction, and say of each what became of them; nobody is stored twice.

    Who is there under the same id and address is left as they are. `without` names what a user may come without.
    """
    judged = judge(batch, without, await _known(ctx, batch))
    accepted = [person for person, verdict in judged if verdict.outcome is Outcome.IMPORTED]
    ctx.db.add_all(_user(ctx, person) for person in accepted)
    await users.flush(ctx)
    for person in accepted:
        ctx.db.add_all(_belongings(ctx, person))
        audit.user_created(ctx, person.id, "import", by_operator=True)
    await users.flush(ctx)
    return [verdict for _, verdict in judged]


async def rehearse(
    ctx: Context, batch: Sequence[Person], without: frozenset[Field], earlier: Earlier
) -> tuple[list[Verdict], Known]:
    """Say what `add` would do if everything accepted before were stored; give what this batch would claim, too."""
    known = {**await _known(ctx, batch), **earlier([key for person in batch for key in claims_of(person)])}
    judged = judge(batch, without, known)
    claimed: dict[str, str] = {}
    for person, verdict in judged:
        if verdict.outcome is Outcome.IMPORTED:
            claimed |= claims_of(person)
    return [verdict for _, verdict in judged], claimed


async def _known(ctx: Context, batch: Sequence[Person]) -> dict[str, str]:
    """Give which of the things in a batch somebody has already."""
    known: dict[str, str] = {}
    for column, wanted in (
        (User.id, {person.id for person in batch}),
        (User.email, {person.email for person in batch}),
        (User.username, {person.username for person in batch} - {None}),
    ):
        found = select(col(User.id), col(User.email), col(User.username)).where(col(column).in_(wanted))
        for user_id, email, username in (await ctx.db.execute(found)).all():
            known |= {id_key(user_id): email, email_key(email): user_id}
            if username is not None:
                known[username_key(username)] = user_id
    return known | await _known_identities(ctx, [account for person in batch for account in person.accounts])


async def _known_identities(ctx: Context, linked: Sequence[Linked]) -> dict[str, str]:
    identity = (col(Account.provider_id), col(Account.issuer), col(Account.account_id))
    known: dict[str, str] = {}
    for start in range(0, len(linked), LOOKED_UP_AT_ONCE):
        part = linked[start : start + LOOKED_UP_AT_ONCE]
        wanted = [(account.provider_id, account.issuer, account.account_id) for account in part]
        found = select(*identity, col(Account.user_id)).where(tuple_(*identity).in_(wanted))
        for provider_id, issuer, account_id, user_id in (await ctx.db.execute(found)).all():
            known[identity_key(Linked(provider_id, issuer, account_id))] = user_id
    return known


def _user(ctx: Context, person: Person) -> User:
    return User(
        id=person.id,
        name=person.name,
        email=person.email,
        email_verified=person.email_verified,
        image=person.image,
        username=person.username,
        display_username=person.display_username,
        two_factor_enabled=person.second_factor is not None,
        role=person.role,
        banned=person.banned,
        ban_reason=person.ban_reason,
        ban_expires=person.ban_expires,
        created_at=person.created_at or ctx.now,
        updated_at=person.updated_at or ctx.now,
    )


def _belongings(ctx: Context, person: Person) -> Iterable[SQLModel]:
    """Give the rows that hang on the user: password, identities, second factor."""
    if person.password is not None:
        credential = _account(ctx, person, Linked(CREDENTIAL, "", person.id))
        credential.password = person.password
        yield credential
    for linked in person.accounts:
        yield _account(ctx, person, linked)
    if person.second_factor is not None:
        yield _two_factor(ctx, person.id, person.second_factor)


def _account(ctx: Context, person: Person, linked: Linked) -> Account:
    return Account(
        id=secrets.token(),
        user_id=person.id,
        provider_id=linked.provider_id,
        issuer=linked.issuer,
        account_id=linked.account_id,
        scope=" ".join(linked.scopes[: accounts.SCOPES_AT_MOST]) or None,
        created_at=linked.created_at or person.created_at or ctx.now,
        updated_at=ctx.now,
    )


def _two_factor(ctx: Context, user_id: str, second_factor: SecondFactor) -> TwoFactor:
    row = TwoFactor(user_id=user_id, created_at=ctx.now, updated_at=ctx.now)
    if second_factor.secret is not None:
        row.secret = ctx.cipher.encrypt(enrolment.SECRET, second_factor.secret)
        row.issuer = second_factor.issuer or ctx.policy.two_factor.issuer
        row.confirmed = True
    return row
