"""One user in the format of docs/pages/guides/import.md, read and held against the rules of sign-up.

Every source gives its users in this format, so that there is one place that judges them. A value may be a `Problem`
that its source has found; it is raised where the field is read.
"""

import base64
import binascii
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from domain import identifiers, secrets
from domain.errors import Refusal
from domain.importing import Field, Linked, Person, Problem, SecondFactor
from models import CREDENTIAL
from server.importing import hashes
from server.reads.plans import is_storable

Value = TypeVar("Value")
Fields = Mapping[str, object]

NAMES = frozenset(
    {
        "id", "email", "emailVerified", "name", "image", "username", "displayUsername", "role", "banned", "banReason",
        "banExpires", "createdAt", "updatedAt", "passwordHash", "twoFactor", "accounts",
    }
)  # fmt: skip
ACCOUNT_NAMES = frozenset({"providerId", "issuer", "accountId", "scopes", "createdAt"})
TWO_FACTOR_NAMES = frozenset({"secret", "issuer"})

NAMELESS: tuple[str | None, str | None] = (None, None)
ACCOUNTS_AT_MOST = 100
LONGEST_SUBJECT = 255
LONGEST_ISSUER = 2048
LONGEST_SCOPE = 256
LONGEST_REASON = 1024
TOTP_BYTES = range(10, 129)
CLOCKS_APART = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Rules:
    """What a row is held against."""

    now: datetime
    issuers: Mapping[str, str | None]
    """The configured providers by id: the issuer of an identity there, None where only the provider knows it."""
    origin: str
    """Where the users come from; ids that cannot stay as they are, are made of it and of the id."""
    without: frozenset[Field] = frozenset()
    without_providers: frozenset[str] = frozenset()


def read(fields: Fields, rules: Rules, fallback_id: str) -> tuple[Person, tuple[Problem, ...]]:
    """Give the user, and what they come without. Raises Problem for one who is refused.

    `fallback_id` is what a user without an id is known by, so that they are known again.
    """
    _refuse_unknown(fields, NAMES, "")
    left: list[Problem] = []

    def optional(take: Callable[[], Value], default: Value) -> Value:
        try:
            return take()
        except Problem as problem:
            if problem.may_be_left not in rules.without:
                raise
            left.append(problem)
            return default

    email = _email(fields)
    username, display_username = optional(lambda: _usernames(fields), NAMELESS)
    person = Person(
        id=_id(fields.get("id"), rules.origin, fallback_id),
        email=email,
        email_verified=_flag(fields, "emailVerified"),
        name=_name(fields, email),
        image=optional(lambda: _image(fields), None),
        username=username,
        display_username=display_username,
        role=_line(fields, "role") or "user",
        banned=_flag(fields, "banned"),
        ban_reason=_text(fields, "banReason", LONGEST_REASON),
        ban_expires=_instant(fields, "banExpires"),
        created_at=_past(fields, "createdAt", rules.now),
        updated_at=_past(fields, "updatedAt", rules.now),
        password=optional(lambda: _password(fields), None),
        second_factor=optional(lambda: _second_factor(fields), None),
        accounts=optional(lambda: _accounts(fields, rules), ()),
    )
    return person, tuple(left)


def _refuse_unknown(fields: Iterable[str], known: frozenset[str], prefix: str) -> None:
    unknown = sorted(set(fields) - known)
    if unknown:
        shown = "".join(character for character in unknown[0] if character.isprintable())[:64]
        raise Problem(f"{prefix}{shown}", "is no field of the format")


def _value(fields: Fields, name: str) -> object:
    value = fields.get(name)
    if isinstance(value, Problem):
        raise value
    return value


def _text(fields: Fields, name: str, longest: int, may_be_left: Field | None = None) -> str | None:
    value = _value(fields, name)
    if value is None:
        return None
    if not isinstance(value, str):
        raise Problem(name, "must be text", may_be_left)
    if not is_storable(value):
        raise Problem(name, "holds U+0000 or half a character", may_be_left)
    if len(value) > longest:
        raise Problem(name, f"is longer than {longest} characters", may_be_left)
    return value


def _line(fields: Fields, name: str, longest: int = identifiers.NAME_LENGTH) -> str | None:
    text = _text(fields, name, longest)
    if text is not None and not identifiers.is_name(text[: identifiers.NAME_LENGTH]):
        raise Problem(name, "holds control characters")
    return text


def _flag(fields: Fields, name: str) -> bool:
    value = _value(fields, name)
    if value is not None and not isinstance(value, bool):
        raise Problem(name, "must be true or false")
    return bool(value)


def _instant(fields: Fields, name: str) -> datetime | None:
    value = _value(fields, name)
    if value is None or isinstance(value, datetime):
        return _in_utc(value, name)
    if not isinstance(value, str):
        raise Problem(name, "must be a time such as 2026-01-31T12:00:00.000Z")
    try:
        return _in_utc(datetime.fromisoformat(value), name)
    except ValueError:
        raise Problem(name, "must be a time such as 2026-01-31T12:00:00.000Z") from None


def _in_utc(instant: datetime | None, name: str) -> datetime | None:
    """Give the instant in UTC, which it is in where it does not say."""
    if instant is None or instant.tzinfo is None:
        return instant and instant.replace(tzinfo=UTC)
    try:
        return instant.astimezone(UTC)
    except OverflowError:
        raise Problem(name, "lies outside the years 1 to 9999") from None


def _past(fields: Fields, name: str, now: datetime) -> datetime | None:
    instant = _instant(fields, name)
    if instant is not None and instant > now + CLOCKS_APART:
        raise Problem(name, "lies in the future")
    return instant


def _id(value: object, origin: str, fallback: str) -> str:
    """Give an id of 32 letters and digits: the one there is if it is such or a UUID, otherwise one made of it.

    No username is as long, so that a command never finds two users under one name.
    """
    if isinstance(value, Problem):
        raise value
    if value is None or value == "":
        return _made(f"{origin} {fallback}")
    if isinstance(value, bool) or not isinstance(value, str | int | uuid.UUID):
        raise Problem("id", "must be text or a whole number")
    text = str(value)
    if len(text) > LONGEST_SUBJECT or not is_storable(text):
        raise Problem("id", f"must be text of at most {LONGEST_SUBJECT} characters without U+0000")
    if secrets.is_token(text):
        return text
    return _uuid_digits(text) or _made(f"{origin} id {text}")


def _uuid_digits(text: str) -> str | None:
    try:
        parsed = uuid.UUID(text)
    except ValueError:
        return None
    return parsed.hex if str(parsed) == text.lower() else None


def _made(name: str) -> str:
    return secrets.digest(name).hex()[:32]


def _email(fields: Fields) -> str:
    text = _text(fields, "email", LONGEST_ISSUER)
    if text is None:
        raise Problem("email", "is missing")
    try:
        return identifiers.email(text)
    except Refusal:
        raise Problem("email", "is no address that could sign up") from None


def _name(fields: Fields, email: str) -> str:
    name = _line(fields, "name")
    return email.partition("@")[0] if name is None else name


def _image(fields: Fields) -> str | None:
    text = _text(fields, "image", 2**20, Field.IMAGE)
    if text and identifiers.image_or_none(text) is None:
        raise Problem("image", "is no http or https address of at most 2048 characters", Field.IMAGE)
    return text or None


def _usernames(fields: Fields) -> tuple[str | None, str | None]:
    username = _text(fields, "username", LONGEST_SUBJECT, Field.USERNAME)
    shown = _text(fields, "displayUsername", LONGEST_SUBJECT, Field.USERNAME)
    if shown is None:
        shown = username
    try:
        return (
            None if username is None else identifiers.username(username),
            None if shown is None else identifiers.display_username(shown),
        )
    except Refusal as refusal:
        raise Problem("username", f"cannot be one here: {refusal.message}", Field.USERNAME) from None


def _password(fields: Fields) -> str | None:
    text = _text(fields, "passwordHash", hashes.LONGEST, Field.PASSWORD)
    return None if text is None else hashes.stored(text)


def _table(value: object, name: str, known: frozenset[str], may_be_left: Field) -> Fields:
    if isinstance(value, Problem):
        raise value
    if not isinstance(value, dict):
        raise Problem(name, "must be an object", may_be_left)
    _refuse_unknown(value, known, f"{name}.")
    return value


def _second_factor(fields: Fields) -> SecondFactor | None:
    value = _value(fields, "twoFactor")
    if value is None:
        return None
    table = _table(value, "twoFactor", TWO_FACTOR_NAMES, Field.TWO_FACTOR)
    issuer = _line(table, "issuer", 64)
    if issuer is not None and ":" in issuer:
        raise Problem("twoFactor", "the issuer holds a colon", Field.TWO_FACTOR)
    return SecondFactor(_totp_secret(_text(table, "secret", LONGEST_SUBJECT, Field.TWO_FACTOR)), issuer)


def _totp_secret(text: str | None) -> str | None:
    """Give a secret in base32 as it is stored: capitals without padding and spaces."""
    if text is None:
        return None
    secret = text.replace(" ", "").upper().rstrip("=")
    try:
        length = len(base64.b32decode(secret + "=" * (-len(secret) % 8)))
    except (binascii.Error, ValueError):
        raise Problem("twoFactor", "the secret is not base32", Field.TWO_FACTOR) from None
    if length not in TOTP_BYTES:
        raise Problem("twoFactor", "the secret has not 10 to 128 bytes", Field.TWO_FACTOR)
    return secret


def _accounts(fields: Fields, rules: Rules) -> tuple[Linked, ...]:
    value = _value(fields, "accounts")
    if value is None:
        return ()
    if not isinstance(value, list) or len(value) > ACCOUNTS_AT_MOST:
        raise Problem("accounts", f"must be a list of at most {ACCOUNTS_AT_MOST} objects", Field.ACCOUNTS)
    tables = [_table(each, "accounts", ACCOUNT_NAMES, Field.ACCOUNTS) for each in value]
    wanted = [table for table in tables if table.get("providerId") not in rules.without_providers]
    linked = tuple(_linked(table, rules) for table in wanted)
    if len({(each.provider_id, each.issuer, each.account_id) for each in linked}) < len(linked):
        raise Problem("accounts", "names an identity twice", Field.ACCOUNTS)
    return linked


def _linked(table: Fields, rules: Rules) -> Linked:
    provider_id = _text(table, "providerId", LONGEST_SUBJECT, Field.ACCOUNTS)
    if not provider_id or not identifiers.is_name(provider_id) or provider_id == CREDENTIAL:
        raise Problem("accounts", "needs the providerId of a provider", Field.ACCOUNTS)
    if provider_id not in rules.issuers:
        raise Problem(
            "accounts", f"{provider_id[:64]} is no provider that is configured here", Field.ACCOUNTS
        )
    issuer = _text(table, "issuer", LONGEST_ISSUER, Field.ACCOUNTS)
    if issuer is None:
        issuer = rules.issuers[provider_id]
    if issuer is None:
        raise Problem("accounts", f"the settings do not say the issuer of {provider_id}", Field.ACCOUNTS)
    return Linked(provider_id, issuer, _subject(table), _scopes(table), _past(table, "createdAt", rules.now))


def _subject(table: Fields) -> str:
    subject = _text(table, "accountId", LONGEST_SUBJECT, Field.ACCOUNTS)
    if not subject or not subject.isprintable():
        raise Problem("accounts", "needs an accountId of printable characters", Field.ACCOUNTS)
    return subject


def _scopes(table: Fields) -> tuple[str, ...]:
    value = _value(table, "scopes")
    if value is None:
        return ()
    if not isinstance(value, list) or not all(_is_scope(scope) for scope in value):
        raise Problem("accounts", "has scopes that are no list of words", Field.ACCOUNTS)
    return tuple(dict.fromkeys(value))


def _is_scope(value: object) -> bool:
    if not isinstance(value, str) or not 0 < len(value) <= LONGEST_SCOPE:
        return False
    return value.isascii() and value.isprintable() and " " not in value
