"""Importing users with fast password hashes: what is stored, what a sign-in does, and what is hashed when."""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import pytest

from server.cli.export import write_users
from server.crypto.password_hasher import HashingRules, PasswordHasher
from server.importers import run
from server.importers.json_lines import JsonLines
from server.importers.report import Report
from tests.conftest import MakeService
from tests.handlers.steps import sign_in
from tests.server.crypto.test_weak_hashes import HASHES, PASSWORD
from tests.server.importers.moving import HASH, counts, rules, take_lines, write_lines
from tests.service import Service

ROWS = [
    {"email": f"user{number}@example.com", "passwordHash": hashed}
    for number, hashed in enumerate(HASHES.values())
]
STORED = 'SELECT password FROM account JOIN "user" ON user_id = "user".id ORDER BY email'


async def stored(service: Service) -> list[str]:
    return [row.password for row in await service.rows(STORED)]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "users.jsonl"


@pytest.mark.threat("V87")
async def test_no_fast_hash_is_stored(service: Service, file: Path) -> None:
    report = await take_lines(service, file, ROWS)

    digests = {hashed.rpartition("$")[2].lower() for hashed in HASHES.values()}
    assert counts(report) == (len(ROWS), 0, 0)
    for password in await stored(service):
        assert password.startswith("$wrapped$")
        assert "$argon2id$v=19$m=1024,t=1,p=1$" in password
        assert not any(digest in password.lower() for digest in digests)


async def test_the_first_sign_in_stores_an_argon2id_hash(service: Service, file: Path) -> None:
    await take_lines(service, file, ROWS[:1])

    wrong = await sign_in(service, "user0@example.com", PASSWORD + "x")
    first = await sign_in(service, "user0@example.com", PASSWORD)
    [replaced] = await stored(service)
    second = await sign_in(service, "user0@example.com", PASSWORD)

    assert (wrong.status_code, first.status_code, second.status_code) == (401, 200, 200)
    assert replaced.startswith("$argon2id$v=19$m=1024,t=1,p=1$")


async def test_exported_users_keep_their_passwords(
    service: Service, make_service: MakeService, file: Path
) -> None:
    await take_lines(service, file, ROWS[:1])
    exported = BytesIO()
    await write_users(service.services.unit_of_work, exported)
    other = await make_service({})

    report = await take_lines(other, file, exported.getvalue().splitlines())

    signed_in = await sign_in(other, "user0@example.com", PASSWORD)
    assert counts(report) == (1, 0, 0)
    assert signed_in.status_code == 200, signed_in.text


async def test_users_who_are_not_stored_cost_no_hash(service: Service, file: Path) -> None:
    await take_lines(service, file, ROWS)
    taken = {**ROWS[0], "id": "another"}

    report = await take_with(closed_hasher(), service, file, [*ROWS, taken])

    assert counts(report) == (0, len(ROWS), 1)


async def test_more_hashes_than_the_queue_of_the_threads_takes(service: Service, file: Path) -> None:
    hasher = PasswordHasher(HashingRules(memory_kib=64, time=1, workers=2, queue=0))

    report = await take_with(hasher, service, file, ROWS)

    hasher.close()
    assert counts(report) == (len(ROWS), 0, 0)


async def test_a_batch_with_fast_and_slow_hashes_and_refused_rows(service: Service, file: Path) -> None:
    slow = {"email": "slow@example.com", "passwordHash": HASH}
    rows = [{"email": "user0@example.com"}, ROWS[0], slow, {"email": "nowhere"}, ROWS[1]]

    report = await take_lines(service, file, rows)

    assert counts(report) == (3, 0, 2)
    assert [password[:5] for password in await stored(service)] == ["$2b$0", "$wrap"]


def closed_hasher() -> PasswordHasher:
    """Return a hasher that fails for any hash."""
    hasher = PasswordHasher(HashingRules(memory_kib=64, time=1))
    hasher.close()
    return hasher


async def take_with(
    hasher: PasswordHasher, service: Service, file: Path, rows: Sequence[dict[str, str]]
) -> Report:
    """Import rows with another hasher than that of the service."""
    report = Report()
    with write_lines(file, rows).open("rb") as lines:
        await run.run(
            service.services.unit_of_work,
            JsonLines(lines),
            rules(service, "json-lines"),
            report,
            hasher=hasher,
            progress=lambda position: None,
        )
    return report
