"""Decorators and URL patterns for Django. The decorated view gets what was checked after the request.

Views are synchronous.
"""

from collections.abc import Callable, Set
from datetime import timedelta
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from django.http import HttpRequest, HttpResponseBase, HttpResponseRedirect, JsonResponse
from django.urls import URLPattern, path
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_POST

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
View = Callable[Concatenate[HttpRequest, Arguments], HttpResponseBase]
CheckedView = Callable[Concatenate[HttpRequest, Checked, Arguments], HttpResponseBase]


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

    def check(request: HttpRequest) -> Caller:
        headers, address = request.headers, request.META.get("REMOTE_ADDR")
        sent = credentials(headers.get("Authorization"), headers.get("Cookie"), address)
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

    def check(request: HttpRequest) -> Caller:
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
    return _require(lambda request: verifier.read(request.headers.get("Authorization"), *scopes))


def require_api_key(
    service: Gatewright, permissions: Permissions = NO_PERMISSIONS, *, header: str = "x-api-key"
) -> Callable[[CheckedView[ApiKey, Arguments]], View[Arguments]]:
    """Create a decorator that passes the API key of the request, which must have these permissions."""
    return _require(lambda request: service.api_key(request.headers.get(header), permissions))


def receive_webhook(
    receiver: WebhookReceiver,
) -> Callable[[CheckedView[Delivery, Arguments]], View[Arguments]]:
    """Create a decorator that passes the event of the request, whose signature is verified instead of a CSRF token."""

    def check(request: HttpRequest) -> Delivery:
        body = request.read(LARGEST + 1)
        if len(body) > LARGEST:
            raise too_large()
        return receiver.read(body, request.headers)

    def decorate(view: CheckedView[Delivery, Arguments]) -> View[Arguments]:
        return csrf_exempt(_require(check)(view))

    return decorate


def sign_in_urls(sign_in: SignIn, *, after: str = "/") -> list[URLPattern]:
    """Create the patterns `sign-in`, `callback` and, by POST, `sign-out`. They need Django's SessionMiddleware.

    `after` is the path that users return to. `require_signed_in` passes the user.
    """

    @require_GET
    def begin(request: HttpRequest) -> HttpResponseBase:
        url, request.session[ATTEMPT] = sign_in.begin()
        return HttpResponseRedirect(url)

    @require_GET
    def finish(request: HttpRequest) -> HttpResponseBase:
        try:
            signed_in = sign_in.finish(request.GET.dict(), request.session.pop(ATTEMPT, None))
        except ApiError as error:
            return error_response(error)
        request.session.flush()
        request.session.update({USER: signed_in.user, ID_TOKEN: signed_in.id_token})
        return HttpResponseRedirect(after)

    @require_POST
    def sign_out(request: HttpRequest) -> HttpResponseBase:
        id_token = request.session.get(ID_TOKEN)
        request.session.flush()
        return HttpResponseRedirect(after if id_token is None else sign_in.sign_out_url(id_token))

    return [path("sign-in", begin), path("callback", finish), path("sign-out", sign_out)]


def require_signed_in(view: CheckedView[dict[str, Any], Arguments]) -> View[Arguments]:
    """Pass the claims of the user who signed in by `sign_in_urls`; a decorator. The response is otherwise 401."""

    def check(request: HttpRequest) -> dict[str, Any]:
        user: dict[str, Any] | None = request.session.get(USER)
        if user is None:
            raise Unauthenticated("UNAUTHORIZED", "Please sign in")
        return user

    return _require(check)(view)


def error_response(error: ApiError) -> JsonResponse:
    """Return the response for an error."""
    response = JsonResponse(error.body(), status=error.status, headers=error.headers())
    _add_cookies(response, error.cookies)
    return response


def _require(
    check: Callable[[HttpRequest], Checked],
) -> Callable[[CheckedView[Checked, Arguments]], View[Arguments]]:
    def decorate(view: CheckedView[Checked, Arguments]) -> View[Arguments]:
        @wraps(view)
        def checked(
            request: HttpRequest, /, *arguments: Arguments.args, **named: Arguments.kwargs
        ) -> HttpResponseBase:
            try:
                found = check(request)
            except ApiError as error:
                return error_response(error)
            response = view(request, found, *arguments, **named)
            _add_cookies(response, found.cookies if isinstance(found, Caller) else ())
            return response

        return checked

    return decorate


def _add_cookies(response: HttpResponseBase, cookies: tuple[str, ...]) -> None:
    for cookie in cookies:  # Of several with one name, Django keeps the last, which is the current one.
        response.cookies.load(cookie)
