"""The applications: the service with its clients, and programs that are told which of them they are.

A program has the variable APPLICATION, a JSON object with its client metadata and the issuer. It prints one JSON object
a line. `{"open": url}` sends the user there: the program reads the URL where that ended, as a JSON string.
`{"approve": user_code}` lets the user approve a device. `{"done": …}` is what the program has seen, and its last line.
"""

import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from joserfc.jwk import ECKey

from domain.oauth_clients.metadata import DEVICE_CODE
from tests.labs.relying_parties.user import User
from tests.live import serving
from tests.ports import free_port

API = "https://api.example.com"
CALLBACK = "https://shop.example/callback"
GOODBYE = "https://shop.example/goodbye"
ODD_SECRET = "a+b c%20d:e/f&g=h?i#j;k~l@m" * 2
"""A secret whose characters have to be encoded in the Basic scheme (RFC 6749, 2.3.1)."""
PLAIN_SECRET = "s" * 40
TIME_LIMIT = 120.0


def clients(public_key: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the clients from the configuration, by client id."""
    web: dict[str, Any] = {
        "client_name": "Shop",
        "redirect_uris": [CALLBACK],
        "post_logout_redirect_uris": [GOODBYE],
        "grant_types": ["authorization_code", "refresh_token", "client_credentials"],
        "scope": "openid profile email offline_access orders:read",
        "client_credentials_scopes": ["orders:read"],
        "resources": [API],
    }
    basic = {**web, "token_endpoint_auth_method": "client_secret_basic"}
    by_key = {"token_endpoint_auth_method": "private_key_jwt", "jwks": {"keys": [public_key]}}
    user_only = {"grant_types": ["authorization_code", "refresh_token"], "client_credentials_scopes": []}
    return {
        "basic": {**basic, "secret": ODD_SECRET, "id_token_signed_response_alg": "RS256"},
        "basic-es256": {**basic, "secret": ODD_SECRET, "id_token_signed_response_alg": "ES256"},
        "basic-plain": {**basic, "secret": PLAIN_SECRET},
        "post": {**web, "token_endpoint_auth_method": "client_secret_post", "secret": PLAIN_SECRET},
        "key": {**web, **by_key},
        "public": {**web, **user_only, "token_endpoint_auth_method": "none"},
        "device": {
            "client_name": "Television",
            "token_endpoint_auth_method": "none",
            "grant_types": [DEVICE_CODE, "refresh_token"],
            "scope": "openid email offline_access",
        },
    }


@dataclass(frozen=True, slots=True)
class Site:
    """A running service, a user, and what the programs are told of their clients."""

    issuer: str
    user: User
    user_id: str
    clients: dict[str, dict[str, Any]]
    private_key: dict[str, Any]

    def run(self, command: Sequence[str | Path], client_id: str, **more: Any) -> dict[str, Any]:
        """Run a program as a client to its end, with the user at its side; return what it has seen."""
        told = {
            "issuer": self.issuer,
            "client_id": client_id,
            "secret": self.clients[client_id].get("secret"),
            "private_key": self.private_key,
            "redirect_uri": CALLBACK,
            "post_logout_redirect_uri": GOODBYE,
            "api": API,
            "id_token_alg": self.clients[client_id].get("id_token_signed_response_alg", "RS256"),
            **more,
        }
        process = subprocess.Popen(
            command,
            env={**os.environ, "APPLICATION": json.dumps(told)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            for line in process.stdout:
                said = json.loads(line)
                if "done" in said:
                    return dict(said["done"])
                answer = (
                    self.user.open(said["open"]) if "open" in said else self.user.approve(said["approve"])
                )
                process.stdin.write(json.dumps(answer) + "\n")
                process.stdin.flush()
        finally:
            # A program that waits for an answer ends at the end of its input.
            _, errors = process.communicate(timeout=TIME_LIMIT)
        raise AssertionError(errors)


@contextmanager
def site(directory: Path, base_path: str = "") -> Iterator[Site]:
    """Run the service with its clients and a user until the end of the block."""
    key = ECKey.generate_key("P-256", {"kid": "mine", "alg": "ES256", "use": "sig"})
    known = clients(dict(key.as_dict(private=False)))
    port = free_port()
    settings = {
        "base_url": f"http://127.0.0.1:{port}",
        "base_path": base_path,
        "session.cookie_secure": "false",
        "limits.requests": "0",
        "jwt.enabled": "true",
        "jwt.algorithms": "RS256,ES256",
        "oauth.enabled": "true",
        "oauth.device.enabled": "true",
        "oauth.device.interval": "1",
        "oauth.scopes": json.dumps({"orders:read": "Read your orders"}),
        "oauth.resources": json.dumps({API: {"name": "Orders", "scopes": ["orders:read"]}}),
        "oauth.clients": json.dumps(known),
    }
    with serving(directory, settings, port=port) as live:
        user = User(live.url, base_path)
        try:
            yield Site(live.url + base_path, user, user.sign_up(), known, dict(key.as_dict(private=True)))
        finally:
            user.close()
    assert live.output.faults() == []
