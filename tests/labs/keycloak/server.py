"""Keycloak as a process of its own, and its administration by the REST API."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tests.ports import free_port

VARIABLE = "GATEWRIGHT_TEST_KEYCLOAK"
"""The environment variable with the folder of Keycloak, which `.ci/keycloak.sh` prints."""

ADMINISTRATOR = {"username": "admin", "password": "only for tests"}
GROUP = "auth-admins"
PASSWORD = "an old password of Ada"
TIME_LIMIT = 300.0
"""Seconds in which Keycloak starts, or responds."""

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Realm:
    """A realm with the user Ada, who is in a group. Every realm has keys of its own."""

    url: str
    name: str
    http: httpx.Client = field(repr=False)
    """For the REST API below `/admin/realms/<name>`."""

    @property
    def issuer(self) -> str:
        """The issuer of OpenID Connect, and the entity id of SAML."""
        return f"{self.url}/realms/{self.name}"

    @property
    def domain(self) -> str:
        """The domain of Ada's email address."""
        return f"{self.name}.example"

    @property
    def email(self) -> str:
        """The email address of Ada."""
        return f"ada@{self.domain}"

    def metadata(self) -> str:
        """Return the SAML metadata of the realm."""
        return self.http.get(f"{self.issuer}/protocol/saml/descriptor").raise_for_status().text

    def import_metadata(self, document: bytes) -> Object:
        """Return the SAML client that Keycloak makes of the metadata of a service provider."""
        content = {"content-type": "application/xml"}
        answer = self.http.post("client-description-converter", content=document, headers=content)
        client: Object = answer.raise_for_status().json()
        return client

    def add_client(self, client: Object) -> str:
        """Create a client; return the id by which the REST API knows it."""
        return _created(self.http.post("clients", json=client))

    def change_client(self, client_id: str, attributes: Object | None = None, **properties: Any) -> None:
        """Change attributes and properties of a client."""
        client = self.http.get(f"clients/{client_id}").raise_for_status().json() | properties
        client["attributes"] |= attributes or {}
        self.http.put(f"clients/{client_id}", json=client).raise_for_status()

    def end_sessions(self) -> None:
        """End all sessions of Ada, as an administrator does; Keycloak then informs its clients itself."""
        user = self.http.get("users", params={"email": self.email}).raise_for_status().json()[0]["id"]
        self.http.post(f"users/{user}/logout").raise_for_status()

    def remove_from_group(self) -> None:
        """Take Ada out of the group."""
        user = self.http.get("users", params={"email": self.email}).raise_for_status().json()[0]["id"]
        group = self.http.get("groups", params={"search": GROUP}).raise_for_status().json()[0]["id"]
        self.http.delete(f"users/{user}/groups/{group}").raise_for_status()

    def signing_key(self) -> str:
        """Return the id of the component with the key that signs now."""
        keys = self.http.get("keys").raise_for_status().json()
        active = keys["active"]["RS256"]
        return next(str(key["providerId"]) for key in keys["keys"] if key["kid"] == active)

    def add_key(self) -> str:
        """Create a key that signs from now on; return the id of its component."""
        component = {
            "name": "next", "providerId": "rsa-generated", "providerType": "org.keycloak.keys.KeyProvider",
            "config": {"priority": ["200"], "algorithm": ["RS256"], "keySize": ["2048"]},
        }  # fmt: skip
        return _created(self.http.post("components", json=component))

    def change_key(self, component_id: str, **config: str) -> None:
        """Change a key: `priority` decides which one signs, one that is not `enabled` is not published either."""
        component = self.http.get(f"components/{component_id}").raise_for_status().json()
        component["config"] |= {name: [value] for name, value in config.items()}
        self.http.put(f"components/{component_id}", json=component).raise_for_status()


def _created(answer: httpx.Response) -> str:
    return answer.raise_for_status().headers["location"].rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Keycloak:
    """A running Keycloak, whose data is in memory, and the token of its administrator."""

    url: str
    token: str = field(repr=False)

    @contextmanager
    def realm(self, name: str) -> Iterator[Realm]:
        """Create a realm with Ada and her group, and yield it."""
        realm = {
            "realm": name,
            "enabled": True,
            "groups": [{"name": GROUP}],
            "users": [
                {
                    "username": "ada", "email": f"ada@{name}.example", "emailVerified": True, "enabled": True,
                    "firstName": "Ada", "lastName": "Lovelace", "groups": [f"/{GROUP}"],
                    "credentials": [{"type": "password", "value": PASSWORD, "temporary": False}],
                }
            ],
        }  # fmt: skip
        with _administration(self.url, self.token) as http:
            http.post("", json=realm).raise_for_status()
            http.base_url = http.base_url.join(f"{name}/")
            yield Realm(self.url, name, http)


def _signed_in(url: str) -> Keycloak:
    """Return a Keycloak that was started just now with its administrator, whose token then lasts for a day."""
    with _administration(url, _token(url)) as http:
        http.put(
            "master", json={"accessTokenLifespan": 86400, "ssoSessionMaxLifespan": 86400}
        ).raise_for_status()
    return Keycloak(url, _token(url))


def _token(url: str) -> str:
    form = {"grant_type": "password", "client_id": "admin-cli", **ADMINISTRATOR}
    address = f"{url}/realms/master/protocol/openid-connect/token"
    answer = httpx.post(address, data=form, timeout=TIME_LIMIT, trust_env=False)
    return str(answer.raise_for_status().json()["access_token"])


def _administration(url: str, token: str) -> httpx.Client:
    headers = {"authorization": f"Bearer {token}"}
    return httpx.Client(base_url=f"{url}/admin/realms", headers=headers, timeout=TIME_LIMIT, trust_env=False)


@contextmanager
def running(directory: Path) -> Iterator[Keycloak]:
    """Run Keycloak on a free port of the loopback until the end of the block; `directory` is for its output."""
    port = free_port()
    # Another site than 127.0.0.1, where the service is: cookies with SameSite are not sent from one to the other.
    url = f"http://localhost:{port}"
    options = ("--http-enabled=true", "--http-host=127.0.0.1", f"--http-port={port}", f"--hostname={url}")
    variables = {f"KC_BOOTSTRAP_ADMIN_{name.upper()}": value for name, value in ADMINISTRATOR.items()}
    log = directory / "keycloak.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [Path(os.environ[VARIABLE]) / "bin" / "kc.sh", "start", "--optimized", *options],
            env={**os.environ, **variables}, stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT, process_group=0,
        )  # fmt: skip
        try:
            deadline = time.monotonic() + TIME_LIMIT
            while not _is_ready(url):
                assert process.poll() is None, log.read_text("utf-8")
                assert time.monotonic() < deadline, log.read_text("utf-8")
                time.sleep(0.5)
            yield _signed_in(url)
        finally:
            # The script starts Java, and both are to end.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(timeout=30)
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _is_ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/realms/master", trust_env=False, timeout=TIME_LIMIT).is_success
    except httpx.TransportError:
        return False
