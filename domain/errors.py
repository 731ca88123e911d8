"""Every refusal of the service, defined once: status from its family, code from its name, and a message.

A refusal is raised bare (`raise InvalidToken`). `server/api/errors.py` renders it as `{"message": …, "code": …}`; the
contract lists each as an example.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import domain
from models.discovery import import_modules

_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_DECLARED: "list[type[Refusal]]" = []


class Refusal(Exception):
    """The base class of the errors that a client gets.

    `status` is the HTTP status, `code` the stable UPPER_SNAKE name, `message` the English sentence for people. A
    refusal rolls the transaction back. With `keeps_writes` the transaction is committed instead, for example to count
    a failed attempt. With `ends_challenge` the response clears the cookies of the sign-in that waits for a second
    factor, because it cannot be continued.
    """

    status: ClassVar[int]
    code: ClassVar[str]
    message: str
    keeps_writes: ClassVar[bool] = False
    ends_challenge: ClassVar[bool] = False
    is_protocol: ClassVar[bool] = False
    """Whether the response has the form and the error names of another protocol, such as OAuth, instead of `code`."""
    retry_after: int | None = None
    details: Mapping[str, Any] = MappingProxyType({})
    """Further keys of the body, which the contract documents."""

    def __init_subclass__(cls) -> None:
        """Register the class, and derive its code from its name: `InvalidToken` becomes `INVALID_TOKEN`."""
        _DECLARED.append(cls)
        if "code" not in cls.__dict__:
            cls.code = _WORD_START.sub("_", cls.__name__).upper()

    def __init__(self, message: str | None = None, *, retry_after: int | None = None, **details: Any) -> None:
        """Create the refusal, by default with the message of the class. `retry_after` is in seconds; `details` are
        further keys of the body."""
        if details:
            self.details = details
        if message is not None:
            self.message = message
        if retry_after is not None:
            self.retry_after = retry_after
        super().__init__(self.message)


def every_refusal() -> list[type[Refusal]]:
    """Return all refusal classes, including the families, without the errors of other protocols."""
    # A refusal registers itself when its module is imported.
    import_modules(domain, except_for=domain.LOADED_LATER)
    return [kind for kind in _DECLARED if not kind.is_protocol]


def every_protocol_error() -> list[type[Refusal]]:
    """Return the refusal classes that are errors of other protocols (`is_protocol`)."""
    import_modules(domain, except_for=domain.LOADED_LATER)
    return [kind for kind in _DECLARED if kind.is_protocol]


# --- The families -------------------------------------------------------------------------------------------


class BadRequest(Refusal):
    """The request cannot be processed as it is (400)."""

    status = 400
    message = "Invalid JSON in request body"


class Unauthenticated(Refusal):
    """The caller is not authenticated (401)."""

    status = 401
    code = "UNAUTHORIZED"
    message = "Unauthorized"


class Forbidden(Refusal):
    """The caller is not allowed to do this (403)."""

    status = 403
    message = "Forbidden"


class NotFound(Refusal):
    """Not found (404)."""

    status = 404
    message = "Not found"


class Conflict(Refusal):
    """Conflict with existing data (409)."""

    status = 409
    message = "Conflict"


class Unprocessable(Refusal):
    """Well-formed, but not acceptable (422)."""

    status = 422
    message = "Unprocessable"


class Limited(Refusal):
    """Too many requests (429); `retry_after` says when to retry."""

    status = 429
    code = "TOO_MANY_REQUESTS"
    message = "Too many requests. Please try again later."
    kind = "failures"
    """The kind of limit, for metrics: `failures` (wrong passwords and codes), `requests` or `api_keys`."""


class Unavailable(Refusal):
    """A dependency is unavailable (503); `retry_after` says when to retry."""

    status = 503
    code = "SERVICE_UNAVAILABLE"
    message = "Service unavailable"
    retry_after = 5


# --- HTTP itself --------------------------------------------------------------------------------------------


class Field(NamedTuple):
    """A field that is missing or malformed. `name` is its JSON name; of a nested field the path, with dots."""

    place: str
    """`body`, `query` or `path`."""
    name: str
    message: str


class ValidationError(BadRequest):
    """A field is missing or malformed; the message and `fields` name it."""

    message = "Invalid request"

    def __init__(self, message: str | None = None, *fields: Field) -> None:
        """Create the error. `fields` are the wrong ones, in the order of the message; empty if it is about no field."""
        super().__init__(message)
        self.fields = fields


class MethodNotAllowed(Refusal):
    """The path exists, but not with this method."""

    status = 405
    message = "Method not allowed"


class RequestTimeout(Refusal):
    """The request was sent too slowly."""

    status = 408
    message = "Request timeout"


class PayloadTooLarge(Refusal):
    """The body is larger than `server.max_body` bytes."""

    status = 413
    message = "Payload too large"


class UriTooLong(Refusal):
    """The URL is longer than 8 KiB."""

    status = 414
    message = "URI too long"


class UnsupportedMediaType(Refusal):
    """The body is not JSON, or it is compressed."""

    status = 415
    message = "Unsupported media type"


class HeadersTooLarge(Refusal):
    """The headers are larger than 16 KiB."""

    status = 431
    message = "Headers too large"


class InternalServerError(Refusal):
    """A bug in the service; logged with the request id."""

    status = 500
    message = "Internal server error"


class Overloaded(Unavailable):
    """The password hashing pool is full."""

    code = "OVERLOADED"
    message = "Server is busy"
    retry_after = 1


# --- Origins and redirect targets ---------------------------------------------------------------------------


class InvalidOrigin(Forbidden):
    """The Origin or Referer is not trusted."""

    message = "Invalid origin"


class MissingOrNullOrigin(Forbidden):
    """A browser's cross-site request without a usable Origin."""

    message = "Missing or null Origin"


class CrossSiteForm(Forbidden):
    """A form of a hosted page that another page has sent."""

    message = "This form was not sent by a page of this service"


class CrossSiteNavigationLoginBlocked(Forbidden):
    """An untrusted page navigates the browser to a sign-in."""

    message = "Cross-site navigation login blocked"


class InvalidCallbackUrl(Forbidden):
    """callbackURL is not trusted."""

    message = "Invalid callbackURL"


class InvalidRedirectUrl(Forbidden):
    """redirectTo is not trusted."""

    message = "Invalid redirectURL"


class InvalidErrorCallbackUrl(Forbidden):
    """errorCallbackURL is not trusted."""

    message = "Invalid errorCallbackURL"


class InvalidNewUserCallbackUrl(Forbidden):
    """newUserCallbackURL is not trusted."""

    message = "Invalid newUserCallbackURL"


# --- Email and user -----------------------------------------------------------------------------------------


class InvalidToken(Unauthenticated):
    """The token is unknown, used, or for another purpose."""

    message = "Invalid token"


class TokenExpired(Unauthenticated):
    """The token has expired."""

    message = "Token expired"
