"""Settings with which the service does not start, and what it says of them (R43)."""

import logging
import socket
from collections.abc import Iterator, Mapping
from contextlib import chdir
from pathlib import Path

import pytest
from typer.testing import CliRunner

from server.cli.main import app
from server.config.validation import SAMPLE_SECRET
from server.observability import logs

SECRET = "a secret that nobody else has got nor ever will"
SOUND = {
    "GATEWRIGHT_PROFILE": "production",
    "GATEWRIGHT_SECRETS": SECRET,
    "GATEWRIGHT_BASE_URL": "https://auth.example.com",
    "GATEWRIGHT_DATABASE_URL": "sqlite:///gatewright.db",
}
"""All that production needs."""

VARIABLES = [
    ("secrets", {"GATEWRIGHT_SECRETS": ""}),
    ("secrets", {"GATEWRIGHT_SECRETS": "too short"}),
    ("secrets", {"GATEWRIGHT_SECRETS": f"{SECRET},short"}),
    ("base_url", {"GATEWRIGHT_BASE_URL": ""}),
    ("base_url", {"GATEWRIGHT_BASE_URL": "auth.example.com"}),
    ("base_url", {"GATEWRIGHT_BASE_URL": "ftp://auth.example.com"}),
    ("base_url", {"GATEWRIGHT_BASE_URL": "http://auth.example.com"}),
    ("database_url", {"GATEWRIGHT_DATABASE_URL": ""}),
    ("database_url", {"GATEWRIGHT_DATABASE_URL": "mysql://localhost/auth"}),
    ("database.pool_size", {"GATEWRIGHT_DATABASE__POOL_SIZE": "many"}),
    ("server.max_body", {"GATEWRIGHT_SERVER__MAX_BODY": "12"}),
    ("session.expires_in", {"GATEWRIGHT_SESSION__EXPIRES_IN": "1 fortnight"}),
    ("session.cookie_secure", {"GATEWRIGHT_SESSION__COOKIE_SECURE": "false"}),
    ("mail.sender", {"GATEWRIGHT_MAIL__SENDER": "console"}),
    ("mail.smtp.host", {"GATEWRIGHT_MAIL__SENDER": "smtp"}),
    ("email_verification.required", {"GATEWRIGHT_EMAIL_VERIFICATION__REQUIRED": "true"}),
    ("trusted_origins", {"GATEWRIGHT_TRUSTED_ORIGINS": "http://app.example.com"}),
    ("providers.google.client_id", {"GATEWRIGHT_PROVIDERS__GOOGLE__CLIENT_SECRET": "s"}),
    ("GATEWRIGHT_SECRETS_FILE", {"GATEWRIGHT_SECRETS": "", "GATEWRIGHT_SECRETS_FILE": "nowhere"}),
]
FILES = [
    ("sesion", "[sesion]\nexpires_in = '7d'"),
    ("session.expire_in", "[session]\nexpire_in = '7d'"),
    ("require_authentication", "require_authentication = 'perhaps'"),
    ("limits.failures", "[limits]\nfailures = -1"),
    ("gatewright.toml", "[session"),
]


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    """Leave logging as it was found."""
    handlers = logging.getLogger().handlers[:]
    yield
    logging.getLogger().handlers[:] = handlers
    logs.reset()


def complaints(directory: Path, variables: Mapping[str, str]) -> list[str]:
    """Try to serve; give what is said against it, line by line. Nothing has begun by then.

    The port is taken: a service that begins all the same ends there, and the test with it.
    """
    with chdir(directory), socket.create_server(("127.0.0.1", 0)) as taken:
        words = ["serve", "--port", str(taken.getsockname()[1])]
        done = CliRunner().invoke(app, words, env={**SOUND, **variables})
    assert (done.exit_code, done.stdout) == (1, "")
    assert not (directory / "gatewright.db").exists()
    return done.stderr.splitlines()


@pytest.mark.threat("R43")
class TestFaultySettings:
    """Faulty settings."""

    @pytest.mark.parametrize(("key", "variables"), VARIABLES)
    def test_a_faulty_variable_is_named(self, tmp_path: Path, key: str, variables: dict[str, str]) -> None:
        said = complaints(tmp_path, variables)

        assert any(line.startswith(f"gatewright: {key}") for line in said), said
        assert not any(SECRET in line for line in said)

    @pytest.mark.parametrize(("key", "toml"), FILES)
    def test_a_faulty_line_of_the_file_is_named(self, tmp_path: Path, key: str, toml: str) -> None:
        (tmp_path / "gatewright.toml").write_text(toml)

        [said] = complaints(tmp_path, {})

        assert said.startswith("gatewright: ")
        assert key in said

    def test_all_that_is_wrong_is_told_at_once(self, tmp_path: Path) -> None:
        nothing = dict.fromkeys(set(SOUND) - {"GATEWRIGHT_PROFILE"}, "")

        said = complaints(tmp_path, nothing)

        assert sorted(line.split(":")[1].strip() for line in said) == ["base_url", "database_url", "secrets"]

    def test_the_sample_of_the_documents_is_no_secret(self, tmp_path: Path) -> None:
        [said] = complaints(tmp_path, {"GATEWRIGHT_SECRETS": SAMPLE_SECRET})

        assert said.startswith("gatewright: secrets")
