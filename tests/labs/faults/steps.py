"""What tests of running instances do by HTTP: join, sign in, look, and count what they are told."""

from typing import Any

import httpx

from tests.handlers.steps import bearer
from tests.security.witness import Answer
from tests.service import PASSWORD


def join(client: httpx.Client, name: str, **more: str) -> str:
    """Make a user; give the token of their session."""
    body = {"name": name, "email": f"{name}@example.com", "password": PASSWORD, **more}
    return token_of(client.post("/sign-up/email", json=body))


def sign_in(client: httpx.Client, name: str, password: str = PASSWORD, **more: Any) -> httpx.Response:
    answer = client.post(
        "/sign-in/email", json={"email": f"{name}@example.com", "password": password, **more}
    )
    client.cookies.clear()
    return answer


def token_of(answer: httpx.Response) -> str:
    assert answer.status_code == 200, answer.text
    token: str = answer.json()["token"]
    return token


def status(client: httpx.Client, token: str) -> int:
    """Return how a session's owner is answered."""
    client.cookies.clear()
    return client.get("/get-session", headers=bearer(token)).status_code


def ask_for_reset(client: httpx.Client, name: str) -> None:
    answer = client.post("/request-password-reset", json={"email": f"{name}@example.com"})
    assert answer.status_code == 200, answer.text


IN_ONE_PROCESS = {"mailbox.show_mail", "mailbox.show_html"}
"""The operations on the emails that one process has sent, which another does not know."""


def succeeded(answers: list[Answer]) -> set[str]:
    """Return the operationIds of what was granted."""
    return {answer.operation_id for answer in answers if answer.response.status_code < 400}


def faults(answers: list[Answer]) -> set[str]:
    """Return the codes of faults, but for those of the provider and the name server, which the journey makes fail."""
    codes = {answer.body["code"] for answer in answers if answer.response.status_code >= 500}
    return codes - {"PROVIDER_UNAVAILABLE", "DOMAIN_VERIFICATION_FAILED"}
