"""The guides about the OAuth provider are true: their files are used as they stand there, beside a running service."""

import base64
import json
import re
import stat
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pyotp

from tests.docs.typing_in import (
    PAGES,
    Shell,
    blocks,
    commands,
    guide,
    placed,
    section,
    surroundings,
    typed,
    write_files,
)
from tests.labs.relying_parties.user import EMAIL, User
from tests.live import TIMEOUT, LiveService, serving
from tests.ports import free_port

MOVE = guide("move-from-another-provider")
SECRET = b"nGuJ2vKq8sXw4mRb7tYz"
"""The secret of the authenticator in its export of a realm."""
NOTHING: Mapping[str, str] = {}


@contextmanager
def provider(folder: Path, settings: Mapping[str, str] = NOTHING) -> Iterator[LiveService]:
    """Run the service with the configuration in a folder, at the address that its metadata names."""
    port = free_port()
    base = {"base_url": f"http://127.0.0.1:{port}", "session.cookie_secure": "false", "oauth.enabled": "true"}
    with serving(folder, {**base, **settings}, port=port) as live:
        yield live
    assert live.output.faults() == []


class TestDevice:
    """The guide to the device flow."""

    def test_a_command_line_signs_in(self, tmp_path: Path) -> None:
        write_files(guide("device-sign-in"), tmp_path)
        with provider(tmp_path, {"oauth.device.interval": "1"}) as live:
            variables = surroundings({"ISSUER": live.url, "HOME": str(tmp_path)})

            def deploy(command: str) -> "subprocess.Popen[str]":
                return subprocess.Popen(
                    [sys.executable, "deploy.py", command], cwd=tmp_path, env=variables, text=True,
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                )  # fmt: skip

            def said(program: "subprocess.Popen[str]") -> str:
                printed, complaint = program.communicate(timeout=60)
                return printed + complaint

            def code_of(program: "subprocess.Popen[str]") -> str:
                assert program.stdout is not None
                line = program.stdout.readline()
                found = re.fullmatch(rf"Open {live.url}/account/device and enter the code (\S+)\n", line)
                assert found is not None, line
                return found[1]

            user = User(live.url)
            user.sign_up()
            before = said(deploy("whoami"))
            program = deploy("login")
            name = user.approve(code_of(program))
            signed_in = said(program)
            tokens = tmp_path / ".deploy.json"
            mode = stat.S_IMODE(tokens.stat().st_mode)
            kept = json.loads(tokens.read_text())
            tokens.write_text(json.dumps(kept | {"expires_at": 0}))
            refreshed = said(deploy("whoami"))
            renewed = json.loads(tokens.read_text())
            ended = said(deploy("logout"))
            # Another computer still has the tokens.
            tokens.write_text(json.dumps(renewed | {"expires_at": 0}))
            afterwards = said(deploy("whoami"))
            program = deploy("login")
            user.refuse(code_of(program))
            refused = said(program)
            user.close()

        assert before == "Sign in first: deploy.py login\n"
        assert name == "Deploy"
        assert signed_in == refreshed == f"Signed in as Ada ({EMAIL}).\n"
        assert mode == 0o600
        assert renewed["refresh_token"] != kept["refresh_token"]
        assert ended == "Signed out.\n"
        assert afterwards == "Your sign-in has ended. Sign in again: deploy.py login\n"
        assert refused == "You have refused the access.\n"
        assert program.returncode == 1


class TestMove:
    """The guide to moving from another provider."""

    def test_clients_and_users_come_from_other_providers(self, tmp_path: Path) -> None:
        write_files(MOVE, tmp_path)
        (tmp_path / "auth0").mkdir()
        write_files(MOVE, tmp_path / "auth0")
        with provider(tmp_path) as live:
            shell = Shell(tmp_path, surroundings({"GATEWRIGHT_PROFILE": "development"}))
            left_out = shell.type(f"({commands(MOVE, 'from-keycloak')}) 2>&1")
            shell.type(f"cd auth0; {commands(MOVE, 'from-auth0')}cd ..")
            clients = [*read(tmp_path / "clients.json"), *read(tmp_path / "auth0" / "clients.json")]
            (tmp_path / "clients.json").write_text(json.dumps(clients), "utf-8")
            refused = shell.type(f"({commands(MOVE, 'refused')}) 2>&1 && exit 7 || true")
            shell.type(commands(MOVE, "imported"))
            imported = shell.type(f"({commands(MOVE, 'users')}) 2>&1")
            assert shell.leave() == 0

            with httpx.Client(base_url=live.url, trust_env=False, timeout=TIMEOUT) as caller:
                known = [
                    caller.post("/oauth2/introspect", data={"token": "x"}, auth=credentials)
                    for credentials in (
                        (one["client_id"], one["client_secret"]) for one in clients if "client_secret" in one
                    )
                ]
                ada, grace = (sign_in(caller, name) for name in ("ada", "grace"))
                code = pyotp.TOTP(base64.b32encode(SECRET).decode()).now()
                bearer = {"Authorization": f"Bearer {grace['token']}"}
                second = caller.post("/two-factor/verify-totp", json={"code": code}, headers=bearer)

        assert left_out.strip() == "2 clients"
        assert refused.startswith((tmp_path / "complaint.txt").read_text("utf-8"))
        assert [one["client_name"] for one in read(tmp_path / "imported.json")] == [
            "Shop",
            "Shop app",
            "Orders",
        ]
        assert [(one.status_code, one.json()) for one in known] == [(200, {"active": False})] * 2
        assert imported.strip() == "2 rows: 2 imported, 0 already present, 0 refused."
        ids = (tmp_path / "ids.jsonl").read_text("utf-8").splitlines()
        assert json.loads(ids[0]) == json.loads(blocks(MOVE, "json")[-1].text)
        assert ada["user"]["name"] == "Ada Lovelace"
        assert grace["pending"]
        assert second.is_success


def read(path: Path) -> Any:
    """Return what a JSON file contains."""
    return json.loads(path.read_text("utf-8"))


def sign_in(caller: httpx.Client, name: str) -> Any:
    """Sign in with the password that the guide's hashes are of."""
    body = {"email": f"{name}@example.com", "password": "seven red bicycles"}
    return caller.post("/sign-in/email", json=body).raise_for_status().json()


class TestProducts:
    """The page with settings of well-known products."""

    def test_every_client_begins_a_sign_in(self, tmp_path: Path) -> None:
        page = (PAGES / "reference" / "products.md").read_text("utf-8")
        write_files(page, tmp_path)
        typed(commands(page, "secrets"), tmp_path)
        clients = tomllib.loads((tmp_path / "gatewright.toml").read_text("utf-8"))["oauth"]["clients"]
        with (
            provider(tmp_path) as live,
            httpx.Client(base_url=live.url, trust_env=False, timeout=TIMEOUT) as browser,
        ):
            for client_id, client in clients.items():
                scope = client.get("scope", "openid profile email")
                for uri in client["redirect_uris"]:
                    request = {
                        "response_type": "code",
                        "client_id": client_id,
                        "redirect_uri": uri,
                        "scope": scope,
                        "state": '{"csrf_token":"a","realm":"b"}',
                        "code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
                        "code_challenge_method": "S256",
                    }
                    assert opened(browser, request).startswith(f"{live.url}/account/sign-in?"), client_id
                    with_groups = opened(browser, request | {"scope": f"{scope} groups"})
                    assert with_groups.startswith(f"{uri}?error=invalid_scope&")
                    del request["code_challenge"], request["code_challenge_method"]
                    assert opened(browser, request).startswith(f"{uri}?error=invalid_request&")

    def test_production_accepts_the_clients(self, tmp_path: Path) -> None:
        page = (PAGES / "reference" / "products.md").read_text("utf-8")
        write_files(page, tmp_path)
        [example] = blocks(guide("run-it-for-others"), "sh")
        typed(commands(page, "secrets"), tmp_path)

        assert "The configuration is valid." in typed(placed(example.text, NOTHING), tmp_path)

    def test_every_product_has_its_source(self) -> None:
        page = (PAGES / "reference" / "products.md").read_text("utf-8")
        products = re.findall(r"^\| \[([^]]+)\]\(#", page, re.MULTILINE)

        assert len(products) == 10
        for product in products:
            assert re.search(
                r"^Source: \[", section(PAGES / "reference" / "products.md", product), re.MULTILINE
            )


def opened(browser: httpx.Client, request: Mapping[str, str]) -> str:
    """Return where an authorization request leads."""
    return browser.get("/oauth2/authorize", params=request).headers["location"]
