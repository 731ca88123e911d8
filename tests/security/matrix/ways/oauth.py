"""What an application holds of its user: an authorization code, an access token of the session, a refresh token."""

from typing import NamedTuple

from models.oauth_client import OauthClient
from models.oauth_code import OauthCode
from models.oauth_consent import OauthConsent
from models.oauth_grant import OauthGrant
from models.oauth_token import OauthToken
from tests.handlers.steps import bearer
from tests.oauth import OAuthTestClient, add_client
from tests.oauth_codes import redeem, refresh
from tests.oauth_flow import VERIFIER, allow, query_of
from tests.security.matrix.cells import UNPROVEN, Cells, Way, column, ends, stays
from tests.security.matrix.groups import CALLER_ENDS, CALLER_STAYS, SIGN_INS_BY_MAIL
from tests.security.matrix.subject import Subject

_PASSWORD_ENDS = (
    "an administrator sets the password", "the password is reset with a code", "the password is reset with a link",
    "the password is changed and the sessions are revoked",
)  # fmt: skip
_USER_ENDS = ("the user is deleted", "an administrator removes the user", "the user is disowned")


class Held(NamedTuple):
    """A client, and a code or token of it."""

    client: OAuthTestClient
    value: str


async def _code(subject: Subject, scope: str = "openid") -> Held:
    """Return a code that the session of the caller gives to an application, with the user's consent."""
    client = await add_client(
        subject.service,
        scope="openid offline_access",
        grant_types=["authorization_code", "refresh_token"],
    )
    subject.service.client.cookies.clear()
    answer = await allow(subject.service, client, subject.caller, scope=scope)
    return Held(client, query_of(answer)["code"])


async def _access_token(subject: Subject) -> Held:
    client, code = await _code(subject)
    answer = await redeem(subject.service, client, code, verifier=VERIFIER)
    return Held(client, answer.json()["access_token"])


async def _refresh_token(subject: Subject) -> Held:
    client, code = await _code(subject, "openid offline_access")
    answer = await redeem(subject.service, client, code, verifier=VERIFIER)
    return Held(client, answer.json()["refresh_token"])


async def _redeem(subject: Subject, held: Held) -> bool:
    return (await redeem(subject.service, held.client, held.value, verifier=VERIFIER)).status_code == 200


async def _read_user(subject: Subject, held: Held) -> bool:
    answer = await subject.get("/oauth2/userinfo", bearer(held.value))
    return answer.status_code == 200 and answer.json()["sub"] == subject.id


async def _refresh(subject: Subject, held: Held) -> bool:
    return (await refresh(subject.service, held.client, held.value)).status_code == 200


def _of_session() -> tuple[Cells, ...]:
    return column(
        ends("it ends with the session that has authorized it", *CALLER_ENDS),
        ends("the sessions from before the mailbox was proven end", *SIGN_INS_BY_MAIL, users=UNPROVEN),
        rest=stays("the session that has authorized it stays", *CALLER_STAYS, *SIGN_INS_BY_MAIL),
    )


def _of_user() -> tuple[Cells, ...]:
    all_others = (*CALLER_ENDS, *CALLER_STAYS)
    return column(
        ends("an intruder who knew the old password may have connected the application", *_PASSWORD_ENDS),
        ends("every row of the user is deleted", *_USER_ENDS),
        ends("a banned user's applications are refused", "the user is banned"),
        ends(
            "a stranger may have connected it before the mailbox was proven",
            *SIGN_INS_BY_MAIL,
            users=UNPROVEN,
        ),
        rest=stays("offline access outlives the session", *all_others, *SIGN_INS_BY_MAIL),
    )


WAYS = [
    Way("authorization code", _code, _redeem, OauthCode, cells=_of_session()),
    Way(
        "access token of a session",
        _access_token,
        _read_user,
        OauthToken,
        is_read_only=True,
        cells=_of_session(),
    ),
    Way("refresh token", _refresh_token, _refresh, OauthGrant, cells=_of_user()),
]

OTHER_TABLES = {
    OauthClient: "its secret lets an application in as itself",
    OauthConsent: "what need not be asked again; a code still needs a session",
}
