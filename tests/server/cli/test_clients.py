"""The commands `gatewright clients`, `registration-tokens` and `grants`."""

import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from domain import tokens
from tests.server.terminal import Run, complaint
from tests.service import CHEAP, PASSWORD

CALLBACK = "https://shop.example/callback"


@pytest.fixture
def command_settings(tmp_path: Path) -> Mapping[str, str]:
    """A database of its own."""
    return CHEAP | {"GATEWRIGHT_DATABASE_URL": f"sqlite:///{tmp_path / 'gatewright.db'}"}


def done(run: Run, *words: str, **options: Any) -> str:
    """Run a command that succeeds; return what it prints."""
    answer = run(*words, **options)
    assert answer.exit_code == 0, answer.output
    return answer.stdout


def parsed(run: Run, *words: str, **options: Any) -> Any:
    return json.loads(done(run, *words, **options))


def refused(run: Run, *words: str, **options: Any) -> str:
    """Run a command that fails; return its complaint."""
    answer = run(*words, **options)
    assert answer.exit_code == 1, answer.output
    return complaint(answer.stderr)


@pytest.fixture
def shop(run: Run) -> Any:
    """A client with a secret."""
    return parsed(run, "clients", "create", "Shop", "--redirect-uri", CALLBACK, "--json")


@pytest.mark.threat("O14")
def test_a_client_is_created_and_listed(run: Run, tmp_path: Path) -> None:
    created = run("clients", "create", "Shop", "--redirect-uri", CALLBACK, "--skip-consent")
    secret = created.stdout.strip()
    assert secret.startswith("gws_")

    [found] = parsed(run, "clients", "list", "--json")
    client_id = found["client_id"]
    assert f"Created the client {client_id}; its secret is shown only here:" in created.stderr
    assert (found["client_name"], found["source"], found["skip_consent"]) == ("Shop", "cli", True)
    assert parsed(run, "clients", "show", client_id, "--json") == found
    shown = done(run, "clients", "list") + done(run, "clients", "show", client_id)
    assert "1 client" in shown
    assert CALLBACK in shown
    assert secret not in shown + json.dumps(found) + run("audit", "--json").stdout
    assert secret.encode() not in (tmp_path / "gatewright.db").read_bytes()


def test_a_client_without_a_secret(run: Run) -> None:
    words = ("clients", "create", "App", "--native", "--auth-method", "none")
    printed = done(run, *words, "--redirect-uri", "com.example.app:/callback").strip()

    [found] = parsed(run, "clients", "list", "--json")
    assert printed == found["client_id"]
    assert (found["application_type"], found["token_endpoint_auth_method"]) == ("native", "none")
    complaint = refused(run, "clients", "rotate-secret", printed)
    assert complaint == "Invalid client metadata: the client has no secret"


def test_addresses_after_sign_out_and_what_a_program_may_do_are_options(run: Run, tmp_path: Path) -> None:
    api = "https://api.example.com"
    settings = f"""[oauth.scopes]
"orders:read" = "Read your orders"
[oauth.resources."{api}"]
name = "Orders"
scopes = ["orders:read"]
"""
    (tmp_path / "gatewright.toml").write_text(settings)
    first, second = "https://shop.example/signed-out", "https://shop.example/"
    words = ("--redirect-uri", CALLBACK, "--post-logout-redirect-uri", first)
    web = parsed(run, "clients", "create", "Shop", *words, "--json")
    program = parsed(
        run, "clients", "create", "Orders", "--grant-type", "client_credentials", "--resource", api,
        "--client-credentials-scope", "orders:read", "--resource-server", api, "--json",
    )  # fmt: skip

    done(run, "clients", "update", web["client_id"], "--post-logout-redirect-uri", second)

    found = parsed(run, "clients", "show", web["client_id"], "--json")
    assert (web["post_logout_redirect_uris"], found["post_logout_redirect_uris"]) == ([first], [second])
    assert (program["client_credentials_scopes"], program["resource_server"]) == (["orders:read"], [api])


def test_what_is_wrong_is_named(run: Run, tmp_path: Path) -> None:
    assert "redirect_uris has an entry" in refused(
        run, "clients", "create", "Shop", "--redirect-uri", "http://shop.example"
    )
    assert "scope has a scope" in refused(
        run, "clients", "create", "Shop", "--redirect-uri", CALLBACK, "--scope", "openid x"
    )
    (tmp_path / "list.json").write_text("[]")
    (tmp_path / "text.json").write_text("no")
    for file, problem in {
        "list.json": "must be a JSON object",
        "text.json": "is not JSON",
        "none.json": "No such file",
    }.items():
        assert problem in refused(run, "clients", "create", "Shop", "--metadata", file)
    assert refused(run, "clients", "show", "app_unknown") == "Client not found"


def test_a_client_is_changed(run: Run, shop: Any) -> None:
    client_id = shop["client_id"]
    words = ("--name", "Shop 2", "--scope", "openid", "--metadata", "-")

    done(run, "clients", "update", client_id, *words, stdin='{"tos_uri": "https://shop.example/terms"}')

    found = parsed(run, "clients", "show", client_id, "--json")
    assert (found["client_name"], found["scope"], found["tos_uri"], found["redirect_uris"]) == (
        "Shop 2",
        "openid",
        "https://shop.example/terms",
        [CALLBACK],
    )
    assert run("clients", "update", client_id).exit_code == 2


def test_a_client_is_disabled_enabled_and_deleted(run: Run, shop: Any) -> None:
    client_id = shop["client_id"]

    assert run("clients", "disable", client_id, stdin="n\n").exit_code == 1
    done(run, "clients", "disable", client_id, "--yes")
    assert "disabled" in done(run, "clients", "list")
    done(run, "clients", "update", client_id, "--enable")
    assert "active" in done(run, "clients", "list")
    assert done(run, "clients", "delete", client_id, "--yes") == f"Deleted {client_id}.\n"
    assert parsed(run, "clients", "list", "--json") == []
    assert refused(run, "clients", "delete", client_id, "--yes") == "Client not found"


def test_a_secret_is_replaced(run: Run, shop: Any) -> None:
    rotated = run("clients", "rotate-secret", shop["client_id"])

    assert "The previous secret is accepted until" in rotated.stderr
    assert rotated.stdout.strip() not in ("", shop["client_secret"])


def test_clients_are_imported_with_their_ids_and_secrets(run: Run, tmp_path: Path) -> None:
    secret = "k" * 36
    documents = [
        {
            "client_id": "grafana",
            "client_secret": secret,
            "client_name": "Grafana",
            "redirect_uris": [CALLBACK],
        },
        {"client_name": "New", "redirect_uris": [CALLBACK]},
    ]

    grafana, new = parsed(run, "clients", "import", "-", stdin=json.dumps(documents))

    assert (grafana["client_id"], grafana["client_secret"]) == ("grafana", secret)
    assert new["client_id"].startswith("app_")
    with sqlite3.connect(tmp_path / "gatewright.db") as database:
        rows = database.execute("SELECT secret FROM oauth_client WHERE client_id = 'grafana'").fetchall()
    assert rows == [(tokens.digest(secret),)]
    for changed, problem in (
        ({}, "client_id belongs to another client"),
        ({"client_id": "a b"}, "client_id must have"),
        ({"client_id": "x", "client_secret": "short"}, "client_secret must have 32"),
        ({"client_id": "x", "client_name": ""}, "client_name is missing"),
    ):
        bad = [{"client_name": "First", "redirect_uris": [CALLBACK]}, documents[0] | changed]
        complaint = refused(run, "clients", "import", "-", stdin=json.dumps(bad))
        assert problem in complaint
        assert f"client 2 ({bad[1]['client_id']}): " in complaint
    assert len(parsed(run, "clients", "list", "--json")) == 2
    assert "must be a JSON object" in refused(run, "clients", "import", "-", stdin="[7]")


@pytest.mark.threat("O14")
def test_registration_tokens(run: Run, tmp_path: Path) -> None:
    created = run("registration-tokens", "create", "ci", "--uses", "5", "--expires-in", "7d")
    token = created.stdout.strip()
    assert token.startswith("gwi_")

    [found] = parsed(run, "registration-tokens", "list", "--json")
    assert (found["label"], found["usesLeft"]) == ("ci", 5)
    assert f"Created the token {found['id']}" in created.stderr
    assert "1 token" in done(run, "registration-tokens", "list")
    assert token.encode() not in (tmp_path / "gatewright.db").read_bytes()
    assert run("registration-tokens", "create", "").exit_code == 2
    assert run("registration-tokens", "create", "ci", "--expires-in", "soon").exit_code == 2
    assert done(run, "registration-tokens", "revoke", found["id"], "--yes") == f"Revoked {found['id']}.\n"
    assert parsed(run, "registration-tokens", "list", "--json") == []
    assert "no such token" in refused(run, "registration-tokens", "revoke", found["id"], "--yes")


@pytest.mark.threat("O16")
def test_grants_are_listed_and_ended(run: Run, shop: Any, tmp_path: Path) -> None:
    ada = ("--user", "ada@example.com")
    created = run("users", "create", ada[1], stdin=f"{PASSWORD}\n")
    assert created.exit_code == 0, created.output
    for way in (ada, ("--client", shop["client_id"])):
        with sqlite3.connect(tmp_path / "gatewright.db") as database:
            _add_grant(database, shop["client_id"])
        [found] = parsed(run, "grants", "list", *ada, "--json")
        assert (found["clientId"], found["clientName"], found["scopes"]) == (
            shop["client_id"],
            "Shop",
            ["openid", "offline_access"],
        )
        assert "after sign-out" in done(run, "grants", "list", *ada)
        assert done(run, "grants", "revoke", *way, "--yes") == "Ended 1 grant.\n"
        assert "0 grants" in done(run, "grants", "list", *ada)
    assert run("grants", "revoke").exit_code == 2
    assert run("grants", "revoke", *ada, "--client", "x").exit_code == 2
    assert refused(run, "grants", "revoke", "--client", "x", "--yes") == "Client not found"


def _add_grant(database: sqlite3.Connection, client_id: str) -> None:
    [[user_id, now]] = database.execute('SELECT id, created_at FROM "user"').fetchall()
    values = {
        "id": tokens.token(),
        "client_id": client_id,
        "user_id": user_id,
        "sid": "x",
        "offline": 1,
        "scopes": "openid offline_access",
        "resources": "",
        "auth_time": now,
        "amr": "pwd",
        "expires_at": now + 10**9,
        "created_at": now,
        "updated_at": now,
    }
    names = ", ".join(values)
    places = ", ".join(f":{name}" for name in values)
    database.execute(f"INSERT INTO oauth_grant ({names}) VALUES ({places})", values)
