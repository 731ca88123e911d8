"""Every refusal the service can give, once: its status on the family, its code from the name, its message.

A refusal is raised bare (`raise InvalidToken`). `server/api/errors.py` renders it as `{"message": …, "code": …}`; the
contract lists each of them as an example. Sources: interface section 7, behaviour 1.4 and chapter 5.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar, NamedTuple

import domain
from models.discovery import import_modules

_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_DECLARED: "list[type[Refusal]]" = []


class Refusal(Exception):
    """What the service says no with. Subclasses are the whole vocabulary.

    `status` is the HTTP status, `code` the stable UPPER_SNAKE name, `message` the English sentence for people.
    A refusal rolls the transaction back, unless `keeps_writes` says that what was written (an attempt) must stay.
    `ends_challenge` says that the caller's pending token is worth nothing any more.
    """

    status: ClassVar[int]
    code: ClassVar[str]
    message: str
    keeps_writes: ClassVar[bool] = False
    ends_challenge: ClassVar[bool] = False
    retry_after: int | None = None
    details: Mapping[str, int] = MappingProxyType({})
    """Further keys of the body, which the contract documents."""

    def __init_subclass__(cls) -> None:
        """Register the class, and derive its code from its name: `InvalidToken` becomes `INVALID_TOKEN`."""
        _DECLARED.append(cls)
        if "code" not in cls.__dict__:
            cls.code = _WORD_START.sub("_", cls.__name__).upper()

    def __init__(self, message: str | None = None, *, retry_after: int | None = None, **details: int) -> None:
        """Use the message of the class unless one is given; `retry_after` is in seconds."""
        if details:
            self.details = details
        if message is not None:
            self.message = message
        if retry_after is not None:
            self.retry_after = retry_after
        super().__init__(self.message)


def every_refusal() -> list[type[Refusal]]:
    """Return the refusals of all capabilities and the families they are of."""
    import_modules(domain)
    return list(_DECLARED)


# --- The families -------------------------------------------------------------------------------------------


class BadRequest(Refusal):
    """The request cannot be carried out as it is (400)."""

    status = 400
    message = "Invalid JSON in request body"


class Unauthenticated(Refusal):
    """The caller has not shown who they are (401)."""

    status = 401
    code = "UNAUTHORIZED"
    message = "Unauthorized"


class Forbidden(Refusal):
    """The caller is known, and may not (403)."""

    status = 403
    message = "Forbidden"


class NotFound(Refusal):
    """There is nothing here (404)."""

    status = 404
    message = "Not found"


class Conflict(Refusal):
    """It collides with what exists (409)."""

    status = 409
    message = "Conflict"


class Unprocessable(Refusal):
    """Well-formed, and still not acceptable (422)."""

    status = 422
    message = "Unprocessable"


class Limited(Refusal):
    """Too often (429); `retry_after` says when again."""

    status = 429
    code = "TOO_MANY_REQUESTS"
    message = "Too many requests. Please try again later."
    kind = "failures"
    """What is spent, for who counts refusals: wrong passwords and codes, or `requests`."""


class Unavailable(Refusal):
    """A dependency is down (503); `retry_after` says when again."""

    status = 503
    code = "SERVICE_UNAVAILABLE"
    message = "Service unavailable"
    retry_after = 5


# --- HTTP itself (behaviour 1.3, 1.4) -----------------------------------------------------------------------


class Field(NamedTuple):
    """A field that is missing or malformed, by its name on the wire; one within another by its path, with dots."""

    place: str
    """`body`, `query` or `path`."""
    name: str
    message: str


class ValidationError(BadRequest):
    """A field is missing or malformed; the message and `fields` name it."""

    message = "Invalid request"

    def __init__(self, message: str | None = None, *fields: Field) -> None:
        """Create the error of these fields, in the order of the message; there are none where no field is wrong."""
        super().__init__(message)
        self.fields = fields


class MethodNotAllowed(Refusal):
    """The path exists, the method does not."""

    status = 405
    message = "Method not allowed"


class RequestTimeout(Refusal):
    """The request was sent too slowly."""

    status = 408
    message = "Request timeout"


class PayloadTooLarge(Refusal):
    """The body is over `server.max_body` bytes."""

    status = 413
    message = "Payload too large"


class UriTooLong(Refusal):
    """The target is over 8 KiB."""

    status = 414
    message = "URI too long"


class UnsupportedMediaType(Refusal):
    """The body is not JSON, or it is compressed."""

    status = 415
    message = "Unsupported media type"


class HeadersTooLarge(Refusal):
    """The headers are over 16 KiB."""

    status = 431
    message = "Headers too large"


class InternalServerError(Refusal):
    """A defect of ours; logged with the request id."""

    status = 500
    message = "Internal server error"


class Overloaded(Unavailable):
    """The hash pool is full."""

    code = "OVERLOADED"
    message = "Server is busy"
    retry_after = 1


# --- Origins and redirect targets (behaviour 1.6, 3.4) ------------------------------------------------------


class InvalidOrigin(Forbidden):
    """The Origin or Referer is not trusted."""

    message = "Invalid origin"


class MissingOrNullOrigin(Forbidden):
    """A browser's cross-site request without a usable Origin."""

    message = "Missing or null Origin"


class CrossSiteNavigationLoginBlocked(Forbidden):
    """A foreign page navigates the browser into a sign-in."""

    message = "Cross-site navigation login blocked"


class InvalidCallbackUrl(Forbidden):
    """callbackURL leads to an untrusted place."""

    message = "Invalid callbackURL"


class InvalidRedirectUrl(Forbidden):
    """redirectTo leads to an untrusted place."""

    message = "Invalid redirectURL"


class InvalidErrorCallbackUrl(Forbidden):
    """errorCallbackURL leads to an untrusted place."""

    message = "Invalid errorCallbackURL"


class InvalidNewUserCallbackUrl(Forbidden):
    """newUserCallbackURL leads to an untrusted place."""

    message = "Invalid newUserCallbackURL"


# --- Email and user (behaviour 5.4, 5.7) --------------------------------------------------------------------


class InvalidToken(Unauthenticated):
    """The token is unknown, used, or made for something else."""

    message = "Invalid token"


class TokenExpired(Unauthenticated):
    """The token was right once."""

    message = "Token expired"
