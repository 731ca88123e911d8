"""The types of settings: accepted values, and helpers for declaring fields."""

import re
from collections.abc import Callable
from datetime import timedelta
from email.utils import parseaddr
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr
from pydantic.fields import FieldInfo

from domain.trusted_origins import TrustedOrigins, origin_of
from server.config import durations

_LABEL = r"(?!-)[A-Za-z0-9-]{1,63}(?<!-)"
_URL = re.compile(r"https?://[^/?#@\\]+(?:[/?#].*)?", re.ASCII)
_PATH = re.compile(r"(?:/[A-Za-z0-9_~-][A-Za-z0-9_.~-]*)*/?", re.ASCII)
_DOMAIN = re.compile(rf"\.?({_LABEL}(?:\.{_LABEL})+)", re.ASCII)

Value = TypeVar("Value")


def setting(default: Value, description: str, **constraints: Any) -> Value:
    """Declare a setting with its default, its line in the reference, and arguments of pydantic's `Field`."""
    declared: Value = Field(default=default, description=description, **constraints)
    return declared


def duration_between(
    default: str, description: str, *, at_least: str = "1s", at_most: timedelta | str = durations.LONGEST
) -> Any:
    """Declare a duration with its default and bounds; the default upper bound is that of all durations."""
    return Field(
        default=durations.parse(default),
        ge=durations.parse(at_least),
        le=durations.parse(at_most),
        description=description,
    )


def range_of(field: FieldInfo) -> str | None:
    """Return the range of a number or duration, such as `from 1s to 36500d`; None for a field without bounds."""
    least = next((bound.ge for bound in field.metadata if hasattr(bound, "ge")), None)
    most = next((bound.le for bound in field.metadata if hasattr(bound, "le")), None)
    if least is None or most is None:
        return None
    return f"from {_spell(least)} to {_spell(most)}"


def _spell(bound: float | timedelta) -> str:
    return durations.spell(bound) if isinstance(bound, timedelta) else str(bound)


def read_secret(secret: SecretStr | None, file: Path | None) -> str | None:
    """Return a secret, of the file if there is one. Raises OSError and UnicodeDecodeError."""
    if file is not None:
        return file.read_text("utf-8").strip()
    return None if secret is None else secret.get_secret_value()


def is_http(url: str) -> bool:
    """Return whether a URL is unencrypted http."""
    return url.lower().startswith("http://")


def _origin(text: str) -> str:
    try:
        (origin,) = TrustedOrigins.parse(text.removesuffix("/"), ()).exact
    except ValueError:
        raise ValueError("should be an origin such as https://auth.example.com, without a path") from None
    return origin


def _url(text: str) -> str:
    if len(text) > 2048 or not _URL.fullmatch(text) or origin_of(text) is None:
        raise ValueError("should be a URL that begins with http:// or https://")
    return text


def _base_path(text: str) -> str:
    if not _PATH.fullmatch(text):
        raise ValueError("should be empty or a path such as /api/auth")
    return text.rstrip("/")


def _domain(text: str) -> str:
    match = _DOMAIN.fullmatch(text)
    if match is None:
        raise ValueError("should be a domain such as example.com")
    # A leading dot has no meaning in the Domain of a cookie (RFC 6265, 5.2.3).
    return match[1].lower()


def _sender_address(text: str) -> str:
    local, _, domain = parseaddr(text)[1].rpartition("@")
    if not text.isprintable() or not local or not _DOMAIN.fullmatch(domain):
        raise ValueError(
            "should be an address such as no-reply@example.com or Example <no-reply@example.com>"
        )
    return text


def _network(written: object) -> IPv4Network | IPv6Network:
    if isinstance(written, IPv4Network | IPv6Network):
        return written
    try:
        return ip_network(written if isinstance(written, str) else "")
    except ValueError:
        raise ValueError("should be a network such as 10.0.0.0/8 or an address") from None


def _optional(convert: Callable[[str], Any]) -> BeforeValidator:
    """Convert a text; an empty text means not set, because an environment variable cannot express it otherwise."""
    return BeforeValidator(
        lambda value: (convert(value) if value else None) if isinstance(value, str) else value
    )


def _counter_store(url: SecretStr) -> SecretStr:
    if not re.fullmatch(
        r"database|(?:(?:rediss?|valkeys?)(?:\+sentinel)?|unix)://\S+", url.get_secret_value()
    ):
        raise ValueError("should be database, or an address such as redis://127.0.0.1:6379/0")
    return url


def _items(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def _pages_path(text: str) -> str:
    path = _base_path(text)
    if not path:
        raise ValueError("should be a path such as /account")
    return path


def _colour(text: str) -> str:
    if not re.fullmatch(r"#[0-9A-Fa-f]{6}", text):
        raise ValueError("should be a colour such as #2f55d4")
    return text.lower()


Duration = Annotated[timedelta, BeforeValidator(durations.parse)]
Size = Annotated[int, BeforeValidator(durations.parse_size)]
Origin = Annotated[str, AfterValidator(lambda text: _origin(text) if text else "")]
BasePath = Annotated[str, AfterValidator(_base_path)]
PagesPath = Annotated[str, AfterValidator(_pages_path)]
Colour = Annotated[str, AfterValidator(_colour)]
OptionalColour = Annotated[str | None, _optional(_colour)]
OptionalUrl = Annotated[str | None, _optional(_url)]
OptionalText = Annotated[str | None, _optional(str)]
OptionalPath = Annotated[Path | None, _optional(Path)]
OptionalDomain = Annotated[str | None, _optional(_domain)]
OptionalSender = Annotated[str | None, _optional(_sender_address)]
Network = Annotated[IPv4Network | IPv6Network, BeforeValidator(_network)]
Items = BeforeValidator(_items)
"""Accepted in addition to a tuple, because TOML and JSON have lists only."""
CounterStore = Annotated[SecretStr, AfterValidator(_counter_store)]
CookieName = Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")]
CookiePrefix = Annotated[str, Field(max_length=64, pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]*$")]
