"""Parsing and validation of one user in the format of docs/pages/guides/import.md, by the rules of sign-up.

Every source yields its users in this format. A value may be a `Problem` that its source has found; it is raised when
the field is read.
"""

import base64
import binascii
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TypeVar

from domain import identifiers, localization, tokens
from domain.admin import operator
from domain.api_keys.policy import DEFAULT
from domain.data_import.eligibility import Field, ImportedUser, Linked, Problem, SecondFactor, WeakHash
from domain.errors import Refusal
from domain.users import roles
from models import CREDENTIAL
from server.crypto import imported_secrets
from server.database.compile import is_storable
from server.importers import api_keys, passkeys, values
from server.importers.values import Fields

Value = TypeVar("Value")

NAMES = frozenset(
    {
        "id", "email", "emailVerified", "name", "image", "username", "displayUsername", "role", "banned", "banReason",
        "banExpires", "locale", "createdAt", "updatedAt", "passwordHash", "twoFactor", "accounts", "apiKeys",
        "passkeys",
    }
)  # fmt: skip
ACCOUNT_NAMES = frozenset({"providerId", "issuer", "accountId", "scopes", "createdAt"})
TWO_FACTOR_NAMES = frozenset({"secret", "issuer"})

NAMELESS: tuple[str | None, str | None] = (None, None)
ACCOUNTS_AT_MOST = 100
LONGEST_SUBJECT = 255
LONGEST_SCOPE = 256
LONGEST_ROLES = 2**16
"""The longest list of roles in characters: users of other programs may have hundreds of roles."""
TOTP_BYTES = range(10, 129)


@dataclass(frozen=True, slots=True)
class Rules:
    """The settings and options of an import, which apply to every row."""

    now: datetime
    issuers: Mapping[str, str | None]
    """The configured providers by id, with the issuer of their identities; None if only the provider knows it."""
    mails_codes: bool
    """Whether users with email codes as second factor are accepted: without a sender they could never sign in."""
    origin: str
    """The name of the source program. An id that cannot be kept is replaced by one derived from it and this name."""
    kinds: frozenset[str] = frozenset({DEFAULT})
    """The configured kinds of API keys of users."""
    organization_kinds: frozenset[str] = frozenset()
    """The configured kinds of API keys of organizations."""
    organization_roles: frozenset[str] = frozenset()
    """The configured roles of members of organizations."""
    roles: frozenset[str] = frozenset()
    """The roles that users may get: the default one, and those that the operator names."""
    rp_id: str = ""
    """The relying party id of passkeys that have none of their own."""
    without: frozenset[Field] = frozenset()
    without_providers: frozenset[str] = frozenset()


@dataclass(slots=True)
class Parts:
    """Reads the parts of a user or an organization. A part with a problem is left out if `rules.without` allows it."""

    rules: Rules
    left: list[Problem]

    def one(self, take: Callable[[], Value], default: Value) -> Value:
        """Return the part that `take` reads, or `default` if it is left out. Raises Problem if it must not be."""
        try:
            return take()
        except Problem as problem:
            if problem.may_be_left not in self.rules.without:
                raise
            self.left.append(problem)
            return default

    def each(self, tables: Sequence[Fields], take: Callable[[Fields, Rules], Value]) -> tuple[Value, ...]:
        """Return the parts that `take` reads from the items of a list, without those that are left out.

        Raises Problem if one must not be left out.
        """
        taken = (self.one(partial(take, table, self.rules), None) for table in tables)
        return tuple(part for part in taken if part is not None)


def read(fields: Fields, rules: Rules, fallback_id: str) -> tuple[ImportedUser, tuple[Problem, ...]]:
    """Return the user in these fields, and the problems of parts that are left out.

    `fallback_id` is used for a user without an id, so that a repeated import recognizes the user. Raises Problem if the
    whole user is refused.
    """
    values.refuse_unknown(fields, NAMES)
    parts = Parts(rules, [])
    if values.present(fields, "email") is None:
        raise Problem("email", "is missing")
    email = values.email(fields, Problem("email", "is not a valid email address"))
    username, display_username = parts.one(lambda: _usernames(fields), NAMELESS)
    password = parts.one(lambda: _password(fields), None)
    user = ImportedUser(
        id=id_of(fields.get("id"), rules.origin, fallback_id),
        email=email,
        email_verified=values.flag(fields, "emailVerified"),
        name=_name(fields, email),
        image=parts.one(lambda: values.image(fields, "image"), None),
        username=username,
        display_username=display_username,
        role=_role(fields, parts),
        banned=values.flag(fields, "banned"),
        ban_reason=values.text(fields, "banReason", operator.LONGEST_REASON),
        ban_expires=values.instant(fields, "banExpires"),
        locale=localization.supported(values.text(fields, "locale", LONGEST_SUBJECT)),
        created_at=values.past(fields, "createdAt", rules.now),
        updated_at=values.past(fields, "updatedAt", rules.now),
        password=password if isinstance(password, str) else None,
        weak_hash=password if isinstance(password, WeakHash) else None,
        second_factor=parts.one(lambda: _second_factor(fields, rules), None),
        accounts=parts.one(lambda: _accounts(fields, parts), ()),
        api_keys=parts.one(lambda: api_keys.read(fields, rules.kinds, rules.now), ()),
        passkeys=parts.one(lambda: passkeys.read(fields, rules.rp_id, rules.now), ()),
    )
    return user, tuple(parts.left)


def id_of(value: object, origin: str, fallback: str) -> str:
    """Return an id of 32 letters and digits: `value` itself if it is such an id or a UUID, else one derived from it.

    Without `value`, the id is derived from `fallback`. Usernames are shorter than ids, so that commands, which accept
    either, find one user at most.
    """
    if isinstance(value, Problem):
        raise value
    if value is None or value == "":
        return _derived(f"{origin} {fallback}")
    if isinstance(value, bool) or not isinstance(value, str | int | uuid.UUID):
        raise Problem("id", "must be text or a whole number")
    text = str(value)
    if len(text) > LONGEST_SUBJECT or not is_storable(text):
        raise Problem("id", f"must be text of at most {LONGEST_SUBJECT} characters without U+0000")
    # An id in the form of this service is kept, so that references in applications stay valid.
    if tokens.is_token(text):
        return text
    return _uuid_digits(text) or _derived(f"{origin} id {text}")


def _uuid_digits(text: str) -> str | None:
    try:
        parsed = uuid.UUID(text)
    except ValueError:
        return None
    # `uuid.UUID` also accepts braces, `urn:uuid:` and missing hyphens; such ids may be other users in the source.
    return parsed.hex if str(parsed) == text.lower() else None


def _derived(name: str) -> str:
    return tokens.digest(name).hex()[:32]


def _name(fields: Fields, email: str) -> str:
    name = values.line(fields, "name")
    return email.partition("@")[0] if name is None else name


def _role(fields: Fields, parts: Parts) -> str | None:
    """Return the roles that the operator has named; None for the default role."""
    names = [name for name in roles.parse(values.text(fields, "role", LONGEST_ROLES) or "") if name]
    kept = [name for name in names if name in parts.rules.roles]  # defence: ADM27 named-roles
    if len(kept) > roles.MOST_ROLES:
        raise Problem("role", f"has more than {roles.MOST_ROLES} roles")
    for name in names:
        if name not in kept:
            parts.left.append(Problem("role", f"{values.shown(name)} is not named with --role"))
    return ",".join(kept) or None


def _usernames(fields: Fields) -> tuple[str | None, str | None]:
    username = values.text(fields, "username", LONGEST_SUBJECT, Field.USERNAME)
    shown = values.text(fields, "displayUsername", LONGEST_SUBJECT, Field.USERNAME)
    if shown is None:
        shown = username
    try:
        return (
            None if username is None else identifiers.username(username),
            None if shown is None else identifiers.display_username(shown),
        )
    except Refusal as refusal:
        raise Problem("username", f"is not accepted: {refusal.message}", Field.USERNAME) from None


def _password(fields: Fields) -> str | WeakHash | None:
    text = values.text(fields, "passwordHash", imported_secrets.LONGEST, Field.PASSWORD)
    return None if text is None else imported_secrets.accepted(text)


def _second_factor(fields: Fields, rules: Rules) -> SecondFactor | None:
    value = values.present(fields, "twoFactor")
    if value is None:
        return None
    table = values.table(value, "twoFactor", TWO_FACTOR_NAMES, Field.TWO_FACTOR)
    issuer = values.text(table, "issuer", identifiers.ISSUER_LENGTH, Field.TWO_FACTOR)
    if issuer is not None and not identifiers.is_issuer(issuer):
        raise Problem("twoFactor", "the issuer contains a colon or control characters", Field.TWO_FACTOR)
    secret = _totp_secret(values.text(table, "secret", LONGEST_SUBJECT, Field.TWO_FACTOR))
    if secret is None and not rules.mails_codes:
        raise Problem("twoFactor", "has no secret, and email codes are not available", Field.TWO_FACTOR)
    return SecondFactor(secret, issuer)


def _totp_secret(text: str | None) -> str | None:
    """Return a base32 secret as it is stored: upper case, without padding and spaces."""
    if text is None:
        return None
    secret = text.replace(" ", "").upper().rstrip("=")
    try:
        length = len(base64.b32decode(secret + "=" * (-len(secret) % 8)))
    except (binascii.Error, ValueError):
        raise Problem("twoFactor", "the secret is not base32", Field.TWO_FACTOR) from None
    if length not in TOTP_BYTES:
        raise Problem("twoFactor", "the secret does not have 10 to 128 bytes", Field.TWO_FACTOR)
    return secret


def _accounts(fields: Fields, parts: Parts) -> tuple[Linked, ...]:
    linked = []
    for table in values.tables(fields, "accounts", ACCOUNTS_AT_MOST, ACCOUNT_NAMES, Field.ACCOUNTS):
        provider_id = values.text(table, "providerId", LONGEST_SUBJECT, Field.ACCOUNTS)
        if provider_id in parts.rules.without_providers:
            parts.left.append(Problem("accounts", f"{provider_id} is left out"))
        else:
            linked.append(_linked(table, provider_id, parts.rules))
    if len({(each.provider_id, each.issuer, each.account_id) for each in linked}) < len(linked):
        raise Problem("accounts", "contains an identity twice", Field.ACCOUNTS)
    return tuple(linked)


def _linked(table: Fields, provider_id: str | None, rules: Rules) -> Linked:
    if not provider_id or not identifiers.is_name(provider_id) or provider_id == CREDENTIAL:
        raise Problem("accounts", "needs the providerId of a provider", Field.ACCOUNTS)
    if provider_id not in rules.issuers:
        raise Problem("accounts", f"{provider_id[:64]} is not a configured provider", Field.ACCOUNTS)
    issuer = values.text(table, "issuer", values.LONGEST_URL, Field.ACCOUNTS)
    if issuer is None:
        issuer = rules.issuers[provider_id]
    if issuer is None:
        raise Problem("accounts", f"the settings contain no issuer for {provider_id}", Field.ACCOUNTS)
    return Linked(
        provider_id, issuer, _subject(table), _scopes(table), values.past(table, "createdAt", rules.now)
    )


def _subject(table: Fields) -> str:
    subject = values.text(table, "accountId", LONGEST_SUBJECT, Field.ACCOUNTS)
    if not subject or not subject.isprintable():
        raise Problem("accounts", "needs an accountId of printable characters", Field.ACCOUNTS)
    return subject


def _scopes(table: Fields) -> tuple[str, ...]:
    value = values.present(table, "scopes")
    if value is None:
        return ()
    if not isinstance(value, list) or not all(_is_scope(scope) for scope in value):
        raise Problem("accounts", "has scopes that are not a list of words", Field.ACCOUNTS)
    return tuple(dict.fromkeys(value))


def _is_scope(value: object) -> bool:
    if not isinstance(value, str) or not 0 < len(value) <= LONGEST_SCOPE:
        return False
    return value.isascii() and value.isprintable() and " " not in value
