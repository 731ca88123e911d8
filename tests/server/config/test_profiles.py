"""The profiles: what development supplies, and what each refuses."""

import re
import stat
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from domain.api_keys.policy import ApiKeyPolicy
from domain.mail.policy import MailPolicy
from domain.passkeys.policy import PasskeyPolicy
from domain.passwords.policy import PasswordResetPolicy
from server.config import profiles
from server.config.base import Settings
from server.config.groups.api_keys import ApiKeySettings
from server.config.groups.email_codes import EmailCodeSettings
from server.config.groups.jwt import JwtSettings
from server.config.groups.limits import LimitSettings
from server.config.groups.magic_links import MagicLinkSettings
from server.config.groups.mail import MailSettings
from server.config.groups.passkeys import PasskeySettings
from server.config.groups.server import ServerSettings
from server.config.groups.session import SessionSettings
from server.config.groups.social import SocialSettings
from server.config.groups.two_factor import TwoFactorSettings
from server.config.policy import policy_of
from server.config.sources import ConfigurationError
from server.config.validation import SAMPLE_SECRET
from server.services import load_settings

SECRET = "0123456789abcdef0123456789abcdef"
PRODUCTION = {
    "GATEWRIGHT_BASE_URL": "https://auth.example.com",
    "GATEWRIGHT_DATABASE_URL": "postgresql://auth@db.example.com/auth",
    "GATEWRIGHT_SECRETS": SECRET,
}
DEVELOPMENT = {"GATEWRIGHT_PROFILE": "development"}

Load = Callable[..., Settings]


def _loader(base: dict[str, str], directory: Path) -> Load:
    def load(**variables: str) -> Settings:
        chosen = base | {f"GATEWRIGHT_{name}": text for name, text in variables.items()}
        return load_settings({name: text for name, text in chosen.items() if text != "absent"}, directory)

    return load


@pytest.fixture
def production(tmp_path: Path) -> Load:
    """Load settings that production accepts, with changes; `absent` leaves one out."""
    return _loader(PRODUCTION, tmp_path)


@pytest.fixture
def development(tmp_path: Path) -> Load:
    """Load settings of the development profile, with changes."""
    return _loader(DEVELOPMENT, tmp_path)


def refused(load: Load, **variables: str) -> list[str]:
    """Return the keys that stand in the refusal, in order."""
    with pytest.raises(ConfigurationError) as refusal:
        load(**variables)
    return [line.partition(":")[0] for line in str(refusal.value).splitlines()]


def senders(chosen: Settings) -> tuple[str, str]:
    """Return how mails are sent, and how those of resets are."""
    policy = policy_of(chosen)
    return policy[MailPolicy].sender, policy[PasswordResetPolicy].sender


class TestDevelopment:
    def test_needs_nothing(self, development: Load, tmp_path: Path) -> None:
        chosen = development()

        assert (chosen.base_url, chosen[ServerSettings].host) == ("http://localhost:8000", "localhost")
        assert chosen.database_url.get_secret_value() == f"sqlite+aiosqlite:///{tmp_path / 'gatewright.db'}"
        assert senders(chosen) == ("console", "console")
        assert chosen[SessionSettings].cookie_secure
        assert development(SERVER__PORT="9000").base_url == "http://localhost:9000"

    @pytest.mark.threat("R43")
    @pytest.mark.parametrize(
        ("variables", "shown"),
        [
            ({}, True),
            ({"SERVER__HOST": "localhost"}, True),
            ({"BASE_URL": "http://localhost:9000"}, True),
            ({"SERVER__HOST": "0.0.0.0"}, False),
            ({"SERVER__HOST": "::"}, False),
            ({"BASE_URL": "https://tunnel.example.com"}, False),
            ({"MAIL__MAILBOX": "false"}, False),
            ({"SERVER__HOST": "0.0.0.0", "MAIL__MAILBOX": "true"}, True),
        ],
        ids=str,
    )
    def test_shows_its_mails_to_this_machine_only(
        self, development: Load, variables: dict[str, str], shown: bool
    ) -> None:
        assert development(**variables)[MailSettings].mailbox is shown

    @pytest.mark.parametrize(
        ("variables", "ways"),
        [
            ({}, ["magic_links", "email_codes", "passkey"]),
            ({"MAGIC_LINKS__ENABLED": "false", "PASSKEY__ENABLED": "false"}, ["email_codes"]),
            ({"MAIL__SENDER": "none"}, ["passkey"]),
            ({"PAGES__ENABLED": "false"}, ["email_codes", "passkey"]),
            ({"BASE_URL": "http://127.0.0.1:8000"}, ["magic_links", "email_codes"]),
        ],
        ids=str,
    )
    def test_enables_every_way_in_that_can_work(
        self, development: Load, variables: dict[str, str], ways: list[str]
    ) -> None:
        chosen = development(**variables)
        groups = ("magic_links", "email_codes", "passkey")

        assert [name for name in groups if getattr(chosen, name).enabled] == ways

    def test_what_is_set_stays(self, development: Load) -> None:
        chosen = development(
            BASE_URL="https://auth.test",
            DATABASE_URL="sqlite:///other.db",
            SECRETS=SECRET,
            MAIL__SENDER="none",
            PASSWORD_RESET__SENDER="file",
        )

        assert chosen.base_url == "https://auth.test"
        assert chosen.database_url.get_secret_value() == "sqlite:///other.db"
        assert [secret.get_secret_value() for secret in chosen.secrets] == [SECRET]
        assert senders(chosen) == ("none", "file")

    def test_makes_a_secret_and_a_verifier_token_once(self, development: Load, tmp_path: Path) -> None:
        first, second = development(), development()

        files = sorted(tmp_path.iterdir())
        secret, verifier = (file.read_text("utf-8").strip() for file in files)
        assert [file.name for file in files] == ["gatewright.secret", "gatewright.verifier"]
        assert [stat.S_IMODE(file.stat().st_mode) for file in files] == [0o600, 0o600]
        assert [one.get_secret_value() for one in first.secrets] == [secret]
        assert len(secret) >= 32
        assert first[ApiKeySettings].verifier_tokens() == [("dev", verifier)]
        assert (first.secrets, first[ApiKeySettings].verifiers) == (
            second.secrets,
            second[ApiKeySettings].verifiers,
        )
        assert not development(API_KEYS__VERIFIERS="")[ApiKeySettings].verifies
        assert development(API_KEYS__ENABLED="false")[ApiKeySettings].verifiers == ()

    def test_secrets_differ_between_folders(self, tmp_path: Path) -> None:
        (tmp_path / "a").mkdir()
        (tmp_path / "b").mkdir()

        first, second = (load_settings(DEVELOPMENT, tmp_path / name) for name in "ab")

        assert first.secrets != second.secrets

    def test_a_secret_that_cannot_be_kept_or_was_cut(self, tmp_path: Path) -> None:
        (tmp_path / "gatewright.secret").write_text("short", "utf-8")

        for folder in (tmp_path / "absent", tmp_path):
            assert refused(_loader(DEVELOPMENT, folder)) == ["secrets"]

    def test_loopback_is_trusted_while_nothing_else_is_said(self, development: Load) -> None:
        unset, empty, listed = (
            chosen.parsed_origins()
            for chosen in (
                development(),
                development(TRUSTED_ORIGINS=""),
                development(TRUSTED_ORIGINS="http://app.test"),
            )
        )

        assert [one.trusts("http://localhost:3000") for one in (unset, empty, listed)] == [True, False, False]
        assert listed.trusts("http://app.test")

    def test_providers_over_http_on_loopback_only(self, development: Load) -> None:
        development(PROVIDERS__X__CLIENT_ID="x", PROVIDERS__X__ISSUER="http://127.0.0.1:9")

        keys = refused(
            development,
            PROVIDERS__X__CLIENT_ID="x",
            PROVIDERS__X__ISSUER="http://127.0.0.1.evil.test",
        )
        assert keys == ["providers.x.issuer"]


class TestProduction:
    def test_starts_with_the_least(self, production: Load, tmp_path: Path) -> None:
        chosen = production()

        assert senders(chosen) == ("none", "none")
        assert list(tmp_path.iterdir()) == []
        assert chosen.parsed_origins().trusts("https://auth.example.com")
        assert not chosen.parsed_origins().trusts("http://localhost:3000")
        assert (chosen[JwtSettings].enabled, chosen[ApiKeySettings].enabled) == (False, False)

    def test_is_the_profile_when_none_is_named(self, tmp_path: Path) -> None:
        assert refused(_loader({}, tmp_path)) == ["secrets", "base_url", "database_url"]

    @pytest.mark.threat("R43")
    @pytest.mark.parametrize(
        ("variables", "key"),
        [
            ({"SECRETS": "absent"}, "secrets"),
            ({"SECRETS": ""}, "secrets"),
            ({"SECRETS": f"{SECRET},too-short"}, "secrets"),
            ({"SECRETS": SAMPLE_SECRET}, "secrets"),
            ({"SECRETS": f"{SECRET},{SAMPLE_SECRET}"}, "secrets"),
            ({"BASE_URL": "absent"}, "base_url"),
            ({"BASE_URL": "http://auth.example.com"}, "base_url"),
            ({"DATABASE_URL": "absent"}, "database_url"),
            ({"DATABASE_URL": "mysql://db.example.com/auth"}, "database_url"),
            ({"DATABASE_URL": "postgresql://db1,db2/auth"}, "database_url"),
            ({"SESSION__COOKIE_SECURE": "false"}, "session.cookie_secure"),
            ({"MAIL__SENDER": "console"}, "mail.sender"),
            ({"PASSWORD_RESET__SENDER": "console"}, "password_reset.sender"),
            ({"MAIL__MAILBOX": "true"}, "mail.mailbox"),
            ({"TRUSTED_ORIGINS": "https://app.test,http://app.test"}, "trusted_origins"),
            ({"TRUSTED_ORIGINS": "http://*.app.test"}, "trusted_origins"),
            ({"TWO_FACTOR__PAGE": "https://app.test/code"}, "two_factor.page"),
            ({"TWO_FACTOR__ISSUER": "Evil\nShop"}, "two_factor.issuer"),
            ({"TWO_FACTOR__ISSUER": "Evil: Shop"}, "two_factor.issuer"),
            ({"APP_NAME": "Evil\nBcc: x"}, "app_name"),
            (
                {"PROVIDERS__X__CLIENT_ID": "x", "PROVIDERS__X__ISSUER": "http://127.0.0.1"},
                "providers.x.issuer",
            ),
        ],
    )
    def test_refuses(self, production: Load, variables: dict[str, str], key: str) -> None:
        assert refused(production, **variables) == [key]

    def test_takes_a_page_of_a_trusted_origin(self, production: Load) -> None:
        chosen = production(
            TRUSTED_ORIGINS="https://*.app.test", TWO_FACTOR__PAGE="https://www.app.test/code"
        )

        assert chosen[TwoFactorSettings].page == "https://www.app.test/code"

    @pytest.mark.threat("R43")
    def test_lists_every_problem(self, production: Load) -> None:
        keys = refused(
            production,
            SECRETS="short",
            BASE_URL="http://auth.test",
            DATABASE_URL="absent",
            MAIL__SENDER="smtp",
            LIMITS__STORE="redis://127.0.0.1:port",
        )

        assert keys == ["secrets", "database_url", "mail.smtp.host", "mail.from", "limits.store", "base_url"]

    def test_http_when_it_is_allowed(self, production: Load) -> None:
        chosen = production(
            ALLOW_HTTP="true",
            BASE_URL="http://auth.test",
            SESSION__COOKIE_SECURE="false",
            TRUSTED_ORIGINS="http://app.test",
        )

        assert chosen.parsed_origins().trusts("http://app.test")

    def test_never_shows_the_secret(self, production: Load) -> None:
        with pytest.raises(ConfigurationError) as refusal:
            production(SECRETS="hunter2", DATABASE_URL="mysql://u:hunter2@db.test/x")

        assert "hunter2" not in str(refusal.value)


class TestTokens:
    """The settings `jwt`."""

    @pytest.mark.threat("JWT8")
    def test_a_key_is_announced_for_longer_than_caches_keep_it(self, production: Load) -> None:
        production(JWT__JWKS_MAX_AGE="29m", JWT__PUBLISH_AHEAD="1h")

        assert refused(production, JWT__JWKS_MAX_AGE="30m", JWT__PUBLISH_AHEAD="1h") == ["jwt.publish_ahead"]

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("ISSUER", "https://auth.example.com/"),
            ("ISSUER", "https://auth.example.com/?a=b"),
            ("ISSUER", "https://auth.example.com/#a"),
            ("ISSUER", "http://auth.example.com"),
            ("ISSUER", "auth.example.com"),
            ("AUDIENCES", "app_12345"),
            ("AUDIENCES", "x" * 256),
            ("AUDIENCES", ",".join(f"https://{number}.test" for number in range(21))),
            ("ALGORITHMS", "ES256,ES256"),
            ("ALGORITHMS", "HS256"),
            ("ALGORITHMS", "[]"),
            ("CLAIMS", "password"),
            ("CLAIMS", "sub"),
            ("EXPIRES_IN", "59s"),
            ("EXPIRES_IN", "61m"),
            ("ROTATION_INTERVAL", "23h"),
            ("ROTATION_INTERVAL", "401d"),
            ("PUBLISH_AHEAD", "9m"),
            ("KEEP", "23h"),
            ("JWKS_MAX_AGE", "2h"),
            ("HEADER", "true"),
        ],
    )
    def test_refuse(self, production: Load, name: str, text: str) -> None:
        [key] = refused(production, **{f"JWT__{name}": text})

        assert key.startswith(f"jwt.{name.lower()}")

    def test_a_rotation_is_longer_than_its_announcement(self, production: Load) -> None:
        keys = refused(production, JWT__ROTATION_INTERVAL="2d", JWT__PUBLISH_AHEAD="2d")

        assert keys == ["jwt.rotation_interval"]

    def test_are_on_in_development(self, development: Load) -> None:
        assert development()[JwtSettings].enabled
        assert not development(JWT__ENABLED="false")[JwtSettings].enabled


class TestBoth:
    @pytest.fixture(params=["development", "production"])
    def load(self, request: pytest.FixtureRequest) -> Any:
        return request.getfixturevalue(request.param)

    @pytest.mark.threat("R43")
    @pytest.mark.parametrize(
        ("variables", "keys"),
        [
            ({"SECRETS": "too-short"}, ["secrets"]),
            ({"PROVIDERS__X__ISSUER": "https://x.test"}, ["providers.x.client_id"]),
            ({"ACCOUNT_LINKING__TRUSTED_PROVIDERS": "x"}, ["account_linking.trusted_providers"]),
            ({"MAIL__SENDER": "smtp"}, ["mail.smtp.host", "mail.from"]),
            ({"PASSWORD_RESET__SENDER": "smtp", "MAIL__FROM": "a@example.com"}, ["mail.smtp.host"]),
            ({"MAIL__SENDER": "smtp", "MAIL__SMTP__HOST": "mail.test"}, ["mail.from"]),
            (
                {"EMAIL_VERIFICATION__REQUIRED": "true", "MAIL__SENDER": "none"},
                ["email_verification.required"],
            ),
            (
                {
                    "SESSION__COOKIE_SAME_SITE": "None",
                    "SESSION__COOKIE_SECURE": "false",
                    "ALLOW_HTTP": "true",
                },
                ["session.cookie_same_site"],
            ),
            (
                {"SESSION__COOKIE_NAME": "__Host-session", "SESSION__COOKIE_DOMAIN": "example.com"},
                ["session.cookie_name"],
            ),
            (
                {
                    "SESSION__COOKIE_NAME": "__Host-session",
                    "SESSION__COOKIE_SECURE": "false",
                    "ALLOW_HTTP": "true",
                },
                ["session.cookie_name"],
            ),
            (
                {"SESSION__COOKIE_PREFIX": "__Host-", "SESSION__COOKIE_DOMAIN": "example.com"},
                ["session.cookie_prefix"],
            ),
            ({"SESSION__COOKIE_NAME": "service.two-factor"}, ["session.cookie_name"]),
            ({"TRUSTED_ORIGINS": "*"}, ["trusted_origins"]),
            (
                {"TRUSTED_ORIGINS": "javascript://x,https://app.test/path"},
                ["trusted_origins", "trusted_origins"],
            ),
            *(
                ({**variables, "TRUSTED_ORIGINS": "*"}, ["trusted_origins"])
                for variables in (
                    {"MAGIC_LINKS__PAGE": "https://app.test/in"},
                    {
                        "JWT__ENABLED": "true",
                        "OAUTH__ENABLED": "true",
                        "OAUTH__LOGIN_PAGE": "https://app.test/in",
                    },
                )
            ),
            ({"PASSWORD__MIN_LENGTH": "20", "PASSWORD__MAX_LENGTH": "10"}, ["password.min_length"]),
            (
                {"PASSWORD__ARGON2_MEMORY_KIB": "8", "PASSWORD__ARGON2_PARALLELISM": "2"},
                ["password.argon2_memory_kib"],
            ),
            ({"PASSWORD__BLOCKLIST_FILE": "/absent"}, ["password.blocklist_file"]),
            ({"MAIL__TEMPLATES_DIR": "/absent"}, ["mail.templates_dir"]),
            (
                {"DELETE_USER__CONFIRM_BY_MAIL": "true", "MAIL__SENDER": "none"},
                ["delete_user.confirm_by_mail"],
            ),
            ({"DATABASE_URL": "postgresql://db.test/x", "DATABASE__POOL_SIZE": "3"}, ["database.pool_size"]),
        ],
    )
    def test_refuse(self, load: Load, variables: dict[str, str], keys: list[str]) -> None:
        assert refused(load, **variables) == keys

    def test_refuse_a_blocklist_that_is_not_utf_8(self, load: Load, tmp_path: Path) -> None:
        file = tmp_path / "refused.txt"
        file.write_bytes(b"hunter2\npassw\xf6rd\n")

        with pytest.raises(ConfigurationError, match=rf"^password\.blocklist_file: {file}: .*$") as refusal:
            load(PASSWORD__BLOCKLIST_FILE=str(file))
        assert "hunter2" not in str(refusal.value)

    @pytest.mark.parametrize("text", [b"{% if %}", b"\xff"])
    def test_refuse_a_broken_template(self, load: Load, tmp_path: Path, text: bytes) -> None:
        (tmp_path / "verify-email").mkdir()
        (tmp_path / "verify-email" / "body.txt").write_bytes(text)

        with pytest.raises(ConfigurationError, match=r"^mail\.templates_dir: .*verify-email/body\.txt.*$"):
            load(MAIL__TEMPLATES_DIR=str(tmp_path))

    def test_accept_files_that_are_in_order(self, load: Load, tmp_path: Path) -> None:
        file, folder = tmp_path / "refused.txt", tmp_path / "templates"
        file.write_text("passwörd\n", "utf-8")
        (folder / "verify-email").mkdir(parents=True)
        (folder / "verify-email" / "body.txt").write_text("{{ link }}")

        assert load(PASSWORD__BLOCKLIST_FILE=str(file), MAIL__TEMPLATES_DIR=str(folder))

    @pytest.mark.parametrize(
        "variables",
        [
            {
                "DELETE_USER__ENABLED": "false",
                "DELETE_USER__CONFIRM_BY_MAIL": "true",
                "MAIL__SENDER": "none",
            },
            {"SESSION__COOKIE_NAME": "__Host-session"},
            {"MAIL__SENDER": "smtp", "MAIL__SMTP__HOST": "mail.test", "MAIL__FROM": "a@example.com"},
        ],
        ids=str,
    )
    def test_accept_what_fits_together(self, load: Load, variables: dict[str, str]) -> None:
        assert load(**variables)

    @pytest.mark.parametrize(("own", "resets"), [({}, "file"), ({"PASSWORD_RESET__SENDER": "none"}, "none")])
    def test_resets_are_sent_as_other_mails_unless_set(
        self, load: Load, own: dict[str, str], resets: str
    ) -> None:
        assert senders(load(MAIL__SENDER="file", **own)) == ("file", resets)

    @pytest.mark.parametrize(
        "address", ["redis://127.0.0.1:port", "redis://127.0.0.1:99999", "valkey://127.0.0.1/0?colour=red"]
    )
    def test_refuse_a_store_that_cannot_be_reached(self, load: Load, address: str) -> None:
        assert refused(load, LIMITS__STORE=address) == ["limits.store"]

    @pytest.mark.parametrize(
        "address", ["database", "rediss://:pw@db.example.com:6380/2", "unix:///run/valkey"]
    )
    def test_accept_a_store_without_asking_it(self, load: Load, address: str) -> None:
        assert load(LIMITS__STORE=address)[LimitSettings].store.get_secret_value() == address


class TestSettingsFile:
    """The file that the first start in development creates."""

    def test_selects_the_profile_for_every_command_in_the_folder(self, tmp_path: Path) -> None:
        created = profiles.create_settings_file(DEVELOPMENT, tmp_path)

        assert created == tmp_path / "gatewright.toml"
        assert created.stat().st_mode & 0o777 == 0o600
        assert profiles.load({}, tmp_path) == profiles.load(DEVELOPMENT, tmp_path)

    def test_shows_settings_that_exist(self, tmp_path: Path) -> None:
        created = profiles.create_settings_file(DEVELOPMENT, tmp_path)
        assert created is not None
        shown = re.sub(r"(?m)^# (\w+ = |\[)", r"\1", created.read_text("utf-8"))
        created.write_text(shown, "utf-8")

        chosen = profiles.load({}, tmp_path)

        assert (chosen[MailSettings].smtp.host, chosen[SessionSettings].expires_in) == (
            "smtp.example.com",
            timedelta(days=7),
        )

    @pytest.mark.parametrize("environ", [{}, PRODUCTION, {**DEVELOPMENT, "GATEWRIGHT_CONFIG": "other.toml"}])
    def test_is_only_created_in_development_without_a_configuration(
        self, tmp_path: Path, environ: dict[str, str]
    ) -> None:
        assert profiles.create_settings_file(environ, tmp_path) is None
        assert list(tmp_path.iterdir()) == []

    def test_replaces_none_and_is_not_required(self, tmp_path: Path) -> None:
        (tmp_path / "gatewright.toml").write_text('app_name = "Ada"\n', "utf-8")

        assert profiles.create_settings_file(DEVELOPMENT, tmp_path) is None
        assert profiles.create_settings_file(DEVELOPMENT, tmp_path / "absent") is None
        assert (tmp_path / "gatewright.toml").read_text("utf-8") == 'app_name = "Ada"\n'


def test_warnings_name_what_has_no_effect(tmp_path: Path) -> None:
    named = {"GATEWRIGHT_ZZZ": "1", "GATEWRIGHT_SOCIAL__HTTP_TIMEOUT": "5s"}

    assert profiles.warnings(named, tmp_path) == ["GATEWRIGHT_ZZZ: names no setting"]
    assert profiles.warnings(PRODUCTION, tmp_path) == []


class TestDeprecatedKeys:
    def test_work_in_the_environment_and_the_file_with_a_warning(self, tmp_path: Path) -> None:
        (tmp_path / "gatewright.toml").write_text("[magic_link]\nexpires_in = '20m'\n", "utf-8")
        environ = {**DEVELOPMENT, "GATEWRIGHT_OAUTH__HTTP_TIMEOUT": "5s"}

        chosen = profiles.load(environ, tmp_path)

        assert chosen[MagicLinkSettings].expires_in == timedelta(minutes=20)
        assert chosen[SocialSettings].http_timeout == timedelta(seconds=5)
        assert profiles.warnings(environ, tmp_path) == [
            "magic_link.expires_in: deprecated, use magic_links.expires_in or GATEWRIGHT_MAGIC_LINKS__EXPIRES_IN",
            "oauth.http_timeout: deprecated, use social.http_timeout or GATEWRIGHT_SOCIAL__HTTP_TIMEOUT",
        ]

    def test_are_refused_next_to_the_key_that_replaced_them(self, tmp_path: Path) -> None:
        (tmp_path / "gatewright.toml").write_text(
            "[email_otp]\nattempts = 2\n[email_codes]\nattempts = 3\n", "utf-8"
        )

        with pytest.raises(ConfigurationError, match=r"email_codes.attempts: both it and email_otp.attempts"):
            profiles.load(DEVELOPMENT, tmp_path)

    def test_of_the_file_give_way_to_the_environment(self, tmp_path: Path) -> None:
        (tmp_path / "gatewright.toml").write_text("[email_otp]\nattempts = 2\n", "utf-8")

        chosen = profiles.load({**DEVELOPMENT, "GATEWRIGHT_EMAIL_CODES__ATTEMPTS": "4"}, tmp_path)

        assert chosen[EmailCodeSettings].attempts == 4


class TestAdministration:
    """The settings `admin`."""

    @pytest.mark.parametrize(
        ("settings", "key"),
        [
            ({"ROLES": '{"support": {"user": ["fly"]}}'}, "admin.roles.support.user"),
            ({"ROLES": '{"support": {"report": ["read"]}}'}, "admin.roles.support.report"),
            ({"ROLES": '{"a b": {}}'}, "admin.roles.a b"),
            ({"ROLES": '{"%s": {}}' % ("x" * 33)}, f"admin.roles.{'x' * 33}"),
            ({"STATEMENTS": '{"report": ["read it"]}'}, "admin.statements.report"),
            ({"DEFAULT_ROLE": "nobody"}, "admin.default_role"),
            ({"DEFAULT_ROLE": "admin"}, "admin.default_role"),
            ({"ROLES": '{"user": {"session": ["list"]}}'}, "admin.default_role"),
            ({"SCAN_TIMEOUT": "31s"}, "admin.scan_timeout"),
            ({"COUNT_LIMIT": "999"}, "admin.count_limit"),
            ({"FRESH_AGE": "-1s"}, "admin.fresh_age"),
        ],
    )
    def test_refuse(self, production: Load, settings: dict[str, str], key: str) -> None:
        variables = {f"ADMIN__{name}": text for name, text in settings.items()}

        assert key in refused(production, **variables)

    def test_a_default_role_may_have_permissions_of_the_application(self, production: Load) -> None:
        production(
            ADMIN__STATEMENTS='{"report": ["read"]}',
            ADMIN__ROLES='{"reader": {"report": ["read"]}}',
            ADMIN__DEFAULT_ROLE="reader",
        )


class TestApiKeys:
    """The settings `api_keys`."""

    @pytest.mark.parametrize(
        ("settings", "key"),
        [
            ({"VERIFIERS": "files"}, "api_keys.verifiers"),
            ({"VERIFIERS": "files:" + "v" * 31}, "api_keys.verifiers"),
            ({"VERIFIERS": "Files:" + "v" * 32}, "api_keys.verifiers"),
            ({"VERIFIERS": ",".join(f"s{n}:{'v' * 32}" for n in range(33))}, "api_keys.verifiers"),
            ({"SESSIONS": "true"}, "api_keys.sessions"),
            ({"DEFAULT_PREFIX": "a b"}, "api_keys.default_prefix"),
            ({"STARTING_CHARACTERS": "9"}, "api_keys.starting_characters"),
            ({"MINIMUM_PREFIX_LENGTH": "9", "MAXIMUM_PREFIX_LENGTH": "8"}, "api_keys.minimum_prefix_length"),
            ({"MINIMUM_NAME_LENGTH": "9", "MAXIMUM_NAME_LENGTH": "8"}, "api_keys.minimum_name_length"),
            ({"MINIMUM_EXPIRES_IN": "2d", "MAXIMUM_EXPIRES_IN": "1d"}, "api_keys.minimum_expires_in"),
            ({"LIMIT_PER_OWNER": "0"}, "api_keys.limit_per_owner"),
            ({"GRANTABLE": '{"files": ["read it"]}'}, "api_keys.grantable"),
            ({"DEFAULT_PERMISSIONS": '{"1x": ["read"]}'}, "api_keys.default_permissions"),
            ({"KINDS": '{"ci": {}}'}, "api_keys.kinds.ci.references"),
            ({"KINDS": '{"ci": {"references": "organization"}}'}, "api_keys.kinds.ci.references"),
            ({"KINDS": '{"default": {"references": "user"}}'}, "api_keys.kinds.default"),
            ({"KINDS": '{"C I": {"references": "user"}}'}, "api_keys.kinds.C I"),
            (
                {"KINDS": '{"ci": {"references": "user", "default_prefix": "a b"}}'},
                "api_keys.kinds.ci.default_prefix",
            ),
            ({"KINDS": '{"ci": {"references": "user", "color": "red"}}'}, "api_keys.kinds.ci.color"),
        ],
    )
    def test_refuse(self, production: Load, settings: dict[str, str], key: str) -> None:
        variables = {f"API_KEYS__{name}": text for name, text in settings.items()}

        assert key in refused(production, **variables)

    def test_may_belong_to_organizations(self, production: Load) -> None:
        kinds = '{"team": {"references": "organization"}, "ci": {"references": "user"}}'
        settings = production(API_KEYS__KINDS=kinds, ORGANIZATIONS__ENABLED="true")

        assert policy_of(settings)[ApiKeyPolicy].kinds_of(organizations=True) == ["team"]
        assert policy_of(settings)[ApiKeyPolicy].kinds_of(organizations=False) == ["ci", "default"]

    def test_verify_nothing_in_production_until_they_are_on(self, production: Load) -> None:
        assert not production(API_KEYS__VERIFIERS="files:" + "v" * 32)[ApiKeySettings].verifies


PASSKEYS = {"PASSKEY__ENABLED": "true"}


class TestPasskeys:
    """The settings `passkey`."""

    @pytest.mark.parametrize(
        ("settings", "key"),
        [
            ({"RP_ID": "https://example.com"}, "passkey.rp_id"),
            ({"RP_ID": "example.com:443"}, "passkey.rp_id"),
            ({"RP_ID": "Example.com"}, "passkey.rp_id"),
            ({"RP_ID": "com"}, "passkey.rp_id"),
            ({"RP_ID": "127.0.0.1"}, "passkey.rp_id"),
            ({"RP_ID": "example.org"}, "passkey.rp_id"),
            ({"RP_NAME": "x" * 65}, "passkey.rp_name"),
            ({"RP_NAME": "a\u202eb"}, "passkey.rp_name"),
            ({"ORIGINS": "https://example.com"}, "passkey.origins"),
            ({"ORIGINS": "https://auth.example.com.evil.test"}, "passkey.origins"),
            ({"ORIGINS": "https://auth.example.com/page"}, "passkey.origins"),
            ({"ORIGINS": "http://auth.example.com"}, "passkey.origins"),
            ({"ORIGINS": "https://*.example.com"}, "passkey.origins"),
            ({"ORIGINS": "myapp://callback"}, "passkey.origins"),
            ({"ORIGINS": "android:apk-key-hash:short"}, "passkey.origins"),
            ({"USER_VERIFICATION": "discouraged"}, "passkey.user_verification"),
            ({"CHALLENGE_EXPIRES_IN": "11m"}, "passkey.challenge_expires_in"),
            ({"MAX_PER_USER": "101"}, "passkey.max_per_user"),
        ],
    )
    def test_refuse(self, production: Load, settings: dict[str, str], key: str) -> None:
        variables = {f"PASSKEY__{name}": text for name, text in settings.items()}

        assert key in refused(production, **PASSKEYS, **variables)

    def test_have_the_domain_of_the_service(self, production: Load) -> None:
        policy = policy_of(production(**PASSKEYS))[PasskeyPolicy]

        assert (policy.rp_id, policy.rp_name) == ("auth.example.com", "Gatewright")
        assert policy.origins == ("https://auth.example.com",)

    def test_have_the_trusted_origins_of_the_domain(self, production: Load) -> None:
        trusted = "https://app.example.com,https://*.example.com,https://example.com.evil.test,myapp://x"
        chosen = production(**PASSKEYS, PASSKEY__RP_ID="example.com", TRUSTED_ORIGINS=trusted)

        assert policy_of(chosen)[PasskeyPolicy].origins == (
            "https://app.example.com",
            "https://auth.example.com",
        )

    def test_may_be_for_an_application(self, production: Load) -> None:
        application = "android:apk-key-hash:" + "A" * 43
        origins = f"https://AUTH.example.com,{application}"

        chosen = production(**PASSKEYS, PASSKEY__ORIGINS=origins)

        assert policy_of(chosen)[PasskeyPolicy].origins == ("https://auth.example.com", application)

    def test_need_a_name_in_development(self, development: Load) -> None:
        with pytest.raises(ConfigurationError, match="http://localhost:8000"):
            development(**PASSKEYS, BASE_URL="http://127.0.0.1:8000")

        chosen = development(**PASSKEYS)
        assert policy_of(chosen)[PasskeyPolicy].rp_id == "localhost"

    def test_are_not_checked_while_they_are_off(self, development: Load) -> None:
        assert not development(PASSKEY__RP_ID="127.0.0.1")[PasskeySettings].enabled
