"""Check which users of another program can be imported."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import TypeVar

Part = TypeVar("Part")
Known = Mapping[str, str]
"""The unique values that are taken, as the keys that `id_key`, `email_key` and similar functions return.

The value of a key is the id of the owner, except that `id …` has the email address of the user, and `organization …`
the slug of the organization.
"""


class Field(StrEnum):
    """The parts that may be left out of an imported user or organization, by their names in the option `--without`."""

    IMAGE = "image"
    USERNAME = "username"
    PASSWORD = "password"  # noqa: S105 - the name of a field
    TWO_FACTOR = "two-factor"
    ACCOUNTS = "accounts"
    API_KEYS = "api-keys"
    PASSKEYS = "passkeys"
    MEMBERS = "members"
    TEAMS = "teams"
    INVITATIONS = "invitations"
    METADATA = "metadata"


class Problem(Exception):
    """Why a user or organization cannot be imported as it is: the field of the source and the reason, but no value."""

    def __init__(
        self, name: str, reason: str, may_be_left: Field | None = None, owner: str | None = None
    ) -> None:
        """Set the field, the reason, and the part without which an import is possible, None if there is none.

        `owner` is the id of the user or organization that already has the value, None if the reason is another one.
        """
        super().__init__(f"{name}: {reason}")
        self.name, self.reason, self.may_be_left, self.owner = name, reason, may_be_left, owner


class Outcome(StrEnum):
    """The outcome for one user or organization; `PRESENT` means that it was stored before, and stays unchanged."""

    IMPORTED = "imported"
    PRESENT = "present"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Linked:
    """An identity at a provider. Its tokens are not imported."""

    provider_id: str
    issuer: str
    account_id: str
    scopes: tuple[str, ...] = ()
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class SecondFactor:
    """The secret of an authenticator in base32; None for a user with email codes."""

    secret: str | None = field(repr=False)
    issuer: str | None = None


@dataclass(frozen=True, slots=True)
class WeakHash:
    """A fast hash of a password, such as MD5. It is not stored itself: what is stored is an argon2id hash of it."""

    scheme: str
    """The algorithm and its public parameters, in the form of `server.crypto.weak_hashes`."""
    digest: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class ImportedKey:
    """An API key. Programs continue to use its text; only the digest is imported."""

    digest: bytes = field(repr=False)
    kind: str
    name: str | None = None
    prefix: str | None = None
    start: str | None = None
    enabled: bool = True
    expires_at: datetime | None = None
    last_request: datetime | None = None
    remaining: int | None = None
    refill_amount: int | None = None
    refill_interval_ms: int | None = None
    last_refill_at: datetime | None = None
    rate_limit_enabled: bool = False
    rate_limit_window_ms: int = 60_000
    rate_limit_max: int = 600
    permissions: str | None = None
    """As JSON."""
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ImportedPasskey:
    """A passkey; the authenticator keeps its private key."""

    credential_id: bytes
    public_key: bytes
    algorithm: int
    counter: int
    device_type: str
    backed_up: bool
    rp_id: str
    name: str | None = None
    transports: str | None = None
    aaguid: str | None = None
    user_handle: bytes | None = None
    """The user handle; None if it is not known, so that it is not compared at sign-in."""
    last_used_at: datetime | None = None
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ImportedUser:
    """One user to store; every value satisfies the rules of sign-up."""

    id: str
    email: str
    name: str
    email_verified: bool = False
    image: str | None = None
    username: str | None = None
    display_username: str | None = None
    role: str | None = None
    """None for the default role."""
    banned: bool = False
    ban_reason: str | None = None
    ban_expires: datetime | None = None
    locale: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    password: str | None = field(default=None, repr=False)
    """A hash that the service can check."""
    weak_hash: WeakHash | None = None
    """A fast hash of the password; it is replaced by `password` before the user is stored."""
    second_factor: SecondFactor | None = None
    accounts: tuple[Linked, ...] = ()
    api_keys: tuple[ImportedKey, ...] = ()
    passkeys: tuple[ImportedPasskey, ...] = ()


@dataclass(frozen=True, slots=True)
class Eligibility:
    """The outcome for one user or organization. `problems` say why it is refused, or why parts are left out."""

    outcome: Outcome
    problems: tuple[Problem, ...] = ()


def check(
    batch: Sequence[ImportedUser], without: frozenset[Field], known: Known
) -> list[tuple[ImportedUser, Eligibility]]:
    """Return each user, without the parts whose unique values are taken, and the outcome.

    `without` names the parts that may be left out; a user with a conflict in another part is refused. `known` are the
    values that stored users have taken.
    """
    claimed = dict(known)
    checked = []
    for user in batch:
        settled, verdict = _verdict(user, without, claimed)
        if verdict.outcome is Outcome.IMPORTED:
            # Users of the same batch can also conflict with one another.
            claimed |= claims_of(settled)
        checked.append((settled, verdict))
    return checked


def _verdict(user: ImportedUser, without: frozenset[Field], known: Known) -> tuple[ImportedUser, Eligibility]:
    """Return the user without the conflicting parts that may be left out, and the outcome."""
    # The same user again: an import that was interrupted is simply repeated.
    there = known.get(id_key(user.id))
    if there == user.email:
        return user, Eligibility(Outcome.PRESENT)
    if there is not None:
        return user, _refused(Problem("id", "belongs to a user with another email address"))
    # Not a part that may be left out, because every user has an email address.
    if (key := email_key(user.email)) in known:
        return user, _refused(Problem("email", "belongs to another user", owner=known[key]))
    left: list[Problem] = []
    if user.username is not None and (key := username_key(user.username)) in known:
        left.append(Problem("username", "belongs to another user", Field.USERNAME, known[key]))
        user = replace(user, username=None, display_username=None)
    accounts, taken = _free(known, user.accounts, identity_key)
    if taken:
        left.append(Problem("accounts", "an identity belongs to another user", Field.ACCOUNTS, taken[0]))
        user = replace(user, accounts=accounts)
    api_keys, taken = _free(known, user.api_keys, digest_key)
    if taken:
        left.append(Problem("apiKeys", "a key belongs to another user", Field.API_KEYS, taken[0]))
        user = replace(user, api_keys=api_keys)
    passkeys, taken = _free(known, user.passkeys, lambda each: credential_key(each.credential_id))
    if taken:
        left.append(Problem("passkeys", "a credential belongs to another user", Field.PASSKEYS, taken[0]))
        user = replace(user, passkeys=passkeys)
    for problem in left:
        if problem.may_be_left not in without:
            return user, _refused(problem)
    return user, Eligibility(Outcome.IMPORTED, tuple(left))


def _free(
    known: Known, parts: Sequence[Part], key_of: Callable[[Part], str]
) -> tuple[tuple[Part, ...], list[str]]:
    """Return the parts whose keys are free, and the owners of the others."""
    owners = [known[key] for key in map(key_of, parts) if key in known]
    return tuple(part for part in parts if key_of(part) not in known), owners


def _refused(problem: Problem) -> Eligibility:
    return Eligibility(Outcome.REFUSED, (problem,))


def id_key(user_id: str) -> str:
    """Return the key of a user's id in `Known`."""
    return f"id {user_id}"


def email_key(address: str) -> str:
    """Return the key of an email address in `Known`."""
    return f"email {address}"


def username_key(name: str) -> str:
    """Return the key of a username in `Known`."""
    return f"username {name}"


def identity_key(account: Linked) -> str:
    """Return the key of an identity at a provider in `Known`."""
    return f"identity {account.provider_id} {account.issuer} {account.account_id}"


def digest_key(key: ImportedKey) -> str:
    """Return the key of an API key in `Known`."""
    return f"key {key.digest.hex()}"


def credential_key(credential_id: bytes) -> str:
    """Return the key of a passkey in `Known`."""
    return f"passkey {credential_id.hex()}"


def claims_of(user: ImportedUser) -> dict[str, str]:
    """Return the entries of `Known` for all unique values of this user."""
    claims = {id_key(user.id): user.email, email_key(user.email): user.id}
    if user.username is not None:
        claims[username_key(user.username)] = user.id
    claims |= {digest_key(key): user.id for key in user.api_keys}
    claims |= {credential_key(each.credential_id): user.id for each in user.passkeys}
    return claims | {identity_key(account): user.id for account in user.accounts}
