"""The command `gatewright sso`, and the checks of connections in the configuration."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.server.saml.provider import ISSUER
from tests.server.saml.test_metadata import metadata
from tests.server.terminal import Run, complaint
from tests.service import CHEAP
from tests.sso import oidc


@pytest.fixture
def command_settings(tmp_path: Path) -> Mapping[str, str]:
    """A database of its own."""
    return CHEAP | {"GATEWRIGHT_DATABASE_URL": f"sqlite:///{tmp_path / 'gatewright.db'}"}


def done(run: Run, *words: str, **variables: str) -> str:
    """Run a command that succeeds; return what it prints."""
    answer = run("sso", *words, **variables)
    assert answer.exit_code == 0, answer.stderr
    return answer.stdout


def refused(run: Run, *words: str, **variables: str) -> str:
    """Run a command that fails; return its complaint."""
    answer = run("sso", *words, **variables)
    assert answer.exit_code == 1, answer.stdout
    return complaint(answer.stderr).splitlines()[-1]


def shown(run: Run, provider_id: str = "acme") -> Any:
    return json.loads(done(run, "show", provider_id, "--json"))


@pytest.fixture
def metadata_file(tmp_path: Path) -> str:
    path = tmp_path / "metadata.xml"
    path.write_bytes(metadata())
    return str(path)


@pytest.fixture
def acme(run: Run, tmp_path: Path) -> None:
    """A connection to an OpenID provider."""
    fields = tmp_path / "fields.json"
    fields.write_text(json.dumps({"oidcConfig": oidc()}))
    issuer = ("--issuer", "https://login.acme.example")
    made = done(run, "create", "acme", "--domain", "acme.example", *issuer, "--fields", str(fields))
    assert "redirect URI: http://localhost:8000/sso/callback/acme" in made


def test_a_connection_is_created_changed_and_deleted(run: Run, acme: None, tmp_path: Path) -> None:
    before = shown(run)
    assert (before["source"], before["state"], before["domainVerified"]) == ("cli", "active", True)
    secret = tmp_path / "secret.txt"
    secret.write_text("another-secret\n")

    domains = ("--domain", "acme.example", "--domain", "acme.test", "--required-domain", "acme.test")
    options = ("--name", "Acme", "--group-role", "ops=admin", "--client-secret-file", str(secret))
    done(run, "update", "acme", *domains, *options)
    done(run, "pause", "acme")

    after = shown(run)
    assert (after["name"], after["state"], after["domain"]) == ("Acme", "paused", "acme.example,acme.test")
    assert (after["groupRoles"], [one["required"] for one in after["domains"]]) == (
        {"ops": "admin"},
        [False, True],
    )
    listed = done(run, "list")
    assert "1 connection" in listed
    assert "another-secret" not in listed + done(run, "show", "acme") + done(run, "list", "--json")
    done(run, "delete", "acme", "--yes")
    assert refused(run, "show", "acme") == "Provider not found"


def test_a_connection_of_saml_is_created_by_its_metadata(run: Run, metadata_file: str) -> None:
    made = done(run, "create", "acme", "--domain", "acme.example", "--metadata", metadata_file)

    assert "metadata and entity id: http://localhost:8000/sso/saml2/sp/metadata?providerId=acme" in made
    assert (shown(run)["type"], shown(run)["issuer"]) == ("saml", ISSUER)
    assert "certificate CN=provider: ends" in done(run, "show", "acme")


def test_metadata_is_read_and_not_stored(run: Run, metadata_file: str, tmp_path: Path) -> None:
    assert f"entity id: {ISSUER}" in done(run, "test-metadata", metadata_file)
    broken = tmp_path / "broken.xml"
    broken.write_text("<a/>")
    assert refused(run, "test-metadata", str(broken)).startswith("SOURCE: ")
    assert refused(run, "test-metadata", "http://127.0.0.1:9/x") == "http://127.0.0.1:9/x: connect"
    assert "0 connections" in done(run, "list")


def test_what_cannot_be_done_is_said(run: Run, acme: None, tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    for written, complains in (
        ("[", "line 1"),
        ("[]", "must be a JSON object"),
        ('{"oidcConfig": 1}', "oidcConfig"),
        ('{"oidcConfig": {"scopes": "openid"}}', "oidcConfig.scopes"),
    ):
        broken.write_text(written)
        assert complains in refused(run, "update", "acme", "--fields", str(broken))
    assert "gmail.com is a mail service" in refused(run, "update", "acme", "--domain", "gmail.com")
    assert "must be one of draft, active, paused" in refused(run, "update", "acme", "--state", "on")
    fields = tmp_path / "fields.json"
    twice = (
        "create",
        "other",
        "--domain",
        "acme.example",
        "--issuer",
        "https://a.example",
        "--fields",
        str(fields),
    )
    assert "acme.example" in refused(run, *twice)


@pytest.mark.parametrize(
    ("changes", "complains"),
    [
        ({"domains": ["gmail.com"]}, "sso.connections.acme.domains: gmail.com is a mail service"),
        ({"oidc": None}, "sso.connections.acme: needs either oidc or saml"),
        ({"default_role": "owner"}, "sso.connections.acme.default_role: must not be owner"),
        ({"group_roles": {"ops": "boss"}}, "sso.connections.acme.group_roles: there is no role 'boss'"),
        ({"required_domains": ["b.example"]}, "sso.connections.acme.required_domains: b.example is not among"),
        ({"oidc": {"client_id": "x"}}, "sso.connections.acme.oidc: needs either client_secret or client_secret_file"),
        ({"issuer": None}, "sso.connections.acme.issuer"),
    ],
)  # fmt: skip
def test_a_configuration_that_is_wrong_stops_the_start(
    run: Run, changes: dict[str, Any], complains: str
) -> None:
    whole = {
        "issuer": "https://login.acme.example",
        "domains": ["acme.example"],
        "oidc": {"client_id": "client", "client_secret": "first"},
        **changes,
    }
    connections = {"acme": {name: value for name, value in whole.items() if value is not None}}

    answer = run("check-config", GATEWRIGHT_SSO__CONNECTIONS=json.dumps(connections))

    assert answer.exit_code == 1
    assert complains in answer.stderr


@pytest.mark.parametrize("server", ["dns.example", "192.0.2.53:0", "[2001:db8::53", "192.0.2.53:x"])
def test_a_name_server_is_an_address(run: Run, server: str) -> None:
    answer = run("check-config", GATEWRIGHT_SSO__RESOLVERS=json.dumps([server]))

    assert answer.exit_code == 1
    assert f"sso.resolvers: {server!r}" in answer.stderr
