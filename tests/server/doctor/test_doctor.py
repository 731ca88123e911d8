"""What `gatewright doctor` finds: every fault it knows, brought about with the real thing."""

import json
import re
import sqlite3
import ssl
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from redis.asyncio import Redis
from sqlalchemy import make_url, text
from typer.testing import Result

from domain.sso import configuration
from domain.sso.configuration import OidcConfig, SamlConfig
from models.sso_connection import SsoConnection
from models.sso_domain import SsoDomain
from server.clock import system_clock
from server.config import profiles
from server.config.base import Settings
from server.crypto import certificates
from server.database.schema import head
from server.doctor import configuration as written
from server.doctor import dependencies, postgresql
from server.doctor.examination import examine_database
from server.doctor.findings import Finding, Verdict
from server.services import load_settings
from tests import rows
from tests.conftest import SignIn
from tests.handlers import passkey_steps
from tests.labs.provider.process import ProviderProcess
from tests.labs.provider.settings import social_settings
from tests.live import ROOT, serving
from tests.ports import free_port
from tests.postgres import Cluster
from tests.redis_server import RedisServer
from tests.server.terminal import typing_in
from tests.service import Service, environment
from tests.smtp_peer import CREDENTIALS, HOST, SmtpPeer, certificate

STRONG = "Jx8kQ2vN5rT7yUw3EoPzA6sDfG9hLbCm4XtVn1RqK0WiYeSdB"
PRODUCTION = {
    "profile": "production",
    "base_url": "https://auth.example.com",
    "secrets": STRONG,
    "mail.sender": "none",
    "trusted_proxies": "10.0.0.0/8",
}

pytestmark = pytest.mark.usefixtures("restored")


def settings(directory: Path, url: str | None = None, **chosen: str) -> Settings:
    """Return complete settings, of the development profile unless they say otherwise."""
    url = url or f"sqlite:///{directory / 'gatewright.db'}"
    return load_settings(environment(url, directory / "mail.jsonl", chosen), directory)


def only(findings: list[Finding], check: str) -> Finding:
    """Return the one finding of a check."""
    (finding,) = [finding for finding in findings if finding.check == check]
    return finding


def is_wrong(finding: Finding, words: str) -> bool:
    """Return whether something is wrong, for a reason that holds certain words, and has a fix."""
    return finding.verdict is Verdict.WRONG and words in finding.found and bool(finding.fix)


async def look(url: str, directory: Path, **chosen: str) -> list[Finding]:
    """Look at a database."""
    return await examine_database(settings(directory, url, **chosen), system_clock)


async def execute(url: str, *statements: str) -> None:
    """Change a PostgreSQL database."""
    connection = await asyncpg.connect(url)
    for statement in statements:
        await connection.execute(statement)
    await connection.close()


def as_user(url: str, name: str) -> str:
    """Return the address of a database for another user, with the password `secret`."""
    return make_url(url).set(username=name, password="secret").render_as_string(hide_password=False)


class TestPostgresql:
    async def test_a_sound_one(self, cluster: Cluster, tmp_path: Path) -> None:
        found = await look(cluster.create(migrated=True), tmp_path)

        assert [(one.check, one.verdict) for one in found] == [
            ("database", Verdict.OK),
            ("schema", Verdict.OK),
            ("clock", Verdict.OK),
        ]

    async def test_nobody_listens(self, tmp_path: Path) -> None:
        (finding,) = await look(f"postgresql://ada:secret@127.0.0.1:{free_port()}/x", tmp_path)

        assert is_wrong(finding, "127.0.0.1")
        assert "host and port" in finding.fix
        assert "secret" not in finding.found

    async def test_it_does_not_exist(self, cluster: Cluster, tmp_path: Path) -> None:
        (finding,) = await look(cluster.url("no_such"), tmp_path)

        assert is_wrong(finding, "does not exist")
        assert finding.fix == "create it: CREATE DATABASE no_such ENCODING 'UTF8'"

    async def test_the_user_is_refused(self, cluster: Cluster, tmp_path: Path) -> None:
        url = as_user(cluster.create(), "nobody")

        (finding,) = await look(url, tmp_path)

        assert is_wrong(finding, "nobody")
        assert "pg_hba.conf" in finding.fix

    async def test_another_encoding(self, cluster: Cluster, tmp_path: Path) -> None:
        url = cluster.create()
        name = f"{url.rpartition('/')[2]}_ascii"
        await execute(url, f"CREATE DATABASE {name} ENCODING 'SQL_ASCII' TEMPLATE template0 LOCALE 'C'")

        found = await look(cluster.url(name), tmp_path)

        await execute(url, f"DROP DATABASE {name} WITH (FORCE)")
        assert is_wrong(only(found, "database"), "SQL_ASCII")

    async def test_read_only(self, cluster: Cluster, tmp_path: Path) -> None:
        url = cluster.create(migrated=True)
        name = url.rpartition("/")[2]
        await execute(url, f"ALTER DATABASE {name} SET default_transaction_read_only = on")

        assert is_wrong(only(await look(url, tmp_path), "database"), "read-only")

    async def test_too_many_connections(self, cluster: Cluster, tmp_path: Path) -> None:
        url = cluster.create(migrated=True)

        beyond = await look(url, tmp_path, **{"database.pool_size": "1000"})
        alone = only(await look(url, tmp_path, **{"database.pool_size": "300"}), "connections")

        assert is_wrong(only(beyond, "database"), "pool_size")
        assert alone.verdict is Verdict.WARNING
        assert "600 connections" in alone.found

    async def test_a_user_without_privileges(self, cluster: Cluster, tmp_path: Path) -> None:
        url = cluster.create(migrated=True)
        role = f"reader_{url.rpartition('/')[2]}"
        await execute(
            url,
            f"CREATE ROLE {role} LOGIN PASSWORD 'secret'",
            f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}",
        )

        found = await look(as_user(url, role), tmp_path)

        await execute(url, f"DROP OWNED BY {role}", f"DROP ROLE {role}")
        finding = only(found, "privileges")
        assert is_wrong(finding, "session (")
        assert "SELECT" not in finding.found
        assert f"TO {role}" in finding.fix

    @pytest.mark.parametrize(
        ("change", "words", "verdicts"),
        [
            ("DROP TABLE alembic_version", "at no revision", [Verdict.WARNING, Verdict.WRONG]),
            (
                "UPDATE alembic_version SET version_num = '0001'",
                "at 0001",
                [Verdict.WARNING, Verdict.WRONG],
            ),
            (
                "UPDATE alembic_version SET version_num = '9999'",
                "newer than this program",
                [Verdict.WRONG, Verdict.WRONG],
            ),
        ],
    )
    async def test_another_schema(
        self, cluster: Cluster, tmp_path: Path, change: str, words: str, verdicts: list[Verdict]
    ) -> None:
        url = cluster.create(migrated=True)
        await execute(url, change)

        found = [
            only(await look(url, tmp_path, **{"database.migrate": migrate}), "schema")
            for migrate in ("auto", "check")
        ]

        assert [finding.verdict for finding in found] == verdicts
        assert all(words in finding.found for finding in found)

    async def test_a_clock_that_is_apart(self, cluster: Cluster, tmp_path: Path) -> None:
        chosen = settings(tmp_path, cluster.create(migrated=True))

        found = await examine_database(chosen, lambda: datetime.now(UTC) + timedelta(hours=1))

        finding = only(found, "clock")
        assert is_wrong(finding, "ahead of the database's")
        assert "codes of authenticator apps are refused beyond 30 s" in finding.found

    def test_slow_answers_lost_time_outs_and_a_clock_a_little_apart_are_odd(self) -> None:
        assert [one.verdict for one in postgresql.check_timeouts(2, 5, True)] == [Verdict.WARNING]
        assert [one.verdict for one in postgresql.check_timeouts(0.1, 5, False)] == [Verdict.WARNING]
        assert list(postgresql.check_timeouts(0.1, 5, True)) == []
        assert postgresql.check_clock(-5, 30).verdict is Verdict.WARNING
        assert postgresql.check_clock(-31, 30).verdict is Verdict.WRONG
        assert postgresql.check_clock(0.5, 30).verdict is Verdict.OK


class TestSqlite:
    def migrated(self, directory: Path, revision: str | None = None) -> Path:
        """Make a file with a revision in it, the newest unless told otherwise."""
        path = directory / "gatewright.db"
        path.touch(0o600)
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("CREATE TABLE alembic_version (version_num VARCHAR(32))")
            connection.execute("INSERT INTO alembic_version VALUES (?)", (revision or head(),))
        return path

    async def test_a_sound_one(self, tmp_path: Path) -> None:
        path = self.migrated(tmp_path)

        found = await look(f"sqlite:///{path}", tmp_path)

        assert {one.check: one.verdict for one in found} == {
            "disk": Verdict.OK,
            "database": Verdict.OK,
            "schema": Verdict.OK,
        }

    async def test_one_that_is_not_there_is_not_made(self, tmp_path: Path) -> None:
        found = await look(f"sqlite:///{tmp_path / 'gatewright.db'}", tmp_path)
        (without_folder,) = await look(f"sqlite:///{tmp_path / 'none' / 'gatewright.db'}", tmp_path)

        assert only(found, "database").verdict is Verdict.WARNING
        assert not (tmp_path / "gatewright.db").exists()
        assert is_wrong(without_folder, "folder")

    async def test_garbage(self, tmp_path: Path) -> None:
        path = tmp_path / "gatewright.db"
        path.touch(0o600)
        path.write_bytes(b"no database " * 1000)

        assert is_wrong(only(await look(f"sqlite:///{path}", tmp_path), "database"), "damaged")

    async def test_locked(self, tmp_path: Path) -> None:
        path = self.migrated(tmp_path)
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")

            found = await look(f"sqlite:///{path}", tmp_path, **{"database.timeout": "0.1s"})

        assert is_wrong(only(found, "database"), "locked")

    async def test_others_may_read_it(self, tmp_path: Path) -> None:
        path = self.migrated(tmp_path)
        path.chmod(0o644)

        assert is_wrong(only(await look(f"sqlite:///{path}", tmp_path), "files"), "644")

    async def test_no_room(self, tmp_path: Path) -> None:
        found = await examine_database(settings(tmp_path), system_clock, least_free=2**62)

        assert is_wrong(only(found, "disk"), "MiB free")


@pytest.mark.both_databases
async def test_names_that_are_not_configured(service: Service, sign_up: SignIn, tmp_path: Path) -> None:
    """The roles of users, and the kinds of keys, whichever the database."""
    for name in ("ada", "bo", "eve"):
        headers = await sign_up(f"{name}@example.com")
        assert (await service.post("/api-key/create", {}, headers=headers)).status_code == 200
    async with service.services.database.transaction() as db:
        await db.execute(text("UPDATE \"user\" SET role = 'user,owner' WHERE email <> 'ada@example.com'"))
        await db.execute(text("UPDATE \"user\" SET role = 'owner' WHERE email = 'bo@example.com'"))
        await db.execute(text("UPDATE api_key SET kind = 'gone'"))

    found = await look(service.services.settings.database_url.get_secret_value(), tmp_path)

    warnings = [(one.check, one.found) for one in found if one.verdict is Verdict.WARNING]
    assert warnings == [
        ("roles", "2 users have the role owner, which is not configured"),
        ("keys", "3 API keys are of the kind gone, which is not configured, and are refused"),
    ]


@pytest.mark.both_databases
async def test_passkeys_of_another_domain(service: Service, sign_up: SignIn, tmp_path: Path) -> None:
    await passkey_steps.add(service, await sign_up())
    url = service.services.settings.database_url.get_secret_value()

    same = await look(url, tmp_path)
    other = await look(
        url, tmp_path, **{"passkey.rp_id": "example.org", "passkey.origins": "https://example.org"}
    )

    assert not [one for one in same if one.check == "passkeys"]
    finding = only(other, "passkeys")
    assert finding.found == "1 passkeys were made for example.com, not example.org, and are unusable"


@asynccontextmanager
async def listening(**options: Any) -> AsyncIterator[SmtpPeer]:
    """Run a mail server."""
    peer = SmtpPeer(**options)
    await peer.start()
    yield peer
    await peer.stop()


def smtp(directory: Path, port: int, **more: str) -> Settings:
    """Return settings that send mail there."""
    return settings(
        directory,
        **{
            "mail.sender": "smtp",
            "mail.from": "no-reply@example.com",
            "mail.smtp.host": HOST,
            "mail.smtp.port": str(port),
            "mail.timeout": "5s",
            **more,
        },
    )


NAME, PASSWORD = ({"mail.smtp.username": CREDENTIALS[0]}, {"mail.smtp.password": CREDENTIALS[1]})


class TestMail:
    async def test_a_sound_server_gets_no_mail(self, tmp_path: Path) -> None:
        server, trusting = certificate(tmp_path)
        async with listening(tls=server, requires_auth=True) as peer:
            finding = await dependencies.smtp(smtp(tmp_path, peer.port, **NAME, **PASSWORD), trusting)

        assert finding.verdict is Verdict.OK, finding
        assert "signed in as mailer" in finding.found
        assert peer.attempts == 0

    async def test_nobody_listens(self, tmp_path: Path) -> None:
        finding = await dependencies.smtp(smtp(tmp_path, free_port()))

        assert is_wrong(finding, "connection refused")

    async def test_a_certificate_of_an_unknown_authority(self, tmp_path: Path) -> None:
        server, _ = certificate(tmp_path)
        async with listening(tls=server) as peer:
            finding = await dependencies.smtp(smtp(tmp_path, peer.port))

        assert is_wrong(finding, "certificate is not accepted")

    async def test_no_encryption_on_offer(self, tmp_path: Path) -> None:
        async with listening() as peer:
            finding = await dependencies.smtp(smtp(tmp_path, peer.port))

        assert finding.verdict is Verdict.WRONG
        assert "mail.smtp.tls" in finding.fix

    async def test_a_wrong_password(self, tmp_path: Path) -> None:
        async with listening(requires_auth=True) as peer:
            chosen = smtp(
                tmp_path, peer.port, **NAME, **{"mail.smtp.password": "wrong", "mail.smtp.tls": "none"}
            )
            finding = await dependencies.smtp(chosen)

        assert is_wrong(finding, "user name or password refused (535)")
        assert "mail.smtp.password" in finding.fix

    async def test_a_file_in_no_folder_is_wrong_and_no_sender_is_odd(self, tmp_path: Path) -> None:
        nowhere = settings(tmp_path, **{"mail.file_path": str(tmp_path / "none" / "mail.jsonl")})

        (wrong,) = await dependencies.mail(nowhere)
        (warning,) = await dependencies.mail(settings(tmp_path, **PRODUCTION))
        unset, file = await dependencies.mail(settings(tmp_path, **{"password_reset.sender": "none"}))

        assert is_wrong(wrong, "folder")
        assert warning.verdict is unset.verdict is Verdict.WARNING
        assert [name in warning.found for name in ("mail.sender", "cannot reset")] == [True, True]
        assert "password_reset.sender" in unset.found
        assert file.verdict is Verdict.OK


class TestProviders:
    async def test_one_that_answers_and_one_that_does_not(
        self, tmp_path: Path, provider: ProviderProcess
    ) -> None:
        away = f"http://127.0.0.1:{free_port()}/.well-known/openid-configuration"
        chosen = {
            **social_settings(provider),
            "providers.away.client_id": "x",
            "providers.away.client_secret": "x",
            "providers.away.discovery_url": away,
        }

        found = await dependencies.providers(settings(tmp_path, **chosen))

        assert only(found, "provider test").verdict is Verdict.OK
        assert only(found, "provider plain").verdict is Verdict.OK
        assert is_wrong(only(found, "provider away"), away)


@pytest.mark.long
class TestLimits:
    async def test_a_store_that_answers(self, tmp_path: Path, redis_server: RedisServer) -> None:
        finding = await dependencies.limits(settings(tmp_path, **{"limits.store": redis_server.url}))

        assert finding.verdict is Verdict.OK

    async def test_a_store_that_forgets(self, tmp_path: Path) -> None:
        server = RedisServer()
        server.start()
        async with Redis.from_url(server.url) as client:
            await client.config_set("maxmemory-policy", "allkeys-lru")

        finding = await dependencies.limits(settings(tmp_path, **{"limits.store": server.url}))

        server.stop()
        assert finding.verdict is Verdict.WARNING
        assert "allkeys-lru" in finding.found

    async def test_a_store_that_is_away_is_wrong_and_none_is_odd(self, tmp_path: Path) -> None:
        address = f"redis://127.0.0.1:{free_port()}/0"

        away = await dependencies.limits(settings(tmp_path, **{"limits.store": address}))
        none = await dependencies.limits(settings(tmp_path, **{"limits.enabled": "false"}))

        assert is_wrong(away, "does not respond")
        assert none.verdict is Verdict.WARNING


@contextmanager
def web(context: ssl.SSLContext | None = None) -> Iterator[int]:
    """Run a web server that is not ours; give its port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    with HTTPServer((HOST, 0), Handler) as server:
        if context is not None:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield int(server.server_port)
        server.shutdown()
        thread.join()


class TestPublicAddress:
    async def seen(self, directory: Path, url: str) -> Finding:
        return await dependencies.public_address(settings(directory, base_url=url))

    @pytest.mark.long
    async def test_the_service_itself(self, tmp_path: Path) -> None:
        with serving(tmp_path, {}) as live:
            finding = await self.seen(tmp_path, live.url)

        assert finding.verdict is Verdict.OK

    async def test_nobody_is_no_fault_and_something_else_is_one(self, tmp_path: Path) -> None:
        nobody = await self.seen(tmp_path, f"http://127.0.0.1:{free_port()}")
        with web() as port:
            something = await self.seen(tmp_path, f"http://127.0.0.1:{port}")

        assert nobody.verdict is Verdict.SKIPPED
        assert is_wrong(something, "responds with 200")

    async def test_a_certificate_of_an_unknown_authority(self, tmp_path: Path) -> None:
        server, _ = certificate(tmp_path)
        with web(server) as port:
            finding = await self.seen(tmp_path, f"https://127.0.0.1:{port}")

        assert is_wrong(finding, "certificate is not accepted")


class TestWritten:
    @pytest.mark.parametrize("secret", ["k" * 40, "abc" * 20, "passwordpasswordpasswordpassword"])
    def test_a_secret_that_can_be_guessed(self, tmp_path: Path, secret: str) -> None:
        (finding,) = written.secrets(settings(tmp_path, secrets=secret))

        assert is_wrong(finding, "entry 1 can be guessed")
        assert secret not in finding.found

    def test_a_secret_twice(self, tmp_path: Path) -> None:
        found = list(written.secrets(settings(tmp_path, secrets=f"{STRONG},{STRONG}")))

        assert [finding.verdict for finding in found] == [Verdict.WARNING, Verdict.OK]

    @pytest.mark.parametrize(
        ("changed", "verdict", "words"),
        [
            ({}, Verdict.OK, "https://auth.example.com"),
            ({"base_url": "http://auth.example.com", "allow_http": "true"}, Verdict.WARNING, "is http"),
            ({"base_url": "https://localhost"}, Verdict.WARNING, "only reachable from this machine"),
            ({"trusted_origins": "https://*.example.com"}, Verdict.WARNING, "*.example.com"),
            ({"trusted_proxies": "0.0.0.0/0"}, Verdict.WRONG, "every address"),
            ({"trusted_proxies": ""}, Verdict.WARNING, "trusted_proxies is empty"),
            ({"metrics.port": "9000", "metrics.host": "0.0.0.0"}, Verdict.WARNING, "metrics.host"),
        ],
    )
    def test_addresses(self, tmp_path: Path, changed: dict[str, str], verdict: Verdict, words: str) -> None:
        (finding,) = written.addresses(settings(tmp_path, **PRODUCTION | changed))

        assert finding.verdict is verdict
        assert words in finding.found

    def test_files_that_others_may_read(self, tmp_path: Path) -> None:
        configured = tmp_path / "gatewright.toml"
        configured.write_text(f'[mail.smtp]\npassword = "{STRONG}"\n', "utf-8")
        mounted = tmp_path / "mounted"
        mounted.write_text(STRONG, "utf-8")
        mails = tmp_path / "mail.jsonl"
        mails.touch()
        key = tmp_path / profiles.SECRET_FILE
        chosen = settings(tmp_path)
        for path, mode in ((configured, 0o644), (mounted, 0o444), (mails, 0o644), (key, 0o640)):
            path.chmod(mode)

        found = list(written.files(chosen, {"GATEWRIGHT_SECRETS_FILE": str(mounted)}, tmp_path))

        assert [(one.verdict, one.found.partition(" ")[0]) for one in found] == [
            (Verdict.WRONG, str(configured)),
            (Verdict.WRONG, str(key)),
            (Verdict.WRONG, str(mails)),
            (Verdict.WARNING, str(mounted)),
        ]

    def test_files_that_nobody_else_may_read(self, tmp_path: Path) -> None:
        (tmp_path / "gatewright.toml").write_text('app_name = "Ada"\n', "utf-8")

        (finding,) = written.files(settings(tmp_path), {}, tmp_path)

        assert finding.verdict is Verdict.OK


def doctor(directory: Path, *words: str, **variables: str) -> Result:
    """Run the command in a folder, in the development profile."""
    environ = {"GATEWRIGHT_PROFILE": "development", "GATEWRIGHT_BASE_URL": f"http://127.0.0.1:{free_port()}"}
    return typing_in(directory, environ)("doctor", *words, **variables)


class TestCommand:
    def test_prints_a_table(self, tmp_path: Path) -> None:
        done = doctor(tmp_path)

        assert done.exit_code == 0, done.output
        assert done.stdout.splitlines()[0].split() == ["Check", "Verdict", "Found", "Fix"]
        assert "valid, profile development" in done.stdout

    def test_prints_json_and_fails_when_something_is_wrong(self, tmp_path: Path) -> None:
        done = doctor(tmp_path, "--json", GATEWRIGHT_SECRETS="k" * 40, GATEWRIGHT_ZZZ="1")

        found = json.loads(done.stdout)
        assert done.exit_code == 1
        assert [one["check"] for one in found if one["verdict"] == "wrong"] == ["secrets"]
        assert found[0] == {
            "check": "configuration",
            "verdict": "warning",
            "found": "GATEWRIGHT_ZZZ: names no setting",
            "fix": "correct the name, or remove it",
        }

    def test_tells_what_is_wrong_with_the_configuration(self, tmp_path: Path) -> None:
        done = doctor(tmp_path, "--json", GATEWRIGHT_PROFILE="production", GATEWRIGHT_SERVER__PORT="high")

        found = json.loads(done.stdout)
        assert done.exit_code == 1
        assert [one["verdict"] for one in found] == ["wrong", "skipped"]
        assert found[0]["found"].startswith("server.port: ")

    def test_sends_a_mail_when_asked(self, tmp_path: Path) -> None:
        done = doctor(tmp_path, "--json", "--send-to", "ada@example.com", GATEWRIGHT_MAIL__SENDER="file")

        assert only([Finding(**one) for one in json.loads(done.stdout)], "test mail").verdict == "ok"
        assert json.loads((tmp_path / "mail.jsonl").read_text("utf-8"))["to"] == "ada@example.com"

    def test_every_check_stands_in_the_manual(self) -> None:
        written = "".join(path.read_text("utf-8") for path in (ROOT / "server").rglob("*.py"))
        checks = set(
            re.findall(r'(?:(?:ok|warning|wrong|skipped|judge)\(\s*|_CHECK = )"([a-z -]+)"', written)
        )

        manual = (ROOT / "docs/pages/operations/doctor.md").read_text("utf-8")
        assert checks - {"everything else"} == set(re.findall(r"^\| `([a-z -]+)` \|", manual, re.MULTILINE))


@pytest.mark.both_databases
async def test_connections_for_single_sign_on(service: Service, tmp_path: Path) -> None:
    end = system_clock() + timedelta(days=20)
    certificate = certificates.generate("provider", end - certificates.LIFETIME).certificate
    for provider_id, config in (
        ("ends", SamlConfig("https://idp.example.com/sso", (certificate,))),
        ("unreadable", OidcConfig("client")),
        ("unusable", SamlConfig("https://idp.example.com/sso", ("no certificate",))),
        ("well", OidcConfig("client")),
    ):
        sealed = configuration.encrypt_config(service.services.cipher, config)
        connection = SsoConnection(
            id=provider_id,
            provider_id=provider_id,
            type="saml" if isinstance(config, SamlConfig) else "oidc",
            issuer="https://login.acme.example",
            config=b"of another key" if provider_id == "unreadable" else sealed,
            name="Acme",
            state="active",
            source="cli",
            created_at=rows.NOW,
            updated_at=rows.NOW,
        )
        await rows.add(service.services.database, connection)
    for domain, verified_at, missed_at in (
        ("acme.example", rows.NOW, None),
        ("lost.example", None, None),
        ("missing.example", rows.NOW, rows.NOW),
    ):
        claim = SsoDomain(
            id=domain,
            connection_id="well",
            domain=domain,
            token="token",
            verified_at=verified_at,
            missed_at=missed_at,
            created_at=rows.NOW,
            updated_at=rows.NOW,
        )
        await rows.add(service.services.database, claim)
    url = service.services.settings.database_url.get_secret_value()
    absent = {
        "issuer": "https://login.acme.example",
        "domains": ["absent.example"],
        "oidc": {"client_id": "client", "client_secret": "secret"},
    }

    secret = {"secrets": service.services.settings.secrets[0].get_secret_value()}

    found = await look(url, tmp_path, **secret, **{"sso.connections": json.dumps({"absent": absent})})
    off = await look(url, tmp_path, **secret, **{"sso.enabled": "false", "scim.enabled": "false"})

    assert [one.found for one in found if one.check == "single sign-on"] == [
        f"the certificate CN=provider of the connection ends ends on {end:%Y-%m-%d}",
        "the configuration of the connection unreadable cannot be read",
        "a certificate of the connection unusable cannot be used",
        "the connection absent of the configuration is not in the database",
        "lost.example of the connection well: it is not verified, so its users cannot sign in",
        "missing.example of the connection well: its TXT record is missing",
    ]
    assert not [one for one in off if one.check == "single sign-on"]
