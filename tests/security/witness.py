"""Somebody who drives a service that runs as a process of its own, and remembers every secret they met on the way."""

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any

import httpx
import pyotp

from codegen.walk import Operation
from tests.contract.reading import JSON_OPERATIONS
from tests.labs.provider.process import ProviderProcess
from tests.live import TIMEOUT, LiveService
from tests.security.second_factor import secret_in
from tests.service import NO_TLS, mails_in

SENT = (
    "password",
    "currentPassword",
    "newPassword",
    "code",
    "otp",
    "token",
    "idToken",
    "state",
    "key",
    "secret",
    "device_code",
    "user_code",
    "userCode",
)
"""The members of a body, and the parameters of a query or path, that hold secrets."""

ANSWERED = (
    *("token", "accessToken", "refreshToken", "idToken", "key", "secret"),
    *("access_token", "refresh_token", "id_token", "device_code", "user_code"),
)
"""The members of an answer that do."""

ASKED = ("state", "nonce")
"""The parameters of a provider's page that do."""

EXCHANGED = {
    "code": "code of the provider",
    "code_verifier": "verifier",
    "refresh_token": "refreshToken",
    "client_secret": "client secret",
}
"""What the service hands to a provider by form, and what it is called here."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What an operation answered: the response and, where it is JSON, its body."""

    operation_id: str
    response: httpx.Response
    body: Any

    @property
    def token(self) -> str:
        """The token of the session or of the sign-in that waits."""
        return str(self.body["token"])


@dataclass
class Witness:
    """The client, the secrets by value with a word for what each was at first, and what was answered."""

    live: LiveService
    mail_file: Path
    secrets: dict[str, str] = field(default_factory=dict)
    answers: list[Answer] = field(default_factory=list)
    read: int = 0
    """How many mails were looked at."""

    def call(
        self,
        operation_id: str,
        body: Mapping[str, Any] | None = None,
        *,
        session: str | None = None,
        cookies: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        **captured: str,
    ) -> Answer:
        """Do an operation of the contract, by bearer or with cookies, and remember what is secret about it."""
        operation = JSON_OPERATIONS[operation_id]
        headers = {"User-Agent": "a browser"}
        if session is not None:
            headers["Authorization"] = f"Bearer {session}"
        if cookies is not None:
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in cookies.items())
        for sent in (body or {}, query or {}, captured):
            for part in objects(sent):
                self._remember(part, SENT)
        response = httpx.request(
            operation.method.upper(),
            self.live.url + operation.path.format(**captured),
            params=query,
            headers=headers,
            timeout=TIMEOUT,
            verify=NO_TLS,
            **({} if operation.method == "get" else {_form_of(operation): body or {}}),  # type: ignore[arg-type]
        )
        answer = Answer(operation_id, response, _json(response))
        self._learn(answer)
        return answer

    def mail(self, template: str) -> dict[str, Any]:
        """Wait for the next mail of a kind; its link or code is secret."""
        deadline = time.monotonic() + TIMEOUT
        while time.monotonic() < deadline:
            for number, mail in enumerate(mails_in(self.mail_file)[self.read :], self.read + 1):
                if mail["template"] == template:
                    self.read = number
                    return self._opened(mail)
            time.sleep(0.02)
        last = self.answers[-1]
        raise AssertionError(
            f"no mail {template} has come; {last.operation_id} was answered by {last.response.status_code}"
        )

    def mail_ids(self) -> list[str]:
        """Return the ids of the mails so far, oldest first."""
        return [str(mail["id"]) for mail in mails_in(self.mail_file)]

    def token_in(self, template: str) -> str:
        """Wait for the next mail of a kind, and give the token in its link."""
        url = httpx.URL(self.mail(template)["link"])
        token = url.params.get("token") or url.path.rpartition("/")[2]
        self.secrets.setdefault(token, f"token of the mail {template}")
        return token

    def not_me_token(self, template: str) -> str:
        """Wait for the next mail of a kind, and give the token in its link "This was not me"."""
        token = re.findall(r"/not-me\?token=(\w+)", self.mail(template)["text"])[0]
        self.secrets.setdefault(token, f"token of the mail {template} that deletes the user")
        return str(token)

    def overhear(self, page: httpx.URL, provider: ProviderProcess) -> None:
        """Remember what is secret in the address of a provider's page, and between the service and the provider."""
        self._remember(dict(page.params), ASKED)
        for heard in provider.log():
            for name, what in EXCHANGED.items():
                if heard["form"].get(name):
                    self.secrets.setdefault(heard["form"][name], what)
            scheme, _, credentials = heard["headers"].get("Authorization", "").partition(" ")
            if scheme == "Bearer":
                self.secrets.setdefault(credentials, "accessToken")

    def _opened(self, mail: dict[str, Any]) -> dict[str, Any]:
        for name in ("link", "code"):
            if mail[name]:
                self.secrets.setdefault(mail[name], f"{name} of the mail {mail['template']}")
        return mail

    def _remember(self, values: Mapping[str, Any], names: tuple[str, ...]) -> None:
        for name in names:
            value = values.get(name)
            if isinstance(value, str) and len(value) > 5:
                self.secrets.setdefault(value, name)

    def _learn(self, answer: Answer) -> None:
        self.answers.append(answer)
        for header in answer.response.headers.get_list("set-cookie"):
            for name, morsel in SimpleCookie(header).items():
                if morsel.value:
                    self.secrets.setdefault(morsel.value, f"cookie {name}")
        for part in objects(answer.body):
            self._remember(part, ANSWERED)
            for code in part.get("backupCodes", ()):
                for spelling in (code, code.replace("-", "")):
                    self.secrets.setdefault(spelling, "backup code")
            if part.get("totpURI"):
                self.secrets.setdefault(secret_in(part["totpURI"]), "secret of an authenticator")


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """Yield every object within a JSON value, however deep."""
    if isinstance(value, dict):
        yield value
        for part in value.values():
            yield from objects(part)
    elif isinstance(value, list):
        for part in value:
            yield from objects(part)


def code_of(secret: str) -> str:
    """Return what an authenticator shows now."""
    return pyotp.TOTP(secret).now()


def _form_of(operation: Operation) -> str:
    """Return how the HTTP client calls the form in which the operation takes its body."""
    content = operation.spec.get("requestBody", {}).get("content", {})
    return "data" if "application/x-www-form-urlencoded" in content else "json"


def _json(response: httpx.Response) -> Any:
    if response.headers.get("content-type") in ("application/json", "application/scim+json"):
        return response.json()
    return None
