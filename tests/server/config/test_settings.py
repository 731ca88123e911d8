"""The settings: their sources, their precedence, and what is refused (behaviour chapter 2)."""

import json
from collections.abc import Callable
from dataclasses import dataclass, is_dataclass
from datetime import timedelta
from importlib import import_module
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import pytest

import domain
from domain.emails.policy import EmailVerificationPolicy
from domain.oauth_clients.policy import ConfiguredClient, Resource
from domain.passwords.policy import Blocklist, PasswordPolicy, PasswordResetPolicy
from domain.policy import Policy
from domain.sso_connections.policy import ConfiguredConnection
from server.config import settings
from server.config.base import Settings, fill
from server.config.groups.emails import ChangeEmailSettings
from server.config.groups.mail import MailSettings
from server.config.groups.password import PasswordSettings
from server.config.groups.server import ServerSettings
from server.config.groups.session import SessionSettings
from server.config.groups.social import ProviderSettings
from server.config.groups.users import UsernameSettings
from server.config.policy import policy_of
from server.config.settings import AllSettings, unknown_variables
from server.config.sources import ConfigurationError, fields
from tests.policies import policy

SECRET = "0123456789abcdef0123456789abcdef"

OFF = {
    *("allow_http", "admin.enabled", "admin.impersonation.enabled", "admin.impersonation.notify"),
    *("api_keys.enabled", "api_keys.sessions", "api_keys.accept_imported", "magic_links.enabled"),
    *("passkey.enabled", "email_codes.enabled", "jwt.enabled", "jwt.header", "mail.mailbox"),
    *("account_linking.allow_different_emails", "account_linking.allow_unlinking_all"),
}
"""Switches that open a door, or show more: whoever wants it chooses it."""

ON = {
    *("require_authentication", "require_current_password", "send_email_notifications"),
    *(
        "session.cookie_secure",
        "session.cookie_http_only",
        "password.blocklist",
        "password_reset.revoke_sessions",
    ),
    *("account_linking.require_local_verified", "two_factor.enforce_for_social", "magic_links.confirm"),
    *("admin.impersonation.restricted", "limits.enabled"),
}
"""Switches that protect."""

BOUNDS = {
    "profile": "production",
    "server.host": "127.0.0.1",
    "metrics.host": "127.0.0.1",
    "trusted_origins": (),
    "trusted_proxies": (),
    "session.cookie_same_site": "Lax",
    "session.cookie_domain": None,
    "password.min_length": 8,
    "password.argon2_memory_kib": 19456,
    "password.argon2_time": 2,
    "passkey.user_verification": "required",
    "jwt.claims": ("email", "emailVerified", "name"),
}


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., Settings]:
    """Read settings from a file with the given text and the given variables, named without their prefix."""

    def load(toml: str = "", **variables: str) -> Settings:
        (tmp_path / "gatewright.toml").write_text(toml, "utf-8")
        return settings.load({f"GATEWRIGHT_{name}": text for name, text in variables.items()}, tmp_path)

    return load


def value(chosen: Settings, key: str) -> Any:
    """Return the value of a setting by its name in the table."""
    found: Any = chosen
    for part in key.split("."):
        found = getattr(found, "from_address" if part == "from" else part)
    return found


class TestDefaults:
    """All of them stand in the reference of the documentation, which has to be what the classes say."""

    def test_are_safe(self) -> None:
        chosen = AllSettings()

        assert {key: value(chosen, key) for key in BOUNDS} == BOUNDS
        assert [key for key in OFF if value(chosen, key)] == []
        assert [key for key in ON if not value(chosen, key)] == []

    def test_hash_on_at_most_four_cores(self) -> None:
        assert 1 <= AllSettings()[PasswordSettings].hash_workers <= 4

    def test_are_described(self) -> None:
        assert [path for path, field in fields(AllSettings) if not field.description] == []


class TestGroups:
    def test_each_has_its_own_key(self) -> None:
        keys = [group.key for group in settings.GROUPS]

        assert len(set(keys)) == len(keys)
        assert not set(keys) & set(Settings.model_fields)

    def test_are_read_by_class(self, load: Callable[..., Settings]) -> None:
        chosen = load(MAIL__SENDER="file", PROVIDERS__GITHUB__CLIENT_ID="id")

        assert chosen[MailSettings].sender == "file"
        assert chosen.named(ProviderSettings)["github"].client_id == "id"
        assert chosen[MailSettings] in chosen.groups()


class TestPrecedence:
    def test_the_environment_wins_over_the_file_and_the_file_over_the_defaults(
        self, load: Callable[..., Settings]
    ) -> None:
        toml = (
            'app_name = "File"\ntrusted_origins = ["https://a.test", "https://b.test"]\n'
            '[session]\nexpires_in = "2h"\ncookie_name = "kept"'
        )

        chosen = load(toml, SESSION__EXPIRES_IN="3h", TRUSTED_ORIGINS="https://c.test")

        assert chosen[SessionSettings].update_age == timedelta(days=1)
        assert (chosen.app_name, chosen[SessionSettings].cookie_name) == ("File", "kept")
        assert chosen[SessionSettings].expires_in == timedelta(hours=3)
        assert chosen.trusted_origins == ("https://c.test",)

    def test_another_file_may_be_named(self, tmp_path: Path) -> None:
        (tmp_path / "gatewright.toml").write_text('app_name = "Default"', "utf-8")
        (tmp_path / "other.toml").write_text('app_name = "Other"', "utf-8")

        by_name = settings.load({"GATEWRIGHT_CONFIG": "other.toml"}, tmp_path)
        by_path = settings.load({"GATEWRIGHT_CONFIG": str(tmp_path / "other.toml")}, Path("/"))

        assert (by_name.app_name, by_path.app_name) == ("Other", "Other")

    def test_no_file_is_needed_and_the_real_environment_is_not_read(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv("APP_NAME", "Stray")
        monkeypatch.setenv("GATEWRIGHT_APP_NAME", "Stray")

        assert settings.load({}, tmp_path) == AllSettings()
        assert AllSettings().app_name == "Gatewright"


class TestEnvironment:
    @pytest.mark.parametrize(
        ("text", "switch"), [("true", True), ("FALSE", False), ("1", True), ("off", False)]
    )
    def test_switches(self, load: Callable[..., Settings], text: str, switch: bool) -> None:
        assert load(USERNAME__ENABLED=text)[UsernameSettings].enabled is switch

    @pytest.mark.parametrize("text", ["10.0.0.0/8, ::1", '["10.0.0.0/8", "::1"]', "10.0.0.0/8\n::1\n"])
    def test_lists(self, load: Callable[..., Settings], text: str) -> None:
        assert load(TRUSTED_PROXIES=text).trusted_proxies == (
            IPv4Network("10.0.0.0/8"),
            IPv6Network("::1/128"),
        )

    def test_an_empty_text_is_an_empty_list_and_no_value(self, load: Callable[..., Settings]) -> None:
        chosen = load('[mail.smtp]\nhost = "mail.test"', TRUSTED_PROXIES="", MAIL__SMTP__HOST="")

        assert (chosen.trusted_proxies, chosen[MailSettings].smtp.host) == ((), None)

    @pytest.mark.parametrize(
        ("text", "seconds"),
        [("90", 90), ("90s", 90), ("15m", 900), ("24h", 86400), ("7d", 604800), ("0.5s", 0.5)],
    )
    def test_durations(self, load: Callable[..., Settings], text: str, seconds: float) -> None:
        assert load(SERVER__REQUEST_TIMEOUT=text)[ServerSettings].request_timeout == timedelta(
            seconds=seconds
        )

    @pytest.mark.parametrize("text", ["36501d", "3000000d", "999999999999d", "-1s", "1w", "1h30m"])
    def test_strange_durations(self, load: Callable[..., Settings], text: str) -> None:
        with pytest.raises(ConfigurationError, match=r"^server\.request_timeout: should be .*$"):
            load(SERVER__REQUEST_TIMEOUT=text)

    @pytest.mark.parametrize(("text", "size"), [("65536", 65536), ("64KiB", 65536), ("1 MiB", 2**20)])
    def test_sizes(self, load: Callable[..., Settings], text: str, size: int) -> None:
        assert load(SERVER__MAX_BODY=text)[ServerSettings].max_body == size

    def test_providers_by_id(self, load: Callable[..., Settings]) -> None:
        chosen = load(
            '[providers.github]\nclient_id = "file"\nscopes = ["user"]',
            PROVIDERS__GITHUB__CLIENT_ID="environment",
            PROVIDERS__MY_COMPANY__CLAIMS=json.dumps({"id": "uid"}),
            PROVIDERS__MY_COMPANY__PKCE="false",
        )

        github, company = (
            chosen.named(ProviderSettings)["github"],
            chosen.named(ProviderSettings)["my-company"],
        )
        assert (github.client_id, github.scopes) == ("environment", ("user",))
        assert (company.claims, company.pkce) == ({"id": "uid"}, False)

    def test_values_from_files(self, load: Callable[..., Settings], tmp_path: Path) -> None:
        (tmp_path / "secret").write_text(f"{SECRET}\n", "utf-8")

        chosen = load(SECRETS_FILE=str(tmp_path / "secret"))

        assert [secret.get_secret_value() for secret in chosen.secrets] == [SECRET]

    def test_names_that_are_unlike_their_variable(self, load: Callable[..., Settings]) -> None:
        chosen = load(MAIL__FROM="Ada <ada@example.com>", PASSWORD__BLOCKLIST_FILE="/words")

        assert chosen[MailSettings].from_address == "Ada <ada@example.com>"
        assert chosen[PasswordSettings].blocklist_file == Path("/words")

    def test_unknown_variables_only_warn(self, load: Callable[..., Settings]) -> None:
        load(PORT_8000_TCP_ADDR="10.0.0.1", SERVICE_HOST="10.0.0.1", SESSION__COLOUR="red")

        assert unknown_variables(
            {"GATEWRIGHT_SESSION__EXPIRES": "1d", "GATEWRIGHT_CONFIG": "x", "PATH": ""}
        ) == {"GATEWRIGHT_SESSION__EXPIRES": "names no setting; did you mean GATEWRIGHT_SESSION__EXPIRES_IN?"}


class TestRefusals:
    @pytest.mark.threat("R43")
    @pytest.mark.parametrize(
        ("toml", "key"),
        [
            ("colour = 1", "colour"),
            ("[session]\ncolour = 1", "session.colour"),
            ("session = 1", "session"),
            ('[session]\ncookie_secure = "true"', "session.cookie_secure"),
            ('[server]\nport = "8000"', "server.port"),
            ("[server]\nport = 8000.0", "server.port"),
            ("app_name = 1", "app_name"),
            ('app_name = ""', "app_name"),
            ('trusted_origins = "https://app.test"', "trusted_origins"),
            ('trusted_proxies = ["10.0.0.1/8"]', "trusted_proxies.0"),
            ('[session]\nexpires_in = "2w"', "session.expires_in"),
            ("[session]\nexpires_in = true", "session.expires_in"),
            ('[session]\ncookie_same_site = "lax"', "session.cookie_same_site"),
            ('[session]\ncookie_name = "a;b"', "session.cookie_name"),
            ('[session]\ncookie_domain = "exa mple.com"', "session.cookie_domain"),
            ('base_url = "https://auth.test/path"', "base_url"),
            ('base_url = "ftp://auth.test"', "base_url"),
            ('base_url = "https://user@auth.test"', "base_url"),
            ('base_path = "api"', "base_path"),
            ('base_path = "/api/../auth"', "base_path"),
            ('[mail]\nsender = "pigeon"', "mail.sender"),
            ('[mail]\nfrom = "nobody"', "mail.from"),
            ('[mail]\nfrom = "a@b.test\\r\\nBcc: x@y.test"', "mail.from"),
            ('[mail]\nfrom_address = "a@example.com"', "mail.from_address"),
            ('[limits]\nstore = "memcached://x"', "limits.store"),
            ('[providers."Git Hub"]\nclient_id = "x"', "providers.Git Hub"),
            ('[providers.x]\ncolour = "x"', "providers.x.colour"),
        ],
    )
    def test_name_the_key(self, load: Callable[..., Settings], toml: str, key: str) -> None:
        with pytest.raises(ConfigurationError) as refusal:
            load(toml)

        (line,) = str(refusal.value).splitlines()
        assert line.startswith(f"{key}: ")
        assert line.endswith("gatewright.toml)")

    def test_name_the_variable(self, load: Callable[..., Settings]) -> None:
        with pytest.raises(ConfigurationError, match=r"^server\.port: .* \(GATEWRIGHT_SERVER__PORT\)$"):
            load(SERVER__PORT="eight")

    @pytest.mark.parametrize(
        ("toml", "key", "allowed"),
        [
            ("[session]\nmax_per_user = -1", "session.max_per_user", "from 0 to 1000000"),
            (f"[session]\nmax_per_user = {10**30}", "session.max_per_user", "from 0 to 1000000"),
            ("[password]\nmin_length = 0", "password.min_length", "from 1 to 1024"),
            ("reset_token_expiry_hours = 87601", "reset_token_expiry_hours", "from 1 to 87600"),
            ("[server]\nmax_body = 1", "server.max_body", "from 1024 to 16777216"),
            ('[server]\nmax_body = "1GiB"', "server.max_body", "from 1024 to 16777216"),
            ('[server]\nmax_body = "-1"', "server.max_body", "from 1024 to 16777216"),
            ("[metrics]\nport = 65536", "metrics.port", "from 0 to 65535"),
            ("[tracing]\nratio = nan", "tracing.ratio", "from 0 to 1"),
            ('[session]\nexpires_in = "0s"', "session.expires_in", "from 1s to 36500d"),
            ("[session]\nexpires_in = -1", "session.expires_in", "from 1s to 36500d"),
            (f"[session]\nexpires_in = {10**400}", "session.expires_in", "from 1s to 36500d"),
            ("[session]\nexpires_in = inf", "session.expires_in", "from 1s to 36500d"),
            ("[session]\nupdate_age = -1", "session.update_age", "from 0s to 36500d"),
            ("[database]\ntimeout = 0.01", "database.timeout", "from 0.05s to 36500d"),
        ],
    )
    def test_say_the_range_of_a_number(
        self, load: Callable[..., Settings], tmp_path: Path, toml: str, key: str, allowed: str
    ) -> None:
        with pytest.raises(ConfigurationError) as refusal:
            load(toml)

        assert str(refusal.value) == f"{key}: should be {allowed} ({tmp_path / 'gatewright.toml'})"

    @pytest.mark.parametrize(
        ("name", "text", "allowed"),
        [
            ("SESSION__MAX_PER_USER", "-1", "from 0 to 1000000"),
            ("SESSION__MAX_PER_USER", "9" * 30, "from 0 to 1000000"),
            ("SERVER__MAX_BODY", "1GiB", "from 1024 to 16777216"),
            ("TRACING__RATIO", "-0.5", "from 0 to 1"),
            ("SESSION__EXPIRES_IN", "0.5s", "from 1s to 36500d"),
            ("SESSION__EXPIRES_IN", "9" * 30 + "d", "from 1s to 36500d"),
        ],
    )
    def test_say_the_range_of_a_variable(
        self, load: Callable[..., Settings], name: str, text: str, allowed: str
    ) -> None:
        with pytest.raises(ConfigurationError) as refusal:
            load(**{name: text})

        key = name.replace("__", ".").lower()
        assert str(refusal.value) == f"{key}: should be {allowed} (GATEWRIGHT_{name})"

    def test_list_every_problem(self, load: Callable[..., Settings]) -> None:
        with pytest.raises(ConfigurationError) as refusal:
            load('colour = "red"\n[server]\nport = -1', SESSION__EXPIRES_IN="soon")

        keys = {line.partition(":")[0] for line in str(refusal.value).splitlines()}
        assert keys == {"colour", "server.port", "session.expires_in"}

    @pytest.mark.parametrize(
        "key", ["database_url = 5", "[mail.smtp]\npassword = ['hunter2']", "secrets = 'hunter2'"]
    )
    def test_never_show_the_value(self, load: Callable[..., Settings], key: str) -> None:
        with pytest.raises(ConfigurationError) as refusal:
            load(key)

        assert "hunter2" not in str(refusal.value)

    @pytest.mark.threat("R43")
    def test_a_file_that_is_no_toml(self, load: Callable[..., Settings]) -> None:
        with pytest.raises(
            ConfigurationError, match=r"gatewright\.toml: Invalid .*\(at line 1, column 12\)$"
        ):
            load("app_name = red\n")

    def test_a_named_file_that_is_absent(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigurationError, match=r"GATEWRIGHT_CONFIG: there is no file .*absent"):
            settings.load({"GATEWRIGHT_CONFIG": "absent.toml"}, tmp_path)

    def test_a_value_file_that_is_absent(self, load: Callable[..., Settings]) -> None:
        with pytest.raises(ConfigurationError, match="GATEWRIGHT_SECRETS_FILE: /absent: No such file"):
            load(SECRETS_FILE="/absent")

    def test_a_value_given_twice(self, load: Callable[..., Settings], tmp_path: Path) -> None:
        with pytest.raises(ConfigurationError, match="app_name: both"):
            load(APP_NAME="one", APP_NAME_FILE=str(tmp_path / "gatewright.toml"))


class TestSettings:
    def test_are_frozen(self) -> None:
        chosen = AllSettings()

        with pytest.raises(ValueError, match="frozen"):
            chosen.app_name = "Other"
        with pytest.raises(ValueError, match="frozen"):
            chosen[SessionSettings].list_tokens = False

    def test_never_show_secrets(self, load: Callable[..., Settings]) -> None:
        chosen = load(
            SECRETS=SECRET,
            DATABASE_URL="postgresql://u:hunter2@db.test/x",
            MAIL__SMTP__PASSWORD="hunter2",
            LIMITS__STORE="redis://:hunter2@cache.test",
            PROVIDERS__GITHUB__CLIENT_SECRET="hunter2",
        )

        shown = f"{chosen!r} {chosen} {chosen.model_dump_json()}"
        assert "hunter2" not in shown
        assert SECRET not in shown

    @pytest.mark.parametrize(
        ("written", "origin"),
        [
            ("https://Auth.Example.com/", "https://auth.example.com"),
            ("https://auth.example.com:443", "https://auth.example.com"),
            ("http://[::1]:8000", "http://[::1]:8000"),
        ],
    )
    def test_the_origin_has_one_spelling(
        self, load: Callable[..., Settings], written: str, origin: str
    ) -> None:
        assert load(BASE_URL=written).base_url == origin

    @pytest.mark.parametrize(
        ("written", "path"), [("/", ""), ("/api/auth/", "/api/auth"), ("/api/auth", "/api/auth")]
    )
    def test_the_path_ends_without_a_slash(
        self, load: Callable[..., Settings], written: str, path: str
    ) -> None:
        assert load(BASE_PATH=written).base_path == path


class TestPolicy:
    def test_says_what_the_settings_say(self, load: Callable[..., Settings]) -> None:
        chosen = load(
            BASE_URL="https://auth.test",
            BASE_PATH="/api/auth",
            RESET_TOKEN_EXPIRY_HOURS="2",
            SESSION__COOKIE_DOMAIN=".example.com",
            TRUSTED_ORIGINS="https://app.test",
        )

        policy = policy_of(chosen, Blocklist({"password"}))

        assert (policy.base_url, policy.base_path) == ("https://auth.test", "/api/auth")
        assert policy[PasswordResetPolicy].token_expires_in == timedelta(hours=2)
        assert policy.cookies.domain == "example.com"
        assert policy[Blocklist].passwords == {"password"}
        assert policy.origins.trusts("https://app.test")
        assert not policy.origins.trusts("http://localhost:3000")

    def test_counts_verification_only_with_a_sender(self, load: Callable[..., Settings]) -> None:
        without, sending = (
            policy_of(load(BASE_URL="https://auth.test", MAIL__SENDER=sender)) for sender in ("none", "file")
        )

        assert [one[EmailVerificationPolicy].enabled for one in (without, sending)] == [False, True]

    def test_says_when_the_blocklist_is_off(self, load: Callable[..., Settings]) -> None:
        chosen = load(BASE_URL="https://auth.test", PASSWORD__BLOCKLIST="false")

        assert not policy_of(chosen)[PasswordPolicy].blocklist

    def test_is_filled_for_every_capability(self) -> None:
        names = [name for _, name, _ in walk_packages(domain.__path__, "domain.") if name.endswith(".policy")]
        modules = [import_module(name) for name in (*names, "domain.pages") if name != "domain.policy"]
        declared = [(module.__name__, kind) for module in modules for kind in vars(module).values()]
        kinds = {kind for module, kind in declared if is_dataclass(kind) and kind.__module__ == module}
        kinds -= {Policy, ConfiguredClient, ConfiguredConnection, Resource}  # Parts of policies.

        assert kinds == set(policy().parts)

    def test_takes_every_field_from_a_setting(self) -> None:
        @dataclass(frozen=True)
        class Unknown:
            enabled: bool
            absent: int = 0

        with pytest.raises(AttributeError, match="absent"):
            fill(Unknown, ChangeEmailSettings())
        assert fill(Unknown, ChangeEmailSettings(), absent=1) == Unknown(enabled=True, absent=1)
