"""The settings in force, each with the place that it comes from."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from docs import settings as reference
from server.config import profiles
from server.config.effective import EffectiveSetting, effective_settings
from server.config.settings import load
from server.config.sources import line_numbers

FILE = """\
# the service
profile = "development"
secrets = ["0123456789abcdef0123456789abcdef"]

[session]

# for long
expires_in = "30d"
cookie_name = '''
a
[mail]
b = 1'''

[mail.smtp]
host = "smtp.example.com"
[ oauth ] # deprecated
http_timeout = "3s"
[providers."my-company"]
scopes = [
  "openid",

  # always
  "email",
]
client_id = "id"
client_secret = "hunter2"
[api_keys]
kinds = {machines = {references = "user", expires_in = "30d"}}
"""

LINES = {
    "profile": 2,
    "secrets": 3,
    "session": 5,
    "session.expires_in": 8,
    "session.cookie_name": 9,
    "mail": 14,
    "mail.smtp": 14,
    "mail.smtp.host": 15,
    "oauth": 16,
    "social.http_timeout": 17,
    "providers": 18,
    "providers.my-company": 18,
    "providers.my-company.scopes": 19,
    "providers.my-company.client_id": 25,
    "providers.my-company.client_secret": 26,
    "api_keys": 27,
    "api_keys.kinds": 28,
    "api_keys.kinds.machines": 28,
    "api_keys.kinds.machines.references": 28,
    "api_keys.kinds.machines.expires_in": 28,
}

Read = Callable[..., dict[str, EffectiveSetting]]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Return the settings in force by key, for a file with this text, and variables named without their prefix."""

    def read(text: str = "", **variables: str) -> dict[str, EffectiveSetting]:
        (tmp_path / "gatewright.toml").write_text(text, "utf-8")
        environ = {f"GATEWRIGHT_{name}": value for name, value in variables.items()}
        in_force = profiles.complete(load(environ, tmp_path), tmp_path)
        return {one.key: one for one in effective_settings(in_force, environ, tmp_path)}

    return read


def test_the_line_of_each_key_is_that_where_it_begins(tmp_path: Path) -> None:
    for name, text in (("unix.toml", FILE), ("windows.toml", FILE.replace("\n", "\r\n"))):
        (tmp_path / name).write_bytes(text.encode())
        lines = line_numbers(tmp_path / name, {("oauth", "http_timeout"): ("social", "http_timeout")})

        assert {".".join(path): line for path, line in lines.items()} == LINES, name


def test_a_missing_file_has_no_lines(tmp_path: Path) -> None:
    assert line_numbers(tmp_path / "absent.toml", {}) == {}


class TestOrigin:
    def test_is_the_usual_file_if_the_variable_for_another_one_is_empty(self, read: Read) -> None:
        assert read('app_name = "Acme"', CONFIG="")["app_name"].origin == "gatewright.toml:1"

    def test_is_the_line_of_the_file(self, read: Read) -> None:
        found = read(FILE.replace("'''\na\n[mail]\nb = 1'''", '"kept"'))

        keys = (
            *("session.expires_in", "mail.smtp.host", "social.http_timeout"),
            *("providers.my-company.scopes", "api_keys.kinds.machines.references"),
        )
        assert {key: (found[key].source, found[key].origin) for key in keys} == {
            "session.expires_in": ("file", "gatewright.toml:8"),
            "mail.smtp.host": ("file", "gatewright.toml:12"),
            "social.http_timeout": ("file", "gatewright.toml:14"),
            "providers.my-company.scopes": ("file", "gatewright.toml:16"),
            "api_keys.kinds.machines.references": ("file", "gatewright.toml:25"),
        }

    def test_is_the_variable_which_the_file_does_not_change(self, read: Read, tmp_path: Path) -> None:
        (tmp_path / "key").write_text("hunter2", "utf-8")

        found = read(
            FILE.replace("'''\na\n[mail]\nb = 1'''", '"kept"'),
            SESSION__EXPIRES_IN="7d",
            MAGIC_LINK__CONFIRM="false",
            PROVIDERS__GITHUB__CLIENT_SECRET_FILE=str(tmp_path / "key"),
            API_KEYS__KINDS='{"robots": {"references": "user"}}',
        )

        keys = (
            *("session.expires_in", "magic_links.confirm"),
            *("providers.github.client_secret", "api_keys.kinds.robots.references"),
        )
        assert {key: (found[key].source, found[key].origin) for key in keys} == {
            "session.expires_in": ("variable", "GATEWRIGHT_SESSION__EXPIRES_IN"),
            "magic_links.confirm": ("variable", "GATEWRIGHT_MAGIC_LINK__CONFIRM"),
            "providers.github.client_secret": (
                "variable",
                "GATEWRIGHT_PROVIDERS__GITHUB__CLIENT_SECRET_FILE",
            ),
            "api_keys.kinds.robots.references": ("variable", "GATEWRIGHT_API_KEYS__KINDS"),
        }
        assert found["api_keys.kinds.machines.references"].source == "file"

    def test_is_the_profile_or_the_default(self, read: Read) -> None:
        found = read('[providers.github]\nclient_id = "id"', PROFILE="development")

        keys = ("base_url", "mail.sender", "api_keys.verifiers", "session.expires_in")
        assert [found[key].origin for key in keys] == [*["profile development"] * 3, "default"]
        assert (found["providers.github.token_auth"].source, found["providers.github.token_auth"].text) == (
            "default",
            "post",
        )


class TestText:
    def test_shows_of_a_secret_only_whether_it_is_set(self, read: Read) -> None:
        secrets = {
            "SECRETS": "0123456789abcdef0123456789abcdef",
            "DATABASE_URL": "postgresql://u:hunter2@db.test/x",
            "MAIL__SMTP__PASSWORD": "hunter2",
            "PROVIDERS__GITHUB__CLIENT_SECRET": "hunter2",
            "LIMITS__STORE": "redis://:hunter2@cache.test",
            "API_KEYS__VERIFIERS": "files:" + "v" * 32,
        }
        keys = [name.lower().replace("__", ".") for name in secrets]

        found, without = read(**secrets), read()

        assert [found[key].text for key in keys] == ["set"] * len(keys)
        assert [without[key].text for key in keys if key in without] == [
            *["not set"] * 3,
            "database",
            "not set",
        ]
        assert not re.search("hunter2|0123456789|vvv", repr(found))

    def test_hides_a_secret_that_the_file_no_longer_has(self, tmp_path: Path) -> None:
        file = tmp_path / "gatewright.toml"
        file.write_text('secrets = ["0123456789abcdef0123456789abcdef"]', "utf-8")
        in_force = load({}, tmp_path)
        file.write_text("", "utf-8")

        [secrets] = [one for one in effective_settings(in_force, {}, tmp_path) if one.key == "secrets"]

        assert secrets.text == "set"

    def test_is_a_value_as_it_would_be_set(self, read: Read) -> None:
        found = read(TRUSTED_ORIGINS="https://a.test,https://b.test", SESSION__EXPIRES_IN="48h")

        keys = ("trusted_origins", "session.expires_in", "session.cookie_secure", "two_factor.issuer")
        assert [found[key].text for key in keys] == ["https://a.test, https://b.test", "2d", "true", "none"]


def test_each_has_its_group_and_a_heading_in_the_reference(read: Read) -> None:
    found = read(FILE.replace("'''\na\n[mail]\nb = 1'''", '"kept"'))

    page = reference.text()
    assert {one.anchor for one in found.values() if f"{{ #{one.anchor} }}" not in page} == set()
    keys = ("app_name", "mail.smtp.host", "providers.my-company.scopes", "api_keys.kinds.machines.references")
    assert [(found[key].group, found[key].anchor) for key in keys] == [
        ("", "the-service"),
        ("mail.smtp", "mail-smtp"),
        ("providers.my-company", "providers"),
        ("api_keys.kinds.machines", "api_keys"),
    ]
