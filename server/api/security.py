"""Authentication: the security requirement of an operation, compiled once into an instance of a class."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from connexion.security import (
    ApiKeySecurityHandler,
    BasicSecurityHandler,
    BearerSecurityHandler,
    SecurityHandlerFactory,
)

from domain import errors, tokens
from domain.context import Caller
from domain.policy import Cookies
from domain.two_factor import challenges
from domain.two_factor.errors import InvalidTwoFactorCookie
from handlers.responses import cookies
from handlers.responses.reply import Header
from server.api.interfaces import ApiKeys, Challenges, Dependencies, Sessions
from server.api.request import Request, Security

VERIFIER_TOKEN = "verifier token"  # noqa: S105 - the format that the contract gives of such tokens
"""The `bearerFormat` of the tokens of services that verify API keys."""

PROTOCOL_TOKENS = frozenset({"OAuth token", "SCIM token"})
"""The `bearerFormat` of the tokens of other protocols, whose rules check them."""


@dataclass(frozen=True, slots=True)
class Credential:
    """The location of the token of a security scheme: `cookie`, `header`, or the Bearer header if both are None."""

    cookie: bytes | None = None
    header: bytes | None = None
    pending: bool = False
    verifier: bool = False
    protocol: bool = False
    """Whether the credential belongs to another protocol. It is then checked by the rule of the operation, not here."""


@dataclass(frozen=True, slots=True)
class AllowAnyone:
    """Authentication of a public operation; session credentials are ignored."""

    async def authenticate(self, request: Request) -> None:
        """Accept the request with or without credentials."""


@dataclass(frozen=True, slots=True)
class RequireSession:
    """Authentication that requires a session; if `optional`, a request without a session is accepted, too."""

    sessions: Sessions
    cookie: bytes
    policy: Cookies
    optional: bool

    async def authenticate(self, request: Request) -> None:
        """Find the session by the Bearer header if sent, else by the cookie. Raises Unavailable, Unauthenticated."""
        bearer = request.head.bearer()
        request.by_cookie = by_cookie = bearer is None
        values = request.head.cookies(self.cookie) if bearer is None else (bearer,)
        sent = tokens.presented(values)  # defence: V28 bearer-only, JWT3 length
        if sent:
            request.caller = await self.sessions.find(sent, request.now, by_cookie=by_cookie)
            if request.caller is not None:
                return
        # A browser would otherwise send the dead cookie with every request from now on.
        if by_cookie and values:
            # defence: V27 clear-cookie
            request.cookies += cookies.clear_sessions(self.policy, request.head.cookies)
        if not self.optional:  # defence: V27 session-required
            raise errors.Unauthenticated


@dataclass(frozen=True, slots=True)
class RequireSessionOrKey:
    """Authentication that requires a session or an API key. If the key's header is sent, the session is ignored."""

    keys: ApiKeys
    header: bytes
    session: RequireSession

    async def authenticate(self, request: Request) -> None:
        """Find the caller by the API key if one was sent, else by the session.

        Raises Unavailable, Unauthenticated, ValidationError, and the refusal that says why a key is not accepted.
        """
        sent = request.head.every(self.header)
        if not sent:
            await self.session.authenticate(request)
        # It is ambiguous which key counts, and a proxy may have checked the other one.
        elif len(sent) > 1:  # defence: KEY22 one-key
            raise errors.ValidationError(f"{self.header.decode()} must be sent once")
        else:
            request.caller = await self.keys.find(sent[0].decode("latin-1"), request)


@dataclass(frozen=True, slots=True)
class RequireVerifier:
    """Authentication that requires the token of a service that verifies API keys."""

    keys: ApiKeys

    async def authenticate(self, request: Request) -> None:
        """Find the name of the service by the token in the Bearer header. Raises Unauthenticated."""
        request.verifier = self.keys.verifier(request.head.bearer() or "")
        if request.verifier is None:  # defence: KEY14 verifier
            raise errors.Unauthenticated


@dataclass(frozen=True, slots=True)
class RequireChallenge:
    """Authentication that requires a pending two-factor token or a session; an invalid credential counts as absent."""

    sessions: Sessions
    challenges: Challenges
    session_cookie: bytes
    pending_cookie: bytes
    policy: Cookies
    forget_pending: tuple[Header, ...]

    async def authenticate(self, request: Request) -> None:
        """Find the challenge, or else the session; a Bearer header takes precedence over a cookie.

        Raises Unavailable, InvalidTwoFactorCookie.
        """
        head = request.head
        token = head.bearer()
        bearer = () if token is None else (token,)
        pending, session = head.cookies(self.pending_cookie), head.cookies(self.session_cookie)
        # The pending token first: the official client still sends an older session token while its user enters the
        # code.
        for values, by_cookie in ((bearer, False), (pending, True)):
            request.challenge = await self._challenge(values, request.now, by_cookie=by_cookie)
            if request.challenge is not None:
                request.by_cookie = by_cookie
                request.ending = self.forget_pending if by_cookie or token in pending else ()
                return
        if pending:
            request.cookies += self.forget_pending
        for values, by_cookie in ((bearer, False), (session, True)):
            request.caller = await self._caller(values, request.now, by_cookie=by_cookie)
            if request.caller is not None:
                request.by_cookie = by_cookie
                return
        if session:
            request.cookies += cookies.clear_sessions(self.policy, head.cookies)
        raise InvalidTwoFactorCookie

    async def _challenge(self, values: Sequence[str], now: datetime, *, by_cookie: bool) -> Any:
        sent = tokens.presented(values, challenges.has_form)
        return await self.challenges.find(sent, now, by_cookie=by_cookie) if sent else None

    async def _caller(self, values: Sequence[str], now: datetime, *, by_cookie: bool) -> Caller | None:
        sent = tokens.presented(values)
        return await self.sessions.find(sent, now, by_cookie=by_cookie) if sent else None


def security_map(policy: Cookies) -> dict[str, type]:
    """Return Connexion's map from scheme type to handler. The handlers return a `Credential`: where the token is sent.

    A cookie has its default name in the contract, and its configured name in the `Credential`.
    """

    class Bearer(BearerSecurityHandler):
        def get_fn(self, security_scheme: dict[str, Any], required_scopes: list[str]) -> Credential:
            kind = security_scheme.get("bearerFormat")
            return Credential(verifier=kind == VERIFIER_TOKEN, protocol=kind in PROTOCOL_TOKENS)

    class Basic(BasicSecurityHandler):
        def get_fn(self, security_scheme: dict[str, Any], required_scopes: list[str]) -> Credential:
            return Credential(protocol=True)

    class NamedPlace(ApiKeySecurityHandler):
        def get_fn(self, security_scheme: dict[str, Any], required_scopes: list[str]) -> Credential | None:
            name = security_scheme["name"]
            if security_scheme["in"] == "header":
                return Credential(header=name.lower().encode())
            if security_scheme["in"] != "cookie":
                return None
            if name != policy.session_name and name.endswith(cookies.PENDING):
                return Credential(cookies.pending_name(policy).encode(), pending=True)
            return Credential(policy.session_name.encode())

    return {"bearer": Bearer, "basic": Basic, "apiKey": NamedPlace}


class SecurityCompiler:
    """A compiler of security requirements. Connexion's `factory` finds where the token of each scheme is sent."""

    def __init__(self, factory: SecurityHandlerFactory, policy: Cookies, dependencies: Dependencies):
        self._factory = factory
        self._policy = policy
        self._sessions = dependencies.sessions
        self._challenges = dependencies.challenges
        self._api_keys = dependencies.api_keys

    def compile(self, operation: Any, *, without_session: bool) -> Security:
        """Return the authentication of an operation; `without_session` makes a required session optional.

        Raises ValueError if the contract has a requirement that cannot be checked: the service must not start then.
        """
        if operation.security is None:
            # An operation without a requirement would be public by mistake.
            raise ValueError(f"{operation.operation_id}: the contract states no security")
        if not operation.security:
            return AllowAnyone()
        credentials = [
            self._credential(operation, requirement) for requirement in operation.security if requirement
        ]
        if any(credential.pending for credential in credentials):
            return self._for_challenges()
        if any(credential.verifier for credential in credentials):
            return RequireVerifier(self._api_keys)
        if any(credential.protocol for credential in credentials):  # defence: O22 no-session
            return AllowAnyone()
        # Otherwise an operation would silently be closed to browsers or to mobile applications.
        if not {None, self._policy.session_name.encode()} <= {
            credential.cookie for credential in credentials
        }:
            raise ValueError(
                f"{operation.operation_id}: the contract must accept both Bearer header and cookie"
            )
        optional = without_session or any(not requirement for requirement in operation.security)
        # defence: V41 cookie-setting
        session = RequireSession(self._sessions, self._policy.session_name.encode(), self._policy, optional)
        header = next((one.header for one in credentials if one.header), None)
        # defence: KEY11 sessions-setting
        if header is None or not self._api_keys.are_sessions:
            return session
        return RequireSessionOrKey(self._api_keys, header, session)

    def _credential(self, operation: Any, requirement: dict[str, list[str]]) -> Credential:
        presented = [
            self._factory.parse_security_scheme(operation.security_schemes[name], scopes)
            for name, scopes in requirement.items()
        ]
        if len(presented) != 1 or not isinstance(presented[0], Credential):
            raise ValueError(
                f"{operation.operation_id}: no check exists for the security {sorted(requirement)}"
            )
        return presented[0]

    def _for_challenges(self) -> RequireChallenge:
        return RequireChallenge(
            sessions=self._sessions,
            challenges=self._challenges,
            session_cookie=self._policy.session_name.encode(),
            pending_cookie=cookies.pending_name(self._policy).encode(),
            policy=self._policy,
            forget_pending=(cookies.clear_pending(self._policy),),
        )
