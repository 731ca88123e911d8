"""What the provider holds in memory: its controls, its keys, its users, what it issued, and the requests it saw."""

import dataclasses
import time
from dataclasses import dataclass, field
from threading import Event, RLock
from typing import Any

from authlib.oauth2.rfc6749 import ClientMixin, TokenMixin
from authlib.oidc.core import AuthorizationCodeMixin

from tests.labs.provider.keys import Keys

Claims = dict[str, Any]

CLIENT_ID = "gatewright"
CLIENT_SECRET = "gatewright-secret"


def person(subject: str, name: str, *, verified: bool = True) -> Claims:
    """Return the claims of a user of this provider."""
    email = f"{name.lower()}@example.com"
    picture = f"https://pictures.example.com/{subject}.png"
    return {"sub": subject, "email": email, "email_verified": verified, "name": name, "picture": picture}


PEOPLE = (person("1001", "Ada"), person("1002", "Bob"), person("1003", "Eve", verified=False))
"""Who has a button on the page; the first is who signs in unless a test says otherwise."""


@dataclass
class Controls:
    """What a test may set; each begins anew with a reset."""

    user: Claims | None = None
    """Claims of who signs in, over those of the first test user; null removes one. None asks on a page."""
    misbehave: dict[str, dict[str, Any]] = field(default_factory=dict)
    id_token: Claims = field(default_factory=dict)
    id_token_header: dict[str, Any] = field(default_factory=dict)
    sign_with: str = "own"
    algorithm: str = "RS256"
    expires_in: int | None = 3600
    refresh_expires_in: int | None = None
    omit_refresh_token: bool = False
    announce_iss: bool = False
    send_iss: bool | str = False
    callback_error: dict[str, str] | None = None
    now: float | None = None
    """What this provider takes for the time, in seconds since 1970; None is the machine's clock."""

    def merge(self, changes: dict[str, Any]) -> None:
        """Take over changes; tables are merged by key. Raises KeyError for a name that is none."""
        fresh = Controls()
        for name, value in changes.items():
            if name not in {known.name for known in dataclasses.fields(self)}:
                raise KeyError(name)
            old = getattr(self, name)
            merged = {**(old or {}), **value} if isinstance(value, dict) else value
            setattr(self, name, getattr(fresh, name) if value is None else merged)


class Client(ClientMixin):  # type: ignore[misc]
    """The one client, of which all is known beforehand."""

    client_id = CLIENT_ID
    id_token_signed_response_alg = "RS256"

    def get_client_id(self) -> str:
        return self.client_id

    def get_default_redirect_uri(self) -> None:
        return None

    def get_allowed_scope(self, scope: str | None) -> str:
        return scope or ""

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        origin, separator, _ = redirect_uri.partition("/callback/")
        return bool(separator) and origin.startswith(("http://127.0.0.1", "http://localhost", "http://[::1]"))

    def check_client_secret(self, client_secret: str) -> bool:
        return client_secret == CLIENT_SECRET

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        return method != "none"

    def check_response_type(self, response_type: str) -> bool:
        return response_type == "code"

    def check_grant_type(self, grant_type: str) -> bool:
        return True


CLIENT = Client()


@dataclass
class Code(AuthorizationCodeMixin):  # type: ignore[misc]
    """An authorization code that was given out."""

    code: str
    redirect_uri: str
    scope: str
    user: Claims
    nonce: str | None
    code_challenge: str | None
    code_challenge_method: str | None
    auth_time: int

    def get_redirect_uri(self) -> str:
        return self.redirect_uri

    def get_scope(self) -> str:
        return self.scope

    def get_nonce(self) -> str | None:
        return self.nonce

    def get_auth_time(self) -> int:
        return self.auth_time


@dataclass
class Token(TokenMixin):  # type: ignore[misc]
    """An access token with its refresh token. Its end is for the client to heed; only revoking ends it here."""

    access_token: str
    refresh_token: str | None
    scope: str
    user: Claims
    revoked: bool = False

    def check_client(self, client: Client) -> bool:
        return client is CLIENT

    def get_scope(self) -> str:
        return self.scope

    def get_user(self) -> Claims:
        return self.user

    def get_client(self) -> Client:
        return CLIENT

    def is_expired(self) -> bool:
        return False

    def is_revoked(self) -> bool:
        return self.revoked


@dataclass
class State:
    """Everything one running provider knows."""

    name: str
    issuer: str = ""
    controls: Controls = field(default_factory=Controls)
    codes: dict[str, Code] = field(default_factory=dict)
    tokens: list[Token] = field(default_factory=list)
    log: list[dict[str, Any]] = field(default_factory=list)
    lock: RLock = field(default_factory=RLock)
    released: Event = field(default_factory=Event)
    """Set when answers that are held back may go."""
    generation: int = 0
    key_rings: list[Keys] = field(default_factory=list)

    def keys(self) -> Keys:
        """Return the present keys; made at first use, and again the same ones after a reset."""
        with self.lock:
            while len(self.key_rings) <= self.generation:
                self.key_rings.append(Keys.generate(f"{self.name}-{len(self.key_rings)}"))
            return self.key_rings[self.generation]

    def release(self) -> None:
        """Release the answers that are held back, so that none outlives its test."""
        with self.lock:
            self.released.set()
            self.released = Event()

    def reset(self) -> None:
        """Forget everything but the first keys, which clients may have cached."""
        self.release()
        with self.lock:
            self.controls = Controls()
            self.codes.clear()
            self.tokens.clear()
            self.log.clear()
            self.generation = 0

    def now(self) -> int:
        """Return the time that tokens are dated by, in seconds since 1970."""
        return int(time.time() if self.controls.now is None else self.controls.now)

    def decided_user(self, login_hint: str | None) -> Claims | None:
        """Return who signs in without being asked, or None when the page shall ask."""
        if self.controls.user is not None:
            return {**PEOPLE[0], **self.controls.user}
        if not login_hint:
            return None
        known = [one for one in PEOPLE if one["email"] == login_hint]
        name = login_hint.partition("@")[0].title()
        return known[0] if known else {**person(f"of {login_hint}", name), "email": login_hint}
