"""Errors of the service, which are also the errors with which an application refuses requests."""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import httpx


@dataclass(frozen=True, slots=True)
class FieldError:
    """A field of a request that is missing or malformed."""

    location: str
    name: str
    message: str


class ApiError(Exception):
    """An error response: of the service to a program, or of an application to its clients.

    `code` is for programs, `message` for people. `retry_after` is in seconds. `request_id` is also in the log of the
    service. `cookies` are `Set-Cookie` headers, which clear those of a session that has ended. `challenge` is the value
    of `WWW-Authenticate`; that of 401 is by default `Bearer`.
    """

    status = HTTPStatus.BAD_REQUEST

    def __init__(
        self,
        code: str,
        message: str,
        *,
        status: int | None = None,
        fields: tuple[FieldError, ...] = (),
        request_id: str | None = None,
        retry_after: int | None = None,
        cookies: tuple[str, ...] = (),
        challenge: str | None = None,
    ) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.status = HTTPStatus(self.status if status is None else status)
        self.fields = fields
        self.request_id = request_id
        self.retry_after = retry_after
        self.cookies = cookies
        self.challenge = (
            "Bearer" if challenge is None and self.status == HTTPStatus.UNAUTHORIZED else challenge
        )

    def __str__(self) -> str:
        fields = "".join(f"; {field.name}: {field.message}" for field in self.fields)
        request = f" (request {self.request_id})" if self.request_id else ""
        return f"{self.status:d} {self.code}: {self.message}{fields}{request}"

    def headers(self) -> dict[str, str]:
        """Return the headers of the response with which an application refuses a request, without its cookies."""
        challenge = {} if self.challenge is None else {"WWW-Authenticate": self.challenge}
        retry = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        return {**challenge, **retry}

    def body(self) -> dict[str, str]:
        """Return the body of the response with which an application refuses a request."""
        return {"message": self.message, "code": self.code}


class Unauthenticated(ApiError):
    """The request has no valid session, token or API key."""

    status = HTTPStatus.UNAUTHORIZED


class Forbidden(ApiError):
    """The caller is known and lacks a permission."""

    status = HTTPStatus.FORBIDDEN


class RateLimited(ApiError):
    """There were too many requests. `retry_after` is None if waiting does not help."""

    status = HTTPStatus.TOO_MANY_REQUESTS


class Unavailable(ApiError):
    """The service has not responded, or the response is not one of the service."""

    status = HTTPStatus.SERVICE_UNAVAILABLE


def unavailable(message: str = "Sign-in cannot be checked") -> Unavailable:
    """Return the error of a service that does not respond."""
    return Unavailable("SERVICE_UNAVAILABLE", message, retry_after=5)


def error_of(response: httpx.Response) -> ApiError:
    """Return the error in a response whose body was read: of the service, its OAuth protocol, or a proxy."""
    body = _object(response)
    kind = _KINDS.get(response.status_code, ApiError)
    return kind(
        str(body.get("code") or body.get("error") or f"HTTP_{response.status_code}"),
        str(body.get("message") or body.get("error_description") or response.reason_phrase),
        status=response.status_code,
        fields=_fields(body.get("fields")),
        request_id=response.headers.get("x-request-id"),
        retry_after=retry_after_of(response),
        cookies=tuple(response.headers.get_list("set-cookie")),
    )


def retry_after_of(response: httpx.Response) -> int | None:
    """Return the seconds in `Retry-After`, or None; the service always sends a number."""
    value = response.headers.get("retry-after", "")
    return int(value) if value.isascii() and value.isdigit() and len(value) < 8 else None


_KINDS: Mapping[int, type[ApiError]] = {
    401: Unauthenticated,
    403: Forbidden,
    429: RateLimited,
    502: Unavailable,
    503: Unavailable,
    504: Unavailable,
}


def _object(response: httpx.Response) -> Mapping[str, Any]:
    try:
        body = response.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def _fields(found: object) -> tuple[FieldError, ...]:
    fields = found if isinstance(found, list) else []
    return tuple(
        FieldError(str(field.get("in")), str(field.get("name")), str(field.get("message")))
        for field in fields
        if isinstance(field, dict)
    )
