"""The guide "Receive webhooks", typed as it is written: its receivers beside a running service."""

import asyncio
import json
import re
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest
from standardwebhooks import Webhook

from tests.docs.typing_in import Shell, commands, guide, placed, typed, write_files
from tests.guides.protected import GATEWRIGHT, PATIENT, calling, running
from tests.labs.faults.asking import until
from tests.live import LiveService, serving
from tests.ports import free_port
from tests.postgres import Cluster
from tests.receiver import Receiver, respond
from tests.service import PASSWORD

GUIDE = guide("receive-webhooks")
DATABASE, RECEIVER = "postgresql://crm:password@localhost/crm", "3001"
"""What the guide calls the database of the application, and the port of the receiver."""
LANGUAGES = [("python", "pip"), ("express", "npm"), ("go", "go")]
"""Each with the program that installs it."""
EVENT = {"type": "user.created", "timestamp": "2026-11-23T07:54:18.067Z"}


@dataclass
class Followed:
    """Where the guide is followed: in the folder of Gatewright, and in that of the application."""

    language: str
    live: LiveService
    gatewright: Path
    application: Path
    port: int
    database: str

    def type(self, title: str, **changed: str) -> str:
        """Type the commands of this title in the folder of Gatewright, with changed words; return what they print."""
        shell = Shell(self.gatewright, {"GATEWRIGHT_PROFILE": "development"})
        places = {GATEWRIGHT: self.live.url, f":{RECEIVER}": f":{self.port}", **changed}
        printed = shell.type(placed(commands(GUIDE, title), places))
        assert shell.leave() == 0, printed
        return printed

    @property
    def secret(self) -> str:
        """Return the secret that the commands printed last."""
        return (self.gatewright / "webhook.secret").read_text().strip()

    @contextmanager
    def receiving(self) -> Iterator[None]:
        """Run the receiver of the guide with the newest secret."""
        shutil.copy(self.gatewright / "webhook.secret", self.application)
        places = {
            DATABASE: self.database,
            f"PORT={RECEIVER}": f"PORT={self.port}",
            f"--port {RECEIVER}": f"--port {self.port}",
        }
        command = placed(commands(GUIDE, f"serve-{self.language}"), places)
        with running(command, self.application, self.port, self.application / "printed.txt"):
            yield

    def sign_up(self, name: str) -> None:
        """Have an event, which also wakes what sends."""
        body = {"name": name, "email": f"{name}@example.com", "password": PASSWORD}
        with calling(self.live) as client:
            client.post("/sign-up/email", json=body).raise_for_status()

    def send(self, body: bytes, **changed: str) -> int:
        """Send a request to the receiver, signed unless `signature` is given; return the status."""
        now = datetime.now(UTC)
        headers = {"id": "msg_1", "timestamp": str(int(now.timestamp())), **changed}
        sent_at = datetime.fromtimestamp(int(headers["timestamp"]), UTC)
        text = body.decode("utf-8", "replace")
        headers.setdefault("signature", Webhook(self.secret).sign(headers["id"], sent_at, text))
        named = {f"webhook-{name}": value for name, value in headers.items()}
        sent = httpx.Headers({**named, "content-type": "application/json"}, encoding="latin-1")
        url = f"http://127.0.0.1:{self.port}/webhooks"
        return httpx.post(url, content=body, headers=sent, timeout=PATIENT, trust_env=False).status_code

    def deliveries(self) -> str:
        """Return the deliveries as the guide lists them."""
        return self.type("look")


def event(user_id: str, **changed: Any) -> bytes:
    """Return the body of an event about a user."""
    user = {"id": user_id, "email": f"{user_id}@example.com"}
    return json.dumps({**EVENT, "data": {"user": user}, **changed}).encode()


@pytest.fixture(params=LANGUAGES, ids=[name for name, _ in LANGUAGES])
def followed(request: pytest.FixtureRequest, cluster: Cluster, tmp_path: Path) -> Iterator[Followed]:
    """The guide, followed up to the receiver, which is installed and does not run yet."""
    language, program = request.param
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed, so the guide for {language} cannot be followed")
    gatewright, application = tmp_path / "gatewright", tmp_path / "application"
    for folder in (gatewright, application):
        folder.mkdir()
    write_files(GUIDE, application)
    (application / "gatewright.toml").rename(gatewright / "gatewright.toml")
    typed(commands(GUIDE, f"install-{language}"), application)
    with serving(gatewright, {"limits.enabled": "false"}) as live:
        yield Followed(language, live, gatewright, application, free_port(), cluster.create())


@pytest.fixture
async def database(followed: Followed) -> AsyncIterator[asyncpg.Connection]:
    """A connection to the database of the application."""
    connection = await asyncpg.connect(followed.database)
    yield connection
    await connection.close()


async def contacts(database: asyncpg.Connection) -> set[str | None]:
    """Return the email addresses that the application has."""
    return {row["email"] for row in await database.fetch("SELECT email FROM contact")}


async def until_known(database: asyncpg.Connection, *emails: str) -> None:
    """Wait until the application has these users."""

    async def are_known() -> bool:
        return set(emails) <= await contacts(database)

    await until(are_known)


async def until_delivered(followed: Followed, number: int, state: str = "delivered") -> str:
    """Wait until so many deliveries have a state; return the list."""
    printed = [""]

    async def are_there() -> bool:
        printed[0] = await asyncio.to_thread(followed.deliveries)
        return len(re.findall(rf"\b{state}\b", printed[0])) >= number

    await until(are_there)
    return printed[0]


@pytest.mark.threat("WH6", "WH7")
async def test_a_receiver_of_the_guide(followed: Followed, database: asyncpg.Connection) -> None:
    """All in one test, because it takes long to install a receiver."""
    listed = await asyncio.to_thread(followed.type, "create")
    assert "crm" in listed
    assert followed.secret.startswith("whsec_")
    created = await asyncio.to_thread(followed.type, "create-by-operation")
    assert re.search(r'"secret":"whsec_[^"]{40,}"', created)
    with followed.receiving():
        await asyncio.to_thread(followed.type, "try")
        await until_known(database, "ada.webhooks@example.com")
        printed = await until_delivered(followed, 2)
        assert {"webhook.test", "user.created"} <= set(printed.split())

        await asyncio.to_thread(refuses_what_is_wrong, followed)
        await discards_repeats(followed, database)
        await goes_on_after_a_failure(followed, database)
        await responds_before_it_works(followed, database)
        await asyncio.to_thread(followed.type, "rotate")
        # The receiver still has the old secret.
        await asyncio.to_thread(followed.sign_up, "during")
        await until_known(database, "during@example.com")
        await database.execute("BEGIN")
        await database.execute("LOCK TABLE contact")
        followed_by = await count_inbox(database)
        await asyncio.to_thread(followed.sign_up, "left")

        async def is_stored() -> bool:
            return await count_inbox(database) > followed_by

        await until(is_stored)
    # What it had stored and not yet worked on is done by the next one, with the new secret.
    await database.execute("ROLLBACK")
    with followed.receiving():
        await until_known(database, "left@example.com")
        await asyncio.to_thread(followed.sign_up, "after")
        await until_known(database, "after@example.com")


def refuses_what_is_wrong(followed: Followed) -> None:
    old = datetime.now(UTC) - timedelta(minutes=6)
    body = event("wrong")
    assert followed.send(body, signature="v1,AAAA") == 401
    assert followed.send(body, signature="v1") == 401
    assert followed.send(body, signature="v1,ä") == 401
    assert followed.send(body, timestamp=str(int(old.timestamp()))) == 401
    assert followed.send(body[:-2] + b"\xff}}") == 401
    assert followed.send(b"x" * 100_000) == 413
    no_headers = httpx.post(f"http://127.0.0.1:{followed.port}/webhooks", content=body, trust_env=False)
    assert no_headers.status_code == 401


async def discards_repeats(followed: Followed, database: asyncpg.Connection) -> None:
    for user in ("first", "second"):
        assert await asyncio.to_thread(followed.send, event(user), id="msg_repeated") == 204
    await until_known(database, "first@example.com")
    # An older event than the one that is known changes nothing, and a deleted user does not come back.
    gone, late = "2026-11-23T08:00:00.000Z", "2026-11-23T07:00:00.000Z"
    deleted = event("first", type="user.deleted", timestamp=gone, data={"user": {"id": "first"}})
    assert await asyncio.to_thread(followed.send, deleted, id="msg_deleted") == 204
    assert await asyncio.to_thread(followed.send, event("first", timestamp=late), id="msg_late") == 204
    assert await asyncio.to_thread(followed.send, event("third"), id="msg_third") == 204
    await until_known(database, "third@example.com")
    assert not {"first@example.com", "second@example.com"} & await contacts(database)


async def goes_on_after_a_failure(followed: Followed, database: asyncpg.Connection) -> None:
    assert await asyncio.to_thread(followed.send, event("bad", timestamp="nonsense"), id="msg_bad") == 204
    assert await asyncio.to_thread(followed.send, event("fourth"), id="msg_fourth") == 204
    await until_known(database, "fourth@example.com")
    [row] = await database.fetch(
        "SELECT done_at, due > now() AS is_later FROM webhook_inbox WHERE id = 'msg_bad'"
    )
    assert (row["done_at"], row["is_later"]) == (None, True)
    assert "msg_bad" in (followed.application / "printed.txt").read_text()


async def responds_before_it_works(followed: Followed, database: asyncpg.Connection) -> None:
    async with database.transaction():
        await database.execute("LOCK TABLE contact")
        assert await asyncio.to_thread(followed.send, event("fifth"), id="msg_fifth") == 204
    await until_known(database, "fifth@example.com")


async def count_inbox(database: asyncpg.Connection) -> int:
    return int(await database.fetchval("SELECT count(*) FROM webhook_inbox"))


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    """A receiver without an application."""
    async with Receiver() as receiver:
        yield receiver


@pytest.fixture
def alone(receiver: Receiver, tmp_path: Path) -> Iterator[Followed]:
    """Gatewright with an endpoint at this receiver."""
    write_files(GUIDE, tmp_path)
    with serving(tmp_path, {"limits.enabled": "false"}) as live:
        yield Followed("none", live, tmp_path, tmp_path, receiver.port, "")


async def test_what_failed_is_sent_again_after_an_outage(alone: Followed, receiver: Receiver) -> None:
    await asyncio.to_thread(alone.type, "create")
    receiver.script.append(respond(410))
    await asyncio.to_thread(alone.sign_up, "ada")
    await until_delivered(alone, 1, "failed")

    printed = await asyncio.to_thread(alone.type, "recover")
    # It wakes what sends, which would otherwise look within a minute.
    await asyncio.to_thread(alone.sign_up, "bob")
    await until_delivered(alone, 2)

    assert "it is active" in printed
    assert "Queued the delivery" in printed
    first, *others = [request.headers["webhook-id"] for request in receiver.requests]
    assert sorted(others).count(first) == 1
    assert len(set(others)) == len(others) == 2


async def test_a_waiting_event_keeps_its_own_next_attempt_unless_it_is_sent_again(
    alone: Followed, receiver: Receiver
) -> None:
    await asyncio.to_thread(alone.type, "create")
    receiver.script += [respond(500)] * 4
    for name in ("ada", "bob"):
        await asyncio.to_thread(alone.sign_up, name)
    await receiver.wait_for(4)
    await asyncio.to_thread(alone.sign_up, "eve")

    # The endpoint is failing: what is due is tried after 10 seconds. It succeeds, and the others wait for their times.
    waited = await until_delivered(alone, 1)
    await asyncio.sleep(3)
    still = await asyncio.to_thread(alone.deliveries)
    await asyncio.to_thread(alone.type, "recover", failed="pending")
    # It wakes what sends, which would otherwise look within a minute.
    await asyncio.to_thread(alone.sign_up, "dan")
    sent = await until_delivered(alone, 4)

    assert [waited.count("pending"), still.count("pending"), sent.count("pending")] == [2, 2, 2]
    numbers = Counter(request.headers["webhook-id"] for request in receiver.requests)
    assert sorted(numbers.values()) == [1, 1, 3, 3]


async def test_a_request_is_verified_and_a_leaked_secret_ended(alone: Followed, receiver: Receiver) -> None:
    await asyncio.to_thread(alone.type, "create")
    secrets = [alone.secret]
    await asyncio.to_thread(alone.sign_up, "ada")
    [request] = await receiver.wait_for(1)
    head = "".join(f"{name}: {value}\r\n" for name, value in request.headers.items())
    (alone.gatewright / "request.txt").write_bytes(f"{head}\r\n".encode() + request.body)

    verified = await asyncio.to_thread(alone.type, "verify")
    for _ in range(2):
        await asyncio.to_thread(alone.type, "rotate")
        secrets.append(alone.secret)
    await asyncio.to_thread(alone.sign_up, "bob")
    last = (await receiver.wait_for(2))[1]

    assert "The signature is right." in verified
    now = datetime.fromtimestamp(int(last.headers["webhook-timestamp"]), UTC)
    leaked, *live = [
        Webhook(secret).sign(last.headers["webhook-id"], now, last.body.decode()) for secret in secrets
    ]
    assert last.headers["webhook-signature"].split(" ") == live[::-1]
    assert leaked not in live
