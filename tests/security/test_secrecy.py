"""Rows V31, V86, V87, WH23: what is secret stands in no log, in no answer it does not belong to, in no event of
webhooks, and nowhere in the database.

Every operation of the contract is driven against real processes, one on each database, at the log level debug.
"""

import hashlib
import json
import re
import socket
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar
from urllib.parse import quote

import asyncpg
import httpx
import pytest
from sqlalchemy import make_url

from domain import tokens
from domain.webhooks import secrets
from domain.webhooks.publication import WEBHOOK_EVENTS
from models import metadata
from models.webhook_endpoint import SECRET
from models.webhook_event import PAYLOAD
from server.crypto.keyring import Keyring
from tests.contract.reading import JSON_OPERATIONS
from tests.labs.provider.process import ProviderProcess
from tests.labs.provider.settings import social_settings
from tests.labs.provider.state import CLIENT_SECRET
from tests.live import TIMEOUT, serving
from tests.postgres import Cluster, _wait_for
from tests.security.everything import OF_UNDELIVERED_MAIL, journey, traveller
from tests.security.witness import Answer, Witness, objects
from tests.service import NO_TLS

DATABASE_PASSWORD = "the-password-of-the-database"
HASH = re.compile(r"\$argon2id\$v=19\$m=19456,t=2,p=1\$")
ANY_HASH = re.compile(r"\$\w+\$v=\S+\$\S+")
CODE = re.compile(r"\d{6}")

GUESSABLE = frozenset(
    ("password", "newPassword", "currentPassword", "code", "code of the mail otp", "backup code")
)
"""Secrets of so little randomness that a fast hash would give them away."""

KEYRING = Keyring([journey.SETTINGS["secrets"]])
"""The keys of the service."""

NOT_ON_THE_WAY = frozenset(
    {
        "two_factor.locked", "user.banned", "user.unbanned", "user.unproven_access_removed", "webhook.test",
        # A record has to be missing for an hour.
        "sso.domain_lost",
    }
)  # fmt: skip
"""Events that the journey need not cause."""

FORGED = '{"event":"forged"}'
LINE_BREAKS = ("\r\n", "\n", "\u2028", "\x85", "\x1b[2K\r", "\x0b")

GREETING = (
    "Gatewright, development profile: ",
    "  Try it out: ",
    "  Emails: ",
    "  Mailbox: ",
    "  Sign in: ",
    "  Settings: ",
    "  Console: ",
    "  First admin: ",
    "  API keys: ",
)


@dataclass
class Case:
    """What is left to look at after the journey: who drove, every dump of the database, and the whole output."""

    witness: Witness
    dumps: list[str] = field(default_factory=list)
    output: str = ""
    payloads: set[str] = field(default_factory=set)
    """The bodies of the events of webhooks."""

    @property
    def stored(self) -> str:
        """The dumps as one text, with each of their lines once."""
        return "\n".join({line for dump in self.dumps for line in dump.split("\n")})

    def find(self, haystack: str) -> list[str]:
        """Return what every secret is that stands in a text."""
        return [what for value, what in self.witness.secrets.items() if _stands_in(value, haystack)]


def _stands_in(secret: str, haystack: str) -> bool:
    """Return whether a secret stands in a text; six digits count only by themselves, for many things hold digits."""
    if secret in haystack and CODE.fullmatch(secret):
        return re.search(rf"(?<![0-9A-Za-z]){secret}(?![0-9A-Za-z])", haystack) is not None
    return secret in haystack


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    """Drive everything once on each database."""
    directory = tmp_path_factory.mktemp("secrecy")
    url = f"sqlite:///{directory / 'gatewright.db'}"
    if request.param == "postgresql":
        cluster: Cluster = request.getfixturevalue("cluster")
        url = _with_password(cluster.create(migrated=True))
    provider: ProviderProcess = request.getfixturevalue("provider_process")
    provider.reset()
    settings = {**journey.settings(), **social_settings(provider), "database_url": url}
    with serving(directory, settings) as live:
        case = Case(Witness(live, directory / "mail.jsonl"))
        _subscribe(url)
        for _ in journey.journey(case.witness, provider, partial(_promote, url)):
            case.dumps.append(dump(url))
            case.payloads |= payloads(url)
        _break(url, case.witness)
        for line_break in LINE_BREAKS:
            _attack(live.url, f"x{line_break}{FORGED}")
        case.dumps.append(dump(url))
        case.dumps += [path.read_bytes().decode("latin-1") for path in directory.glob("gatewright.db*")]
    case.output = "".join(live.output.lines)
    return case


def _with_password(url: str) -> str:
    """Return the address with a password in it; the server takes everybody, the log must not."""
    return make_url(url).set(password=DATABASE_PASSWORD).render_as_string(hide_password=False)


def _promote(url: str, email: str) -> None:
    """Make a user an administrator behind the service's back, which costs less than the command."""
    _execute(url, f"UPDATE \"user\" SET role = 'admin' WHERE email = '{email}'")


def _subscribe(url: str) -> None:
    """Add an endpoint that receives every event; nothing listens there."""
    moment = "0" if url.startswith("sqlite") else "epoch"
    row = {
        "id": tokens.token(),
        "name": "receiver",
        "url": "http://127.0.0.1:9/",
        "events": json.dumps(["*", "sign_in.failed"]),
        "source": "cli",
        "state": "active",
        "failures": 0,
        "created_at": moment,
        "updated_at": moment,
    }
    sealed = KEYRING.encrypt(SECRET, secrets.create()).hex()
    values = [*(f"'{value}'" for value in row.values())]
    values.append(f"X'{sealed}'" if url.startswith("sqlite") else f"'\\x{sealed}'")
    _execute(url, f"INSERT INTO webhook_endpoint ({', '.join(row)}, secret) VALUES ({', '.join(values)})")


def payloads(url: str) -> set[str]:
    """Return the bodies of all events that are not erased."""
    found = _query(url, ["SELECT payload FROM webhook_event WHERE payload IS NOT NULL"])
    return {KEYRING.decrypt(PAYLOAD, row[0]) or "" for row in found}


def _break(url: str, witness: Witness) -> None:
    """Make the database fail in the middle of requests that carry secrets, and look what the log makes of it."""
    everything_again = {"name": "Ada", "email": traveller.ADA, "password": traveller.FIRST}
    session = witness.call("authentication.sign_up_email", everything_again).token
    _execute(url, "ALTER TABLE audit RENAME TO elsewhere")
    signing_in = {"email": traveller.ADA, "password": traveller.FIRST}
    failed = witness.call("authentication.sign_in_email", signing_in)
    changing = {"currentPassword": traveller.FIRST, "newPassword": traveller.SECOND}
    witness.call("passwords.change", changing, session=session)
    witness.call("two_factor.enable", {"password": traveller.FIRST}, session=session)
    _execute(url, "ALTER TABLE elsewhere RENAME TO audit")
    assert failed.response.status_code == 500
    for path in (f"/{session}", f"/reset-password/{session}/x", f"/verify-email?token={session}&x={session}"):
        httpx.get(witness.live.url + path, verify=NO_TLS, timeout=TIMEOUT)


def _attack(url: str, text: str) -> None:
    """Send the text wherever text goes: body, query, path, and headers, whole and raw."""
    visible = "".join(letter for letter in text if letter > "\x1f").encode()
    body = {"email": f"{text}@example.com", "password": text, "callbackURL": text}
    with httpx.Client(
        base_url=url, headers={b"User-Agent": visible}, verify=NO_TLS, timeout=TIMEOUT
    ) as client:
        client.post("/sign-in/email", json=body)
        client.post("/sign-in/email", json={"email": traveller.ADA, "password": text})
        client.post("/request-password-reset", json=body)
        client.get("/verify-email", params={"token": text, text: text})
        client.get(f"/{quote(text)}")
    address = httpx.URL(url)
    with socket.create_connection((address.host, address.port or 80), timeout=30) as peer:
        peer.sendall(
            f"GET /ok HTTP/1.1\r\nHost: x\r\nUser-Agent: {text}\r\nConnection: close\r\n\r\n".encode()
        )
        while peer.recv(65536):
            pass


def _execute(url: str, statement: str) -> None:
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"), timeout=30)) as db, db:
            db.execute(statement)
        return

    async def run() -> None:
        connection = await asyncpg.connect(url)
        await connection.execute(statement)
        await connection.close()

    _wait_for(run())


def dump(url: str) -> str:
    """Return every value of every table as text: bytes as they are and in hexadecimal."""
    return "\n".join(_written(value) for row in _rows(url) for value in row)


def _rows(url: str) -> list[tuple[Any, ...]]:
    return _query(url, [f'SELECT * FROM "{name}"' for name in metadata.tables])


def _query(url: str, statements: Sequence[str]) -> list[tuple[Any, ...]]:
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"), timeout=30)) as db:
            return [row for statement in statements for row in db.execute(statement)]

    async def read() -> list[tuple[Any, ...]]:
        connection = await asyncpg.connect(url)
        rows = [tuple(row.values()) for statement in statements for row in await connection.fetch(statement)]
        await connection.close()
        return rows

    return _wait_for(read())


def _written(value: Any) -> str:
    return f"{value.decode('latin-1')} {value.hex()}" if isinstance(value, bytes) else str(value)


class TestJourney:
    def test_goes_through_every_operation_of_the_contract(self, case: Case) -> None:
        driven = {answer.operation_id for answer in case.witness.answers}
        worked = {answer.operation_id for answer in case.witness.answers if answer.response.status_code < 400}

        assert driven == set(JSON_OPERATIONS), "a new operation belongs into tests/security/everything/legs"
        assert worked == set(JSON_OPERATIONS) - OF_UNDELIVERED_MAIL

    def test_comes_through_the_provider(self, case: Case) -> None:
        landings = [
            httpx.URL(answer.response.headers["location"])
            for answer in case.witness.answers
            if answer.operation_id == "social.receive_callback"
        ]

        assert [url.params.get("error") for url in landings] == [
            None, None, "state_mismatch", None, "state_mismatch",
            "provider_unavailable", "invalid_code", "provider_unavailable", "unable_to_get_user_info",
        ]  # fmt: skip

    def test_meets_every_kind_of_secret(self, case: Case) -> None:
        kinds = set(case.witness.secrets.values())

        assert kinds >= {
            "password", "newPassword", "token", "code", "backup code", "secret of an authenticator",
            "cookie service.session-token", "cookie service.two-factor", "cookie service.trust-device",
            "token of the mail verify-email", "token of the mail reset-password", "link of the mail reset-password",
            "token of the mail change-email", "token of the mail delete-account", "code of the mail otp",
            "accessToken", "refreshToken", "idToken", "code of the provider", "verifier", "state", "nonce",
            "client secret",
        }  # fmt: skip
        assert any(kind.startswith("cookie service.oauth-state-") for kind in kinds)
        assert case.witness.secrets[CLIENT_SECRET] == "client secret"

    def test_its_dumps_hold_what_they_should(self, case: Case) -> None:
        whole = case.stored

        for expected in (traveller.ADA, "sign_in.succeeded", "a browser", "verify-email", "service.started"):
            assert expected in whole


@pytest.mark.threat("V86")
class TestLogs:
    """Secrets in logs."""

    def test_no_secret_stands_in_the_output(self, case: Case) -> None:
        assert case.find(case.output) == []

    def test_nothing_configured_stands_in_the_output(self, case: Case) -> None:
        assert [
            word for word in (*journey.configured_secrets(), DATABASE_PASSWORD) if word in case.output
        ] == []

    def test_no_hash_stands_in_the_output(self, case: Case) -> None:
        assert "$argon2" not in case.output

    def test_there_is_an_output(self, case: Case) -> None:
        for expected in (
            '"event":"request"',
            '"event":"sign_in.failed"',
            "internal_server_error",
            "mail.sent",
        ):
            assert expected in case.output

    def test_every_line_is_one_event_that_nothing_sent_begins_or_changes(self, case: Case) -> None:
        lines = [line for line in case.output.splitlines() if not line.startswith(GREETING)]
        events = [json.loads(line)["event"] for line in lines]

        assert all(isinstance(event, str) for event in events)
        assert "forged" not in events
        assert not re.search(r"[^\x20-\x7e]", "".join(lines))


@pytest.mark.threat("V87")
class TestLeakedDatabase:
    """A leaked database opens nothing."""

    def test_no_secret_stands_in_the_database(self, case: Case) -> None:
        assert case.find(case.stored) == []

    def test_nothing_that_can_be_guessed_stands_there_under_a_fast_hash(self, case: Case) -> None:
        whole = case.stored
        guessable = [secret for secret, what in case.witness.secrets.items() if what in GUESSABLE]

        assert len(guessable) > 10
        for secret in guessable:
            for name in ("md5", "sha1", "sha256", "sha512"):
                digest = hashlib.new(name, secret.encode())
                assert digest.hexdigest() not in whole, (name, case.witness.secrets[secret])
                assert digest.digest().decode("latin-1") not in whole

    def test_passwords_are_hashed_at_full_cost(self, case: Case) -> None:
        hashes = set(ANY_HASH.findall(case.stored))

        assert len(hashes) > 2
        assert {found for found in hashes if not HASH.match(found)} == set()


@pytest.mark.threat("WH23")
class TestWebhooks:
    """Secrets in the events of webhooks."""

    def test_no_secret_stands_in_an_event(self, case: Case) -> None:
        whole = "\n".join(case.payloads)

        assert case.find(whole) == []
        assert "$argon2" not in whole
        assert traveller.UNKNOWN not in whole

    def test_nearly_every_kind_of_event_is_there(self, case: Case) -> None:
        seen = {json.loads(payload)["type"] for payload in case.payloads}

        assert set(WEBHOOK_EVENTS) - seen <= NOT_ON_THE_WAY


@pytest.mark.threat("V31")
class TestAnswers:
    """Secret fields in answers they do not belong to."""

    NEVER: ClassVar = frozenset({"password", "hash", "clientSecret", "tokenDigest", "tokenCopy"})
    NOWHERE: ClassVar = frozenset({"verifier", "client secret"})
    ONLY_IN: ClassVar[dict[str, set[str]]] = {
        "refreshToken": {"social.get_access_token", "social.refresh_token"},
        "accessToken": {"social.get_access_token", "social.refresh_token"},
        "idToken": {"social.get_access_token", "social.refresh_token"},
        "totpURI": {"two_factor.enable", "two_factor.get_totp_uri"},
        "secret": {"webhooks.create", "webhooks.rotate_secret", "scim.create_token"},
        "client_secret": {"oauth_clients.create", "oauth_clients.register", "oauth_clients.rotate_secret"},
        "access_token": {"oauth.token", "device.sign_in"},
        "refresh_token": {"oauth.token"},
        "id_token": {"oauth.token"},
        # The export has the rows, without the codes.
        "backupCodes": {"two_factor.enable", "two_factor.generate_backup_codes", "admin.export_user"},
    }  # fmt: skip

    FOR_THEIR_CALLERS: ClassVar = ("accessToken", "secret", "client_secret", "access_token")

    def test_no_answer_has_a_field_of_that_name(self, case: Case) -> None:
        for answer in case.witness.answers:
            for part in objects(answer.body):
                # The export says of credentials whether they are there.
                named = {name for name, value in part.items() if not isinstance(value, bool)}
                assert not named & self.NEVER, answer.operation_id
                for name, places in self.ONLY_IN.items():
                    assert name not in named or answer.operation_id in places, (name, answer.operation_id)

    def test_no_answer_holds_a_hash_or_what_the_user_keeps(self, case: Case) -> None:
        kept = {value for value, what in case.witness.secrets.items() if what == "secret of an authenticator"}
        kept |= {traveller.FIRST, traveller.SECOND, traveller.THIRD, traveller.WRONG}

        for answer in case.witness.answers:
            text = answer.response.text
            assert "$argon2" not in text, answer.operation_id
            if not self._shows_secret(answer):
                assert not any(value in text for value in kept), answer.operation_id

    def test_what_a_provider_gave_stands_where_it_is_asked_for(self, case: Case) -> None:
        """The address of a provider's page holds state and nonce, and no more; the rest is hidden or asked for."""
        hidden = {value for value, what in case.witness.secrets.items() if what in self.NOWHERE}
        given = {value for value, what in case.witness.secrets.items() if what in self.ONLY_IN}

        for answer in case.witness.answers:
            shown = f"{answer.response.text}{answer.response.headers}"
            assert not any(value in shown for value in hidden), answer.operation_id
            if not any(answer.operation_id in self.ONLY_IN[name] for name in self.FOR_THEIR_CALLERS):
                assert not any(value in shown for value in given), answer.operation_id

    @staticmethod
    def _shows_secret(answer: Answer) -> bool:
        return answer.operation_id in TestAnswers.ONLY_IN["totpURI"]
