"""Store imported users: look up conflicting unique keys, and insert the rows of each user.

No password is hashed here and no email is queued: users keep the imported hash, and sign in with the same password.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict

from sqlalchemy import func, select, tuple_
from sqlalchemy.exc import IntegrityError
from sqlmodel import SQLModel, col

from domain import tokens
from domain.accounts import accounts
from domain.context import Context, StaleRead
from domain.data_import.eligibility import (
    Eligibility,
    Field,
    ImportedKey,
    ImportedPasskey,
    ImportedUser,
    Known,
    Linked,
    Outcome,
    SecondFactor,
    check,
    claims_of,
    credential_key,
    digest_key,
    email_key,
    id_key,
    identity_key,
    username_key,
)
from domain.two_factor import enrolment
from domain.two_factor.policy import TwoFactorPolicy
from domain.users import events as user_events
from domain.users.policy import RolePolicy
from models import CREDENTIAL, Account, TwoFactor, User
from models.api_key import ApiKey
from models.passkey import Passkey
from models.statements import insert, values_of

LOOKED_UP_AT_ONCE = 1000
"""The maximum number of identities in one statement; a database accepts some ten thousand values."""

Earlier = Callable[[Sequence[str]], Known]
"""Returns which of these keys of `Known` earlier calls of a dry run, which store nothing, would have taken."""


async def add(
    ctx: Context, batch: Sequence[ImportedUser], without: frozenset[Field] = frozenset()
) -> list[Eligibility]:
    """Store new users in one transaction and return the outcome of each; no user is stored twice.

    A stored user with the same id and email is left unchanged. `without` names the parts that may be left out.
    """
    checked = check(batch, without, await _known(ctx, batch))
    accepted = [user for user, verdict in checked if verdict.outcome is Outcome.IMPORTED]
    # Users first, because the rows of the other tables refer to them.
    await insert_all(ctx, [_user(ctx, user) for user in accepted])
    await insert_all(ctx, [row for user in accepted for row in _belongings(ctx, user)])
    for user in accepted:
        user_events.user_imported(ctx, user.id)
    return [verdict for _, verdict in checked]


async def insert_all(ctx: Context, rows: Sequence[SQLModel]) -> None:
    """Store rows. If another transaction stored the same unique value first, the job is run again."""
    for model in {type(row) for row in rows}:
        values = [values_of(row) for row in rows if type(row) is model]
        try:
            await ctx.db.execute_many(insert(model), values)
        except IntegrityError as collision:
            raise StaleRead from collision


async def dry_run(
    ctx: Context, batch: Sequence[ImportedUser], without: frozenset[Field], earlier: Earlier
) -> tuple[list[Eligibility], Known]:
    """Return what `add` would return, and the entries of `Known` that this batch would take; store nothing.

    `earlier` returns what earlier batches of the dry run have taken, as if it were stored.
    """
    known = {**await _known(ctx, batch), **earlier([key for user in batch for key in claims_of(user)])}
    checked = check(batch, without, known)
    claimed: dict[str, str] = {}
    for user, verdict in checked:
        if verdict.outcome is Outcome.IMPORTED:
            claimed |= claims_of(user)
    return [verdict for _, verdict in checked], claimed


async def _known(ctx: Context, batch: Sequence[ImportedUser]) -> dict[str, str]:
    """Return which keys of a batch are already taken."""
    known: dict[str, str] = {}
    for column, values in (
        (User.id, {user.id for user in batch}),
        (User.email, {user.email for user in batch}),
        (User.username, {user.username for user in batch} - {None}),
    ):
        statement = select(col(User.id), col(User.email), col(User.username)).where(col(column).in_(values))
        for user_id, email, username in await ctx.db.execute(statement):
            known |= {id_key(user_id): email, email_key(email): user_id}
            if username is not None:
                known[username_key(username)] = user_id
    known |= await known_keys(ctx, [key.digest for user in batch for key in user.api_keys])
    known |= await _known_credentials(ctx, [each.credential_id for user in batch for each in user.passkeys])
    return known | await _known_identities(ctx, [account for user in batch for account in user.accounts])


async def known_keys(ctx: Context, digests: Sequence[bytes]) -> dict[str, str]:
    """Return the entries of `Known` for the API keys with these digests that exist."""
    known: dict[str, str] = {}
    for start in range(0, len(digests), LOOKED_UP_AT_ONCE):
        matches = col(ApiKey.digest).in_(digests[start : start + LOOKED_UP_AT_ONCE])
        owner = func.coalesce(col(ApiKey.user_id), col(ApiKey.organization_id))
        for digest, owner_id in await ctx.db.execute(select(col(ApiKey.digest), owner).where(matches)):
            known[digest_key(ImportedKey(digest, ""))] = owner_id
    return known


async def _known_credentials(ctx: Context, credential_ids: Sequence[bytes]) -> dict[str, str]:
    known: dict[str, str] = {}
    for start in range(0, len(credential_ids), LOOKED_UP_AT_ONCE):
        matches = col(Passkey.credential_id).in_(credential_ids[start : start + LOOKED_UP_AT_ONCE])
        for credential_id, user_id in await ctx.db.execute(
            select(col(Passkey.credential_id), col(Passkey.user_id)).where(matches)
        ):
            known[credential_key(credential_id)] = user_id
    return known


async def _known_identities(ctx: Context, linked: Sequence[Linked]) -> dict[str, str]:
    identity = (col(Account.provider_id), col(Account.issuer), col(Account.account_id))
    known: dict[str, str] = {}
    for start in range(0, len(linked), LOOKED_UP_AT_ONCE):
        accounts = linked[start : start + LOOKED_UP_AT_ONCE]
        identities = [(account.provider_id, account.issuer, account.account_id) for account in accounts]
        statement = select(*identity, col(Account.user_id)).where(tuple_(*identity).in_(identities))
        for provider_id, issuer, account_id, user_id in await ctx.db.execute(statement):
            known[identity_key(Linked(provider_id, issuer, account_id))] = user_id
    return known


def _user(ctx: Context, user: ImportedUser) -> User:
    return User(
        id=user.id,
        name=user.name,
        email=user.email,
        email_verified=user.email_verified,
        image=user.image,
        username=user.username,
        display_username=user.display_username,
        two_factor_enabled=user.second_factor is not None,
        role=user.role or ctx.policy[RolePolicy].default_role,
        banned=user.banned,
        ban_reason=user.ban_reason,
        ban_expires=user.ban_expires,
        locale=user.locale,
        created_at=user.created_at or ctx.now,
        updated_at=user.updated_at or ctx.now,
    )


def _belongings(ctx: Context, user: ImportedUser) -> Iterable[SQLModel]:
    """Yield the user's rows in other tables: password, identities, keys, passkeys, second factor."""
    if user.password is not None:
        credential = _account(ctx, user, Linked(CREDENTIAL, "", user.id))
        credential.password = user.password
        yield credential
    for linked in user.accounts:
        yield _account(ctx, user, linked)
    for key in user.api_keys:
        yield _api_key(ctx, user, key)
    for passkey in user.passkeys:
        yield _passkey(ctx, user, passkey)
    if user.second_factor is not None:
        yield _two_factor(ctx, user.id, user.second_factor)


def _account(ctx: Context, user: ImportedUser, linked: Linked) -> Account:
    return Account(
        id=tokens.token(),
        user_id=user.id,
        provider_id=linked.provider_id,
        issuer=linked.issuer,
        account_id=linked.account_id,
        scope=" ".join(linked.scopes[: accounts.SCOPES_AT_MOST]) or None,
        created_at=linked.created_at or user.created_at or ctx.now,
        updated_at=ctx.now,
    )


def _api_key(ctx: Context, user: ImportedUser, key: ImportedKey) -> ApiKey:
    columns = {**asdict(key), "created_at": key.created_at or ctx.now}
    return ApiKey(id=tokens.token(), user_id=user.id, updated_at=ctx.now, **columns)


def _passkey(ctx: Context, user: ImportedUser, passkey: ImportedPasskey) -> Passkey:
    columns = {**asdict(passkey), "created_at": passkey.created_at or ctx.now}
    return Passkey(id=tokens.token(), user_id=user.id, updated_at=ctx.now, **columns)


def _two_factor(ctx: Context, user_id: str, second_factor: SecondFactor) -> TwoFactor:
    row = TwoFactor(user_id=user_id, created_at=ctx.now, updated_at=ctx.now)
    if second_factor.secret is not None:
        row.secret = ctx.cipher.encrypt(enrolment.SECRET, second_factor.secret)
        row.issuer = second_factor.issuer or ctx.policy[TwoFactorPolicy].issuer
        # The other program has already required codes of it.
        row.confirmed = True
    return row
