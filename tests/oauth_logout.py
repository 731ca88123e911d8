"""Grants and ID tokens of sessions, for the tests of logout."""

from typing import Any

from domain import tokens
from domain.backchannel_logout.session_ids import sid_of
from domain.jwt.signing_keys import SigningKeys
from domain.oauth.policy import OAuthPolicy
from models.oauth_grant import OauthGrant
from tests import rows
from tests.conftest import Headers
from tests.service import Service


async def session_of(service: Service, headers: Headers) -> Any:
    """Return the session of these headers."""
    return (await service.get("/get-session", headers=headers)).json()["session"]


async def add_grant(service: Service, client_id: str, session: Any, **columns: Any) -> OauthGrant:
    """Store a grant of a session to a client."""
    now = service.clock.now
    grant = OauthGrant(
        id=tokens.token(),
        **{
            "client_id": client_id,
            "user_id": session["userId"],
            "session_id": session["id"],
            "sid": sid_of(service.services.cipher, client_id, session["id"]),
            "scopes": "openid",
            "auth_time": now,
            "expires_at": now.replace(year=now.year + 1),
            "created_at": now,
            "updated_at": now,
            **columns,
        },
    )
    await rows.add(service.services.database, grant)
    return grant


async def id_token(service: Service, client_id: str, session: Any, **claims: Any) -> str:
    """Return an ID token of a session for a client, which has expired when it is used."""
    services, now = service.services, service.clock.now
    values = {
        "iss": services.policy[OAuthPolicy].issuer,
        "aud": client_id,
        "sub": session["userId"],
        "sid": sid_of(services.cipher, client_id, session["id"]),
        "iat": int(now.timestamp()) - 7200,
        "exp": int(now.timestamp()) - 3600,
        **claims,
    }
    return await services.port[SigningKeys].sign(values, now)
