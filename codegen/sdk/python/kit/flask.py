"""Decorators and a blueprint for Flask. The decorated view gets what was checked as its first argument."""

from collections.abc import Callable, Set
from datetime import timedelta
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from flask import Blueprint, Response, make_response, redirect, request, session
from flask.typing import ResponseReturnValue

from ..models import ApiKey
from .access_tokens import AccessToken, AccessTokenVerifier
from .callers import NONE, Caller, Requirements
from .errors import ApiError, Unauthenticated
from .service import NO_PERMISSIONS, Gatewright, Permissions, credentials
from .sign_in import ATTEMPT, ID_TOKEN, USER, SignIn
from .tokens import TokenVerifier
from .webhooks import LARGEST, Delivery, WebhookReceiver, too_large

Checked = TypeVar("Checked")
Arguments = ParamSpec("Arguments")
View = Callable[Arguments, ResponseReturnValue]
CheckedView = Callable[Concatenate[Checked, Arguments], ResponseReturnValue]


def require_session(
    service: Gatewright,
    *,
    roles: Set[str] = NONE,
    organization: bool = False,
    organization_roles: Set[str] = NONE,
    max_age: timedelta | None = None,
    verified_email: bool = False,
) -> Callable[[CheckedView[Caller, Arguments]], View[Arguments]]:
    """Create a decorator that passes the user of the session, from the cookie or the bearer token.

    The caller must have one of `roles`, must be in an organization, with one of `organization_roles` there, must have
    signed in no longer than `max_age` ago, and must have a verified email address. The responses are 401, 403, 429 and
    503.
    """
    requirements = Requirements(roles, organization, organization_roles, max_age, verified_email)

    def check() -> Caller:
        headers = request.headers
        sent = credentials(headers.get("Authorization"), headers.get("Cookie"), request.remote_addr)
        caller = service.caller(sent, organization=requirements.in_organization)
        requirements.check(caller)
        return caller

    return _require(check)


def require_token(
    verifier: TokenVerifier,
    *,
    roles: Set[str] = NONE,
    organization: bool = False,
    organization_roles: Set[str] = NONE,
    max_age: timedelta | None = None,
    verified_email: bool = False,
) -> Callable[[CheckedView[Caller, Arguments]], View[Arguments]]:
    """Create a decorator that passes the user of a JWT, without a request to the service; see `require_session`."""
    requirements = Requirements(roles, organization, organization_roles, max_age, verified_email)

    def check() -> Caller:
        caller = verifier.caller(request.headers.get("Authorization"))
        requirements.check(caller)
        return caller

    return _require(check)


def require_access_token(
    verifier: AccessTokenVerifier, *scopes: str
) -> Callable[[CheckedView[AccessToken, Arguments]], View[Arguments]]:
    """Create a decorator that passes the access token of an application, which must have all of these scopes.

    The responses are 401, 403 and 503.
    """
    return _require(lambda: verifier.read(request.headers.get("Authorization"), *scopes))


def require_api_key(
    service: Gatewright, permissions: Permissions = NO_PERMISSIONS, *, header: str = "x-api-key"
) -> Callable[[CheckedView[ApiKey, Arguments]], View[Arguments]]:
    """Create a decorator that passes the API key of the request, which must have these permissions."""
    return _require(lambda: service.api_key(request.headers.get(header), permissions))


def receive_webhook(
    receiver: WebhookReceiver,
) -> Callable[[CheckedView[Delivery, Arguments]], View[Arguments]]:
    """Create a decorator that passes the event of the request, whose signature is verified."""

    def check() -> Delivery:
        body = request.stream.read(LARGEST + 1)
        if len(body) > LARGEST:
            raise too_large()
        return receiver.read(body, dict(request.headers))

    return _require(check)


def sign_in_blueprint(sign_in: SignIn, *, after: str = "/") -> Blueprint:
    """Create the views `/sign-in`, `/callback` and, by POST, `/sign-out`. They need a `SECRET_KEY`.

    `after` is the path that users return to. `require_signed_in` passes the user.
    """
    blueprint = Blueprint("gatewright", __name__)

    @blueprint.get("/sign-in")
    def begin() -> ResponseReturnValue:
        url, session[ATTEMPT] = sign_in.begin()
        return redirect(url, 303)

    @blueprint.get("/callback")
    def finish() -> ResponseReturnValue:
        try:
            signed_in = sign_in.finish(request.args, session.pop(ATTEMPT, None))
        except ApiError as error:
            return error_response(error)
        session.clear()
        session.update({USER: signed_in.user, ID_TOKEN: signed_in.id_token})
        return redirect(after, 303)

    @blueprint.post("/sign-out")
    def sign_out() -> ResponseReturnValue:
        id_token = session.get(ID_TOKEN)
        session.clear()
        return redirect(after if id_token is None else sign_in.sign_out_url(id_token), 303)

    return blueprint


def require_signed_in(view: CheckedView[dict[str, Any], Arguments]) -> View[Arguments]:
    """Pass the claims of the user who signed in by `sign_in_blueprint`; a decorator. The response is otherwise 401."""

    def check() -> dict[str, Any]:
        user: dict[str, Any] | None = session.get(USER)
        if user is None:
            raise Unauthenticated("UNAUTHORIZED", "Please sign in")
        return user

    return _require(check)(view)


def error_response(error: ApiError) -> Response:
    """Return the response for an error."""
    response = make_response(error.body(), error.status, error.headers())
    _add_cookies(response, error.cookies)
    return response


def _require(
    check: Callable[[], Checked],
) -> Callable[[CheckedView[Checked, Arguments]], View[Arguments]]:
    def decorate(view: CheckedView[Checked, Arguments]) -> View[Arguments]:
        @wraps(view)
        def checked(*arguments: Arguments.args, **named: Arguments.kwargs) -> ResponseReturnValue:
            try:
                found = check()
            except ApiError as error:
                return error_response(error)
            response = make_response(view(found, *arguments, **named))
            _add_cookies(response, found.cookies if isinstance(found, Caller) else ())
            return response

        return checked

    return decorate


def _add_cookies(response: Response, cookies: tuple[str, ...]) -> None:
    for cookie in cookies:
        response.headers.add("Set-Cookie", cookie)
