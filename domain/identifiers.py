"""Rules for email addresses, usernames, display names and names.

The patterns mean the same in Python, JavaScript and Rust, so the contract may quote them. Lengths are code points.
"""

import re
import string
from datetime import UTC, datetime

from domain.errors import BadRequest, Refusal, Unprocessable


class InvalidEmail(BadRequest):
    """Not a valid email address."""

    message = "Invalid email"


class UsernameTooShort(BadRequest):
    """The username has fewer than 3 characters."""

    message = "Username is too short"


class UsernameTooLong(BadRequest):
    """The username has more than 30 characters."""

    message = "Username is too long"


class InvalidUsername(BadRequest):
    """The username has characters other than ASCII letters, digits, `_` and `.`."""

    message = "Username is invalid"


class InvalidDisplayUsername(BadRequest):
    """The display username has control characters, or not 1 to 64 characters."""

    message = "Display username is invalid"


class UnprocessableUsernameTooShort(Unprocessable):
    """Like UsernameTooShort, where the username is looked up rather than set."""

    code = "USERNAME_TOO_SHORT"
    message = "Username is too short"


class UnprocessableUsernameTooLong(Unprocessable):
    """Like UsernameTooLong, where the username is looked up rather than set."""

    code = "USERNAME_TOO_LONG"
    message = "Username is too long"


class UnprocessableUsername(Unprocessable):
    """Like InvalidUsername, where the username is looked up rather than set."""

    code = "INVALID_USERNAME"
    message = "Username is invalid"


EMAIL_PATTERN = (
    r"^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*@"
    r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$"
)
"""Matches a local part that is a dot-atom (RFC 5322), and a domain of two labels or more."""
ENCODED_WORD = re.compile(r"=\?.*\?=")
"""Matches an encoded word (RFC 2047). No email address may contain one: mail programs and servers read
`=?utf-8?q?eve=40x.test?=` as the text that it encodes."""
# The limits of SMTP (RFC 5321, 4.5.3.1.1 and 4.5.3.1.3); a path of 256 octets includes two angle brackets.
EMAIL_LENGTH = 254
LOCAL_PART_LENGTH = 64

USERNAME_LENGTHS = range(3, 31)
_USERNAME_CHARACTERS = frozenset(string.ascii_letters + string.digits + "_.")

NAME_PATTERN = r"^[^\u0000-\u001F\u007F-\u009F\u2028\u2029\u202A-\u202E\u2066-\u2069]*$"
"""No control characters, no line or paragraph separators, no bidi embeddings, overrides and isolates."""
NAME_LENGTH = 256
IMAGE_PATTERN = r"^[Hh][Tt][Tt][Pp][Ss]?://[A-Za-z0-9\[][!#-;=?-\[\]_a-z~]*$"
"""An http or https URL of printable ASCII without quotes, angle brackets, backslash, `^`, backtick and braces."""
IMAGE_LENGTH = 2048
DISPLAY_USERNAME_LENGTHS = range(1, 65)
ISSUER_PATTERN = r"^[^\u0000-\u001F\u007F-\u009F:]*$"
"""No control characters, and no colon, which ends the issuer in the URI an authenticator reads."""
ISSUER_LENGTH = 64

_EMAIL = re.compile(EMAIL_PATTERN)
_NAME = re.compile(NAME_PATTERN)
_IMAGE = re.compile(IMAGE_PATTERN)
_ISSUER = re.compile(ISSUER_PATTERN)


def email(text: str) -> str:
    """Return the email address in lower case, as it is stored and compared. Raises InvalidEmail."""
    # defence: V78 encoded-word
    if len(text) > EMAIL_LENGTH or ENCODED_WORD.search(text) or _EMAIL.fullmatch(text) is None:
        raise InvalidEmail
    local, _, domain = text.partition("@")
    # A last label that is a number makes the domain an IP address.
    if len(local) > LOCAL_PART_LENGTH or domain.rpartition(".")[2].isdigit():
        raise InvalidEmail
    return text.lower()  # defence: V77 email-case


def domain_of(address: str) -> str:
    """Return the domain of an email address in lower case; empty for an empty address."""
    return address.rpartition("@")[2].lower()


def masked_email(address: str) -> str:
    """Return an email address of which only the first letter and the domain are shown."""
    local, _, domain = address.partition("@")
    return f"{local[0]}***@{domain}"


def username(text: str) -> str:
    """Return the username in lower case, as it is stored. Raises UsernameTooShort, UsernameTooLong, InvalidUsername."""
    return _username(text, UsernameTooShort, UsernameTooLong, InvalidUsername)


def username_to_look_up(text: str) -> str:
    """Return the username in lower case, to look it up.

    Raises UnprocessableUsernameTooShort, UnprocessableUsernameTooLong, UnprocessableUsername.
    """
    return _username(text, UnprocessableUsernameTooShort, UnprocessableUsernameTooLong, UnprocessableUsername)


def username_or_none(text: str) -> str | None:
    """Return the username to be stored if the text satisfies the rules, else None."""
    try:
        return username(text)
    except Refusal:
        return None


def display_username(text: str) -> str:
    """Return the text unchanged if it has 1 to 64 code points, none of which controls the display.

    Raises InvalidDisplayUsername.
    """
    if len(text) not in DISPLAY_USERNAME_LENGTHS or _NAME.fullmatch(text) is None:
        raise InvalidDisplayUsername
    return text


def is_name(text: str) -> bool:
    """Return whether the text may be a user's name: at most 256 code points, no characters that control the display."""
    return len(text) <= NAME_LENGTH and _NAME.fullmatch(text) is not None


def clean_name(text: str) -> str:
    """Return a text from another system as a valid name: characters that control the display are removed, and the
    rest is cut to the maximum length."""
    kept = (character for character in text if _NAME.fullmatch(character) and not _is_surrogate(character))
    return "".join(kept).strip()[:NAME_LENGTH]


def is_issuer(text: str) -> bool:
    """Return whether the text may be the service's name in an authenticator app: at most 64 code points, no control
    characters, no colon."""
    return len(text) <= ISSUER_LENGTH and _ISSUER.fullmatch(text) is not None


def _is_surrogate(character: str) -> bool:
    # JSON may contain half a pair, which cannot be encoded as UTF-8.
    return "\ud800" <= character <= "\udfff"


def instant_or_none(text: str) -> datetime | None:
    """Parse a time with a zone (RFC 3339), and return it in UTC; None if the text is not such a time."""
    try:
        moment = datetime.fromisoformat(text)
        return None if moment.tzinfo is None else moment.astimezone(UTC)
    # OverflowError: at the ends of the calendar, the time in UTC is no `datetime`.
    except (ValueError, OverflowError):
        return None


def image_or_none(text: str | None) -> str | None:
    """Return the URL of a picture unchanged if it may be stored, else None."""
    if text is None or len(text) > IMAGE_LENGTH or _IMAGE.fullmatch(text) is None:
        return None
    return text


def _username(text: str, too_short: type[Refusal], too_long: type[Refusal], invalid: type[Refusal]) -> str:
    if len(text) < USERNAME_LENGTHS.start:
        raise too_short
    if len(text) >= USERNAME_LENGTHS.stop:
        raise too_long
    # ASCII only: letters that look alike, or are equal after normalization, would make two usernames look the same.
    if not _USERNAME_CHARACTERS.issuperset(text):  # defence: V75 ascii
        raise invalid
    return text.lower()  # defence: V77 username-case
