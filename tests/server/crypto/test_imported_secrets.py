"""Which hashes are taken over; those in foreign_hashes.json were made by other programs."""

import json
from pathlib import Path

import pytest

from domain.data_import.eligibility import Problem
from server.crypto import imported_secrets
from server.crypto.password_hasher import HashingRules, PasswordHasher

VECTORS = json.loads((Path(__file__).with_name("foreign_hashes.json")).read_text("utf-8"))
PASSWORD = VECTORS["password"]
ALL = [*VECTORS["of_password_as_sent"].items(), *VECTORS["of_its_nfkc_form"].items()]
ARGON2 = "$argon2id$v=19$m=1024,t=1,p=1$3n3Ha/MErMXDncYwXL8+WA$eUWSMDW42j4mBR6346A7aCqbcnJCCfI7j7M7j1JCdX0"
BETTER_AUTH = VECTORS["of_its_nfkc_form"]["better-auth"]
DJANGO_SCRYPT = VECTORS["of_password_as_sent"]["django scrypt"]
PBKDF2 = VECTORS["of_password_as_sent"]["passlib pbkdf2_sha256"]
SCRYPT = VECTORS["of_password_as_sent"]["passlib scrypt"]
BCRYPT = VECTORS["of_password_as_sent"]["bcrypt"]


def reason(hashed: str) -> str:
    """Return why a hash is refused."""
    with pytest.raises(Problem) as caught:
        imported_secrets.stored(hashed)
    return caught.value.reason


@pytest.mark.parametrize("hashed", [pytest.param(hashed, id=name) for name, hashed in ALL])
def test_what_can_be_checked_is_stored_as_it_is(hashed: str) -> None:
    assert imported_secrets.stored(hashed) == hashed


@pytest.mark.parametrize("typed", ["Pässword ① correct", "Pässword 1 correct"])
async def test_argon2_is_checked_with_the_password_as_typed_and_normalized(typed: str) -> None:
    pool = PasswordHasher(HashingRules(memory_kib=64, time=1))
    made = pool._argon2.hash(typed)  # Whoever made it took the password as it was.

    fits = await pool.verify("Pässword ① correct", imported_secrets.stored(made))
    other = await pool.verify("Pässword ② correct", imported_secrets.stored(made))

    pool.close()
    assert (fits, other) == (True, False)


@pytest.mark.parametrize(
    "hashed",
    ["", "!", "hunter2", "md5$a$b", "$1$abc$def", "$6$a$b", "x" + BCRYPT, BCRYPT.replace("$2b$", "$2x$"), "x" * 2000,
     BETTER_AUTH[:-1], BETTER_AUTH + "\n", "$2b$12$é"],
)  # fmt: skip
def test_what_is_unknown(hashed: str) -> None:
    assert reason(hashed) == imported_secrets.UNKNOWN


@pytest.mark.parametrize(
    "hashed",
    ["$argon2id$", ARGON2[:-44], ARGON2.replace("m=1024", "m=x"), ARGON2.replace("t=1", "t=0"), BCRYPT[:-1], "$2b$04$",
     SCRYPT[:-20], PBKDF2[:-3], DJANGO_SCRYPT[:-4], DJANGO_SCRYPT.replace("$8$5$", "$8$0$"),
     "argon2$argon2id$v=19$m=1024"],
)  # fmt: skip
def test_what_is_damaged(hashed: str) -> None:
    assert reason(hashed) == imported_secrets.BROKEN


@pytest.mark.parametrize(
    "hashed",
    [ARGON2.replace("m=1024", "m=2147483647"), ARGON2.replace("t=1", "t=1000000"),
     ARGON2.replace("p=1", "p=17"), "argon2" + ARGON2.replace("m=1024", "m=2147483647"), BCRYPT.replace("$04$", "$31$"),
     SCRYPT.replace("ln=10", "ln=30"), SCRYPT.replace("p=1", "p=1000000"), PBKDF2.replace("$1000$", "$4000000000$"),
     DJANGO_SCRYPT.replace("$1024$", "$1073741824$"),
     VECTORS["of_password_as_sent"]["django bcrypt_sha256"].replace("$04$", "$31$"),
     VECTORS["of_password_as_sent"]["django pbkdf2_sha256"].replace("$1000$", "$4000000000$")],
)  # fmt: skip
def test_what_would_hold_up_everybody(hashed: str) -> None:
    assert reason(hashed) == imported_secrets.COSTLY
