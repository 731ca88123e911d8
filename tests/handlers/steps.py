"""Steps that many tests of operations take: join, look around, read a mail, change a row behind the service's back."""

import asyncio
from typing import Any

import httpx
from sqlalchemy import delete, text, update
from sqlmodel import SQLModel, col

from codegen.walk import Operation
from models import CREDENTIAL, Account, User
from tests.conftest import Headers
from tests.service import BASE_URL, PASSWORD, Service
from tests.settings.api_keys import VERIFIER

ADA = "ada@example.com"
EVE = "eve@example.com"
NEW_ADDRESS = "ada.king@example.com"
NEW_PASSWORD = "four more words than before"
UNKNOWN = "x" * 32
"""Of the form of a token, and none."""
AT = "2026-01-01T12:00:00.000Z"
"""The moment at which every test begins, as answers write it."""
WRONG_USERNAMES = [
    (username, f"USERNAME_TOO_{what.upper()}", f"Username is too {what}")
    for what, usernames in (("short", ["", "ab"]), ("long", ["a" * 31, "\U0001f600" * 31]))
    for username in usernames
] + [
    (username, "INVALID_USERNAME", "Username is invalid")
    for username in ("ada lovelace", "ada-l", "ad\u00e4", "ada\u0661", "ada\n", "a\u200bb", "\u212aelvin",
                     "\uff4dike", "m\u0131ke", "\U0001d426ike")
]  # fmt: skip
"""What is no username, with code and message."""
AUGUSTA = {"name": "Augusta Ada King", "email": "ada.lovelace@example.com", "username": "Countess_of_L"}
WRONG_PASSWORDS = [
    (password, f"PASSWORD_TOO_{what.upper()}", f"Password {'is ' if what == 'common' else ''}too {what}")
    for what, passwords in {
        "long": ["a " * 513, "a " * 64 + "a", "\ufdfa" * 8],
        "short": ["", "a b c d", "e\u0301" * 7],
        "common": ["password", "PassWord", "\uff50\uff41\uff53\uff53word", "12345678", "ada.lovelace@example.com",
                   "Ada.Lovelace", "countess_of_l", "augusta ada king", "gatewright"],
    }.items()
    for password in passwords
]  # fmt: skip
"""What Augusta may not have as a new password, with code and message."""
CLEARED = "service.session-token=; Path=/; SameSite=Lax; Max-Age=0; HttpOnly; Secure"


def bearer(token: str) -> Headers:
    return {"Authorization": f"Bearer {token}"}


def credentials_for(operation: Operation, session: Headers) -> Headers:
    """Return the headers with which an operation is asked: those of a session, or of a service that verifies keys."""
    return bearer(VERIFIER) if operation.spec.get("security") == [{"verifierAuth": []}] else session


def token_of(headers: Headers) -> str:
    """Return the token that a caller's headers carry."""
    value = headers.get("Authorization") or headers["Cookie"]
    return value.replace("Bearer ", "").replace("service.session-token=", "")


FURTHER_KEYS = {
    "VALIDATION_ERROR": "fields",
    "PASSWORD_TOO_SHORT": "minimumLength",
    "PASSWORD_TOO_LONG": "maximumLength",
    "DISCOVERY_FAILED": "reason",
    "INVALID_USER_CODE": "error error_description",
    "EXPIRED_USER_CODE": "error error_description",
    "DEVICE_CODE_ALREADY_PROCESSED": "error error_description",
    "SSO_REQUIRED": "url providerId",
}
"""The further keys of certain errors, by their code, separated by spaces."""


def refusal(answer: httpx.Response) -> tuple[int, str, str]:
    """Return status, code and message of an error, which has no further keys but those of its code."""
    body = answer.json()
    further = FURTHER_KEYS.get(body["code"], "").split()
    assert list(body) == ["message", "code", *further], body
    return answer.status_code, body["code"], body["message"]


def code(answer: httpx.Response) -> str:
    """Return status and code of an error, as in `400 INVALID_TOKEN`; of a success only the status."""
    return (
        f"{answer.status_code} {refusal(answer)[1]}" if answer.status_code >= 400 else str(answer.status_code)
    )


def looks(answer: httpx.Response) -> tuple[int, str, list[tuple[str, str]]]:
    """Return all that tells one answer from another, but for what is random in every answer."""
    headers = [(name, value) for name, value in answer.headers.multi_items() if name != "x-request-id"]
    return answer.status_code, answer.text, headers


async def join(service: Service, email: str = ADA, password: str = PASSWORD, **more: Any) -> Headers:
    """Make a user; give the headers of their session, by bearer."""
    body = {"name": email.partition("@")[0].title(), "email": email, "password": password, **more}
    answer = await service.post("/sign-up/email", body)
    assert answer.status_code == 200, answer.text
    return bearer(answer.json()["token"])


async def join_without_session(service: Service, email: str) -> None:
    """Sign up where that opens no session, and nobody is told whether the address is taken."""
    answer = await service.post("/sign-up/email", {"name": "Ada", "email": email, "password": PASSWORD})
    assert (answer.status_code, answer.json()["token"]) == (200, None), answer.text


async def sign_in(
    service: Service, email: str = ADA, password: str = PASSWORD, **more: Any
) -> httpx.Response:
    return await service.post("/sign-in/email", {"email": email, "password": password, **more})


async def opens(service: Service, password: str, email: str = ADA) -> bool:
    """Return whether a password signs in."""
    return (await sign_in(service, email, password)).status_code == 200


async def works(service: Service, headers: Headers) -> bool:
    """Return whether a session is alive."""
    return (await service.get("/get-session", headers=headers)).status_code == 200


async def user_of(service: Service, headers: Headers) -> dict[str, Any]:
    """Return the user behind a session."""
    answer = await service.get("/get-session", headers=headers)
    assert answer.status_code == 200, answer.text
    user: dict[str, Any] = answer.json()["user"]
    return user


def reduced(user: dict[str, Any]) -> dict[str, Any]:
    """Return the seven keys of a user that answers of authentication carry."""
    keys = ("id", "email", "name", "image", "emailVerified", "createdAt", "updatedAt")
    return {key: user[key] for key in keys}


def token_in(link: str) -> str:
    """Return the token in a mailed link."""
    url = httpx.URL(link)
    return url.params["token"] if "token" in url.params else url.path.rpartition("/")[2]


PAGES = {
    "/account/verify-email?token=": "/verify-email?token=",
    "/account/reset-password?token=": "/reset-password/",
    "/account/delete?token=": "/delete-user/callback?token=",
}
"""The hosted pages that mails lead to, and the operations that take the same tokens."""


def local(link: str) -> str:
    """Return a mailed link without the origin, for a GET: of a hosted page the operation that takes the same token."""
    assert link.startswith(f"{BASE_URL}/"), link
    path = link.removeprefix(BASE_URL)
    page = next((page for page in PAGES if path.startswith(page)), None)
    return path if page is None else PAGES[page] + path.removeprefix(page)


async def last_link(service: Service, template: str, to: str | None = None) -> str:
    """Deliver what is due, and give the link in the newest mail of a kind."""
    link: str = (await service.inbox(to, template))[-1]["link"]
    return link


async def reset_token(service: Service, email: str = ADA) -> str:
    """Ask for a password reset, and give the mailed token."""
    answer = await service.post("/request-password-reset", {"email": email})
    assert answer.status_code == 200, answer.text
    return token_in(await last_link(service, "reset-password", email))


async def deletion_token(service: Service, headers: Headers, to: str = ADA) -> str:
    """Ask for a deletion link where `delete_user.confirm_by_mail` is on, and give its token."""
    answer = await service.post("/delete-user", {}, headers=headers)
    assert answer.json()["message"] == "Verification email sent"
    return token_in(await last_link(service, "delete-account", to))


async def change_token(service: Service, headers: Headers, new: str = NEW_ADDRESS) -> str:
    """Ask for a change of a verified address, and give the token of the link."""
    answer = await service.post("/change-email", {"newEmail": new}, headers=headers)
    assert answer.json() == {"status": True, "message": "Email updated", "verificationSent": True}
    return token_in(await last_link(service, "change-email", new))


async def verify(service: Service, email: str = ADA) -> None:
    """Follow the link of the newest verification mail."""
    answer = await service.get(local(await last_link(service, "verify-email", email)))
    assert answer.status_code == 200, answer.text


async def change_address(service: Service, session: Headers, old: str, new: str) -> None:
    """Change the address of the caller, with the links that both mailboxes get."""
    await service.post("/change-email", {"newEmail": new}, headers=session)
    if not await service.inbox(new, "change-email"):
        link = await last_link(service, "change-email", old)
        await service.get("/verify-email", params={"token": token_in(link)})
    link = await last_link(service, "change-email", new)
    await service.get("/verify-email", params={"token": token_in(link)})
    assert await service.rows('SELECT id FROM "user" WHERE email = :email', email=new)


async def set_user(service: Service, email: str = ADA, **values: Any) -> None:
    """Change a user's row as an operator does."""
    await _execute(service, update(User).where(col(User.email) == email).values(**values))


async def set_hash(service: Service, hashed: str | None) -> None:
    """Put a password hash, as an import does, into every credential account."""
    await _execute(
        service, update(Account).where(col(Account.provider_id) == CREDENTIAL).values(password=hashed)
    )


async def remove_passwords(service: Service) -> None:
    """Leave every user without a credential account, as those are who came through a provider."""
    await _execute(service, delete(Account))


async def count(service: Service, model: type[SQLModel]) -> int:
    """Return the number of rows in a table."""
    [row] = await service.rows(f'SELECT count(*) AS n FROM "{model.__tablename__}"')
    number: int = row.n
    return number


async def execute(service: Service, statement: str, **values: Any) -> None:
    """Change the database directly, by SQL."""
    await _execute(service, text(statement).bindparams(**values))


async def until_blocked(service: Service) -> None:
    """Return once a statement on this PostgreSQL waits for a lock that somebody holds."""
    waiting = (
        "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    )
    async with asyncio.timeout(10):
        while not await service.rows(waiting):
            pass


async def _execute(service: Service, statement: Any) -> None:
    async with service.services.database.transaction() as session:
        await session.execute(statement)
