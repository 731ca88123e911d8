"""Check requests of the token endpoint with Authlib, without a framework, storage or I/O.

Authlib asks for the client, the code and the refresh token through callbacks. They return the rows that the caller, the
code in `domain.oauth`, has read before. Authlib checks the grant type, the code verifier, the redirect URI and the
scope. The caller authenticates the client before and issues the tokens afterwards.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from authlib.oauth2 import OAuth2Error, OAuth2Request
from authlib.oauth2.rfc6749 import AuthorizationServer, OAuth2Payload, grants
from authlib.oauth2.rfc6750 import BearerTokenGenerator
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oauth2.rfc8628 import DeviceCodeGrant

from domain.oauth.engine import Presented
from domain.oauth_clients import errors
from domain.oauth_clients.errors import OAuthError
from domain.oauth_clients.parameters import OAuthParameters
from models.oauth_client import ClientRow

_URI = "https://service.invalid/oauth2/token"
"""Authlib refuses plain HTTP; whether that is allowed is a setting of the service."""

_ERRORS: Mapping[str, type[OAuthError]] = {
    kind.error: kind
    for kind in (
        errors.InvalidRequest,
        errors.InvalidGrant,
        errors.InvalidScope,
        errors.UnauthorizedClient,
        errors.UnsupportedGrantType,
    )
}
"""Our errors by their names. Those of Authlib repeat parts of the request."""


class _Client:
    """A client in one request, as Authlib sees it."""

    def __init__(self, row: ClientRow, grant_type: str | None) -> None:
        self._metadata = row.metadata
        self._acts_for_itself = grant_type == grants.ClientCredentialsGrant.GRANT_TYPE

    def get_client_id(self) -> None:
        """Return nothing, because the caller has checked that the code belongs to the client."""

    def check_grant_type(self, grant_type: str) -> bool:
        return grant_type in self._metadata["grant_types"]

    def get_allowed_scope(self, scope: str | None) -> str | None:
        """Return those of the requested scopes that the client may have; None if there are none.

        With the client credentials grant, `scope` None requests all that the client may have, and the result is None
        also if the client may not have one of the requested scopes.
        """
        if self._acts_for_itself:
            allowed: Sequence[str] = self._metadata.get("client_credentials_scopes", ())
            asked = allowed if scope is None else scope.split()
            # defence: O10 own-scopes
            return " ".join(dict.fromkeys(asked)) or None if set(asked) <= set(allowed) else None
        # A scope may have been taken from the client since it was granted.
        allowed = self._metadata.get("scope", "").split()  # defence: O10 client-scopes
        kept = dict.fromkeys(one for one in (scope or "").split() if one in allowed)
        return " ".join(kept) or None


class _Payload(OAuth2Payload):  # type: ignore[misc]  # Authlib has no types
    """The parameters of a request."""

    def __init__(self, parameters: OAuthParameters) -> None:
        self._data = {name: values[0] for name, values in parameters.values.items()}

    @property
    def data(self) -> Mapping[str, str]:
        return self._data

    @property
    def datalist(self) -> Mapping[str, Sequence[str]]:
        return defaultdict(list, {name: [value] for name, value in self._data.items()})


class _Request(OAuth2Request):  # type: ignore[misc]  # Authlib has no types
    """One request with the rows that belong to it."""

    def __init__(self, client: ClientRow, parameters: OAuthParameters, presented: Presented | None) -> None:
        super().__init__("POST", _URI)
        self.payload = _Payload(parameters)
        self.presented = None if presented is None else _Presented(presented, self.payload.redirect_uri)
        self.authenticated = _Client(client, self.payload.grant_type)

    @property
    def form(self) -> Mapping[str, str]:
        form: Mapping[str, str] = self.payload.data
        return form


class _Presented:
    """A code, a refresh token or a device code, as Authlib sees it."""

    code_challenge_method = "S256"

    def __init__(self, row: Presented, redirect_uri: str | None) -> None:
        self._row = row
        # OAuth 2.1 does not require the parameter here; it must be equal if it is sent.
        self._redirect_uri = None if redirect_uri is None else row.redirect_uri
        # A request for a code without a challenge is refused; should one exist, no verifier fits.
        self.code_challenge = row.code_challenge or "-"

    def is_expired(self) -> bool:
        # The rule has checked it.
        return False

    def get_user_code(self) -> None:
        """Return nothing, because the caller has checked the decision of the user."""

    def get_client_id(self) -> None:
        """Return nothing, as `_Client` does, because the caller has compared the clients."""

    def get_redirect_uri(self) -> str | None:
        return self._redirect_uri

    def get_scope(self) -> str:
        return self._row.scopes

    def check_client(self, client: _Client) -> bool:
        # The rule has checked it.
        return True


class _CodeGrant(grants.AuthorizationCodeGrant):  # type: ignore[misc]  # Authlib has no types
    def query_authorization_code(self, code: str, client: _Client) -> _Presented | None:
        presented: _Presented | None = self.request.presented
        return presented

    def authenticate_user(self, authorization_code: _Presented) -> object:
        # The rule has checked the user.
        return authorization_code

    def delete_authorization_code(self, authorization_code: _Presented) -> None:
        """Do nothing, because the caller redeems the code."""


class _RefreshGrant(grants.RefreshTokenGrant):  # type: ignore[misc]  # Authlib has no types
    def authenticate_refresh_token(self, refresh_token: str) -> _Presented | None:
        presented: _Presented | None = self.request.presented
        return presented

    def authenticate_user(self, refresh_token: _Presented) -> object:
        # The rule has checked the user.
        return refresh_token

    def revoke_old_credential(self, refresh_token: _Presented) -> None:
        """Do nothing, because the caller rotates the token."""


class _DeviceGrant(DeviceCodeGrant):  # type: ignore[misc]  # Authlib has no types
    def query_device_credential(self, device_code: str) -> _Presented | None:
        presented: _Presented | None = self.request.presented
        return presented

    def query_user_grant(self, user_code: None) -> tuple[object, bool]:
        # The rule has taken an approved request.
        return self.request.presented, True


class _S256(CodeChallenge):  # type: ignore[misc]  # Authlib has no types
    """PKCE by S256, which every client needs."""

    SUPPORTED_CODE_CHALLENGE_METHOD: Sequence[str] = ("S256",)
    DEFAULT_CODE_CHALLENGE_METHOD = "S256"


class _Server(AuthorizationServer):  # type: ignore[misc]  # Authlib has no types
    def __init__(self) -> None:
        super().__init__()
        self.register_grant(_CodeGrant, [_S256()])  # defence: O3 code-challenge
        self.register_grant(_RefreshGrant)
        self.register_grant(_DeviceGrant)
        self.register_grant(grants.ClientCredentialsGrant)
        self.register_token_generator("default", BearerTokenGenerator(_no_token))

    def authenticate_client(self, request: _Request, methods: object, endpoint: str = "token") -> _Client:
        # The rule has authenticated the client.
        return request.authenticated

    def save_token(self, token: object, request: _Request) -> None:
        """Do nothing, because the caller issues the tokens."""

    def send_signal(self, name: str, *args: object, **kwargs: object) -> None:
        """Do nothing."""


def _no_token(**_: object) -> str:
    return ""


_SERVER = _Server()


def decide(client: ClientRow, parameters: OAuthParameters, presented: Presented | None = None) -> str:
    """Check a request of the token endpoint; return the scopes of the tokens to issue, separated by spaces.

    `presented` is the stored code or token that the request contains. Raises an OAuthError. Implements
    `domain.oauth.engine.TokenEngine`.
    """
    try:
        grant = _SERVER.get_token_grant(_Request(client, parameters, presented))
        grant.validate_token_request()
        _, response, _ = grant.create_token_response()
    except OAuth2Error as error:
        raise _ERRORS[error.error] from None
    scopes: str = response["scope"]
    return scopes
