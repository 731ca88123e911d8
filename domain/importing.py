"""Taking over users of another program: who may come in, and the rows that make them (behaviour 9.3).

No password is hashed and no mail is filed: a user comes with the hash they had, and signs in as they did.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from sqlalchemy import select, tuple_
from sqlmodel import SQLModel, col

from domain import accounts, audit, enrolment, secrets, users
from domain.context import Context
from models import CREDENTIAL, Account, TwoFactor, User

LOOKED_UP_AT_ONCE = 1000
"""Identities in one statement; a database takes some ten thousand values."""

Known = Mapping[str, str]
"""Who has what, by `id …` (the address), and by `email …`, `username …`, `identity …` (the user's id)."""
Earlier = Callable[[Sequence[str]], Known]
"""What rows before this batch claim, of the keys that are asked for, where they were not written (a dry run)."""


class Field(StrEnum):
    """What a user can come without; the names are those of the option `--without`."""

    IMAGE = "image"
    USERNAME = "username"
    PASSWORD = "password"  # noqa: S105 - the name of a field
    TWO_FACTOR = "two-factor"
    ACCOUNTS = "accounts"


class Problem(Exception):
    """Why something is not taken over: a field of the source, and what is wrong with it, without its value."""

    def __init__(self, name: str, reason: str, may_be_left: Field | None = None) -> None:
        """Take the field, the reason, and as what it can be left out, if it can be."""
        super().__init__(f"{name}: {reason}")
        self.name, self.reason, self.may_be_left = name, reason, may_be_left


class Outcome(StrEnum):
    """What becomes of a row."""

    IMPORTED = "imported"
    PRESENT = "present"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Linked:
    """An identity at a provider. Its tokens stay where they are."""

    provider_id: str
    issuer: str
    account_id: str
    scopes: tuple[str, ...] = ()
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class SecondFactor:
    """The secret of an authenticator in base32; without one the user gets codes by mail."""

    secret: str | None = field(repr=False)
    issuer: str | None = None


@dataclass(frozen=True, slots=True)
class Person:
    """One user as they are to be stored; every value keeps the rules of sign-up."""

    id: str
    email: str
    name: str
    email_verified: bool = False
    image: str | None = None
    username: str | None = None
    display_username: str | None = None
    role: str = "user"
    banned: bool = False
    ban_reason: str | None = None
    ban_expires: datetime | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    password: str | None = field(default=None, repr=False)
    """A hash that the service can check."""
    second_factor: SecondFactor | None = None
    accounts: tuple[Linked, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of one user: refused for a problem, or imported without what the problems name."""

    outcome: Outcome
    problems: tuple[Problem, ...] = ()


async def add(
    ctx: Context, batch: Sequence[Person], without: frozenset[Field] = frozenset()
) -> list[Verdict]:
    """Store those who are new, in one transaction, and say of each what became of them; nobody is stored twice.

    Who is there under the same id and address is left as they are. `without` names what a user may come without.
    """
    judged = await _judge(ctx, batch, without, await _known(ctx, batch))
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
    known = {**await _known(ctx, batch), **earlier([key for person in batch for key in _claims(person)])}
    judged = await _judge(ctx, batch, without, known)
    claimed: dict[str, str] = {}
    for person, verdict in judged:
        if verdict.outcome is Outcome.IMPORTED:
            claimed |= _claims(person)
    return [verdict for _, verdict in judged], claimed


async def _judge(
    ctx: Context, batch: Sequence[Person], without: frozenset[Field], known: Known
) -> list[tuple[Person, Verdict]]:
    claimed = dict(known)
    judged = []
    for person in batch:
        settled, verdict = _verdict(person, without, claimed)
        if verdict.outcome is Outcome.IMPORTED:
            claimed |= _claims(settled)
        judged.append((settled, verdict))
    return judged


def _verdict(person: Person, without: frozenset[Field], known: Known) -> tuple[Person, Verdict]:
    """Give the person without what is somebody else's, where that may be left out, and what becomes of them."""
    there = known.get(_id(person.id))
    if there == person.email:
        return person, Verdict(Outcome.PRESENT)
    if there is not None:
        return person, _refused(Problem("id", "belongs to a user with another address"))
    if _email(person.email) in known:
        return person, _refused(Problem("email", "belongs to another user"))
    left: list[Problem] = []
    if person.username is not None and _username(person.username) in known:
        left.append(Problem("username", "belongs to another user", Field.USERNAME))
        person = replace(person, username=None, display_username=None)
    free = tuple(account for account in person.accounts if _identity(account) not in known)
    if free != person.accounts:
        left.append(Problem("accounts", "an identity belongs to another user", Field.ACCOUNTS))
        person = replace(person, accounts=free)
    for problem in left:
        if problem.may_be_left not in without:
            return person, _refused(problem)
    return person, Verdict(Outcome.IMPORTED, tuple(left))


def _refused(problem: Problem) -> Verdict:
    return Verdict(Outcome.REFUSED, (problem,))


def _id(user_id: str) -> str:
    return f"id {user_id}"


def _email(address: str) -> str:
    return f"email {address}"


def _username(name: str) -> str:
    return f"username {name}"


def _identity(account: Linked) -> str:
    return f"identity {account.provider_id} {account.issuer} {account.account_id}"


def _claims(person: Person) -> dict[str, str]:
    """Give all that nobody else may have once this person is there."""
    claims = {_id(person.id): person.email, _email(person.email): person.id}
    if person.username is not None:
        claims[_username(person.username)] = person.id
    return claims | {_identity(account): person.id for account in person.accounts}


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
            known |= {_id(user_id): email, _email(email): user_id}
            if username is not None:
                known[_username(username)] = user_id
    return known | await _known_identities(ctx, [account for person in batch for account in person.accounts])


async def _known_identities(ctx: Context, linked: Sequence[Linked]) -> dict[str, str]:
    identity = (col(Account.provider_id), col(Account.issuer), col(Account.account_id))
    known: dict[str, str] = {}
    for start in range(0, len(linked), LOOKED_UP_AT_ONCE):
        part = linked[start : start + LOOKED_UP_AT_ONCE]
        wanted = [(account.provider_id, account.issuer, account.account_id) for account in part]
        found = select(*identity, col(Account.user_id)).where(tuple_(*identity).in_(wanted))
        for provider_id, issuer, account_id, user_id in (await ctx.db.execute(found)).all():
            known[_identity(Linked(provider_id, issuer, account_id))] = user_id
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
