"""Dependencies and a router for FastAPI."""

from collections.abc import Awaitable, Callable, Set
from datetime import timedelta
from typing import Any

from fastapi import APIRouter, HTTPException, Request, Response
from fastapi.responses import RedirectResponse
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..models import ApiKey
from .access_tokens import AccessToken, AccessTokenVerifier
from .callers import NONE, Caller, Requirements
from .errors import ApiError
from .service import NO_PERMISSIONS, Gatewright, Permissions, credentials
from .sign_in import ATTEMPT, ID_TOKEN, USER, SignIn
from .tokens import TokenVerifier
from .webhooks import LARGEST, Delivery, WebhookReceiver, too_large

_COOKIES = "gatewright.cookies"
"""The key of the ASGI scope under which `SessionCookies` collects cookies."""


class SessionCookies:
    """ASGI middleware that sends the cookies of `require_session` with every response of the application.

    FastAPI adds headers of dependencies only to responses that it creates itself. Without this middleware, a response
    that an operation returns, such as a page or a redirect, does not renew the session cookie, and the browser deletes
    the cookie `session.expires_in` after the sign-in.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, and add the cookies that were collected meanwhile to the response."""
        cookies = scope[_COOKIES] = list[str]()

        async def send_with_cookies(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for cookie in cookies:
                    headers.append("Set-Cookie", cookie)
            await send(message)

        await self.app(scope, receive, send_with_cookies)


def require_session(
    service: Gatewright,
    *,
    roles: Set[str] = NONE,
    organization: bool = False,
    organization_roles: Set[str] = NONE,
    max_age: timedelta | None = None,
    verified_email: bool = False,
) -> Callable[[Request, Response], Awaitable[Caller]]:
    """Create a dependency that returns the user of the session, from the cookie or the bearer token.

    The caller must have one of `roles`, must be in an organization, with one of `organization_roles` there, must have
    signed in no longer than `max_age` ago, and must have a verified email address. The responses are 401, 403, 429 and
    503. An application whose operations return responses, such as pages, also needs `SessionCookies`.
    """
    requirements = Requirements(roles, organization, organization_roles, max_age, verified_email)

    async def session(request: Request, response: Response) -> Caller:
        address = request.client.host if request.client else None
        headers = request.headers
        sent = credentials(headers.get("authorization"), headers.get("cookie"), address)
        try:
            caller = await service.acaller(sent, organization=requirements.in_organization)
            requirements.check(caller)
        except ApiError as error:
            raise http_error(error) from error
        collected = request.scope.get(_COOKIES)
        if collected is not None:
            collected.extend(caller.cookies)
            return caller
        for cookie in caller.cookies:
            response.headers.append("Set-Cookie", cookie)
        return caller

    return session


def require_token(
    verifier: TokenVerifier,
    *,
    roles: Set[str] = NONE,
    organization: bool = False,
    organization_roles: Set[str] = NONE,
    max_age: timedelta | None = None,
    verified_email: bool = False,
) -> Callable[[Request], Caller]:
    """Create a dependency that returns the user of a JWT, without a request to the service; see `require_session`."""
    requirements = Requirements(roles, organization, organization_roles, max_age, verified_email)

    # FastAPI runs it in a thread, because it may fetch keys.
    def token(request: Request) -> Caller:
        try:
            caller = verifier.caller(request.headers.get("authorization"))
            requirements.check(caller)
        except ApiError as error:
            raise http_error(error) from error
        return caller

    return token


def require_access_token(verifier: AccessTokenVerifier, *scopes: str) -> Callable[[Request], AccessToken]:
    """Create a dependency that returns the access token of an application, which must have all of these scopes.

    The responses are 401, 403 and 503.
    """

    # FastAPI runs it in a thread, because it may fetch keys.
    def access_token(request: Request) -> AccessToken:
        try:
            return verifier.read(request.headers.get("authorization"), *scopes)
        except ApiError as error:
            raise http_error(error) from error

    return access_token


def require_api_key(
    service: Gatewright, permissions: Permissions = NO_PERMISSIONS, *, header: str = "x-api-key"
) -> Callable[[Request], Awaitable[ApiKey]]:
    """Create a dependency that returns the API key of the request, which must have these permissions."""

    async def api_key(request: Request) -> ApiKey:
        try:
            return await service.aapi_key(request.headers.get(header), permissions)
        except ApiError as error:
            raise http_error(error) from error

    return api_key


def receive_webhook(receiver: WebhookReceiver) -> Callable[[Request], Awaitable[Delivery]]:
    """Create a dependency that returns the event of the request, whose signature is verified."""

    async def delivery(request: Request) -> Delivery:
        body = bytearray()
        try:
            async for chunk in request.stream():
                body += chunk
                if len(body) > LARGEST:
                    raise too_large()
            return receiver.read(bytes(body), request.headers)
        except ApiError as error:
            raise http_error(error) from error

    return delivery


def sign_in_router(sign_in: SignIn, *, after: str = "/") -> APIRouter:
    """Create the routes `/sign-in`, `/callback` and, by POST, `/sign-out`. They need Starlette's SessionMiddleware.

    `after` is the path that users return to. `signed_in_user` returns the user.
    """
    router = APIRouter(include_in_schema=False)

    @router.get("/sign-in")
    def begin(request: Request) -> Response:
        url, request.session[ATTEMPT] = sign_in.begin()
        return RedirectResponse(url, 303)

    @router.get("/callback")
    def finish(request: Request) -> Response:
        try:
            signed_in = sign_in.finish(request.query_params, request.session.pop(ATTEMPT, None))
        except ApiError as error:
            raise http_error(error) from error
        request.session.clear()
        request.session.update({USER: signed_in.user, ID_TOKEN: signed_in.id_token})
        return RedirectResponse(after, 303)

    @router.post("/sign-out")
    def sign_out(request: Request) -> Response:
        id_token = request.session.get(ID_TOKEN)
        request.session.clear()
        return RedirectResponse(after if id_token is None else sign_in.sign_out_url(id_token), 303)

    return router


def signed_in_user(request: Request) -> dict[str, Any]:
    """Return the claims of the user who signed in by `sign_in_router`; a dependency. The response is otherwise 401."""
    user: dict[str, Any] | None = request.session.get(USER)
    if user is None:
        raise HTTPException(401, {"message": "Please sign in", "code": "UNAUTHORIZED"})
    return user


def http_error(error: ApiError) -> HTTPException:
    """Return the exception for an error. It can carry only one cookie, which is the last one."""
    cookies = {"Set-Cookie": error.cookies[-1]} if error.cookies else {}
    return HTTPException(error.status, error.body(), {**error.headers(), **cookies})
