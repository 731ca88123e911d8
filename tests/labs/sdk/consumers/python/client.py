"""The client of the service that the environment names, and what was mailed."""

import json
import os
import time
from pathlib import Path
from typing import TypeVar
from urllib.parse import parse_qs, urlsplit

from gatewright_client import AuthenticatedClient, Client, models
from gatewright_client.api.authentication import sign_in_email

ROOT = os.environ["SERVICE_ROOT"]
PROVIDER = os.environ["PROVIDER_ISSUER"]
MAILS = Path(os.environ["MAIL_FILE"])
PASSWORD, NEW_PASSWORD = "correct horse battery", "four more words than before"
ADA = "ada@example.com"
TIMEOUT = 10.0

Answer = TypeVar("Answer")

nobody = Client(base_url=ROOT)


def of(answer: object, kind: type[Answer]) -> Answer:
    """Return an answer of the kind that is expected; anything else, an error above all, ends the journey."""
    assert isinstance(answer, kind), answer
    return answer


def ok(answer: object) -> None:
    """See that an answer is no error, and that there is one."""
    assert answer is not None
    assert not isinstance(answer, models.Error), answer


def holding(token: str) -> AuthenticatedClient:
    """Return the client of a session or of a pending sign-in."""
    return AuthenticatedClient(base_url=ROOT, token=token)


def sent(template: str, to: str) -> list[dict[str, str]]:
    """Return the mails that were sent so far, oldest first."""
    lines = MAILS.read_text("utf-8").splitlines() if MAILS.exists() else []
    return [each for each in map(json.loads, lines) if (each["template"], each["to"]) == (template, to)]


def mail(template: str, to: str, besides: int = 0) -> dict[str, str]:
    """Wait for a mail in addition to those that were sent before; return the newest one."""
    end = time.monotonic() + TIMEOUT
    while time.monotonic() < end:
        mails = sent(template, to)
        if len(mails) > besides:
            return mails[-1]
        time.sleep(0.05)
    raise AssertionError(f"no mail {template} to {to}")


def token_in(link: str) -> str:
    """Return the token that a mailed link carries."""
    address = urlsplit(link)
    return parse_qs(address.query).get("token", [address.path.rpartition("/")[2]])[0]


def signed_in(password: str = PASSWORD, email: str = ADA) -> AuthenticatedClient:
    """Sign in with the address."""
    answer = sign_in_email.sync(client=nobody, body=models.SignInEmailRequest(email=email, password=password))
    return holding(of(answer, models.SignInAnswer).token)


def administrator() -> AuthenticatedClient:
    """Sign in as the administrator."""
    return signed_in(email=os.environ["ADMIN_EMAIL"])
