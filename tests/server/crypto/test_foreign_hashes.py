"""Hashes of other programs; how foreign_hashes.json was made is told in it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from server.crypto import foreign_hashes
from server.crypto.password_hasher import HashingRules, PasswordHasher

VECTORS = json.loads(Path(__file__).with_name("foreign_hashes.json").read_text())
PASSWORD = VECTORS["password"]
ALL = [*VECTORS["of_password_as_sent"].items(), *VECTORS["of_its_nfkc_form"].items()]


@pytest.fixture(scope="module")
def pool() -> Iterator[PasswordHasher]:
    pool = PasswordHasher(HashingRules(memory_kib=64, time=1))
    yield pool
    pool.close()


@pytest.mark.parametrize("hashed", [pytest.param(hashed, id=name) for name, hashed in ALL])
class TestImportedHashes:
    async def test_the_password_fits_and_another_does_not(self, pool: PasswordHasher, hashed: str) -> None:
        assert await pool.verify(PASSWORD, hashed)
        assert not await pool.verify(PASSWORD + "x", hashed)
        assert not await pool.verify(PASSWORD.upper(), hashed)
        assert not await pool.verify("", hashed)
        assert pool.needs_rehash(hashed)

    async def test_a_damaged_hash_fits_nothing(self, pool: PasswordHasher, hashed: str) -> None:
        for damaged in (
            hashed[:-1],
            hashed[:-10],
            hashed[:20],
            hashed + "$",
            "x" + hashed,
            hashed.translate({36: "!", 58: "!"}),
        ):
            assert not await pool.verify(PASSWORD, damaged)


class TestBcrypt:
    def test_the_format_reads_72_bytes(self) -> None:
        hashed = VECTORS["of_72_times_x"]["bcrypt"]

        assert foreign_hashes.matches("x" * 72, hashed)
        assert foreign_hashes.matches("x" * 72 + "tail", hashed)
        assert not foreign_hashes.matches("x" * 71, hashed)

    def test_django_s_bcrypt_sha256_reads_everything(self) -> None:
        hashed = VECTORS["of_100_times_x"]["django bcrypt_sha256"]

        assert foreign_hashes.matches("x" * 100, hashed)
        assert not foreign_hashes.matches("x" * 99 + "y", hashed)

    def test_reads_the_prefix_of_php(self) -> None:
        assert foreign_hashes.matches("correct horse", VECTORS["of_correct_horse"]["bcrypt $2y$"])
