"""Fast hashes: how they are parsed, wrapped and checked. The hashes are made by passlib, or published."""

from collections.abc import Iterator

import pytest
from passlib import hash as made

from domain.data_import.eligibility import Problem, WeakHash
from server.crypto import imported_secrets, weak_hashes
from server.crypto.password_hasher import HashingRules, PasswordHasher

PASSWORD = "Pässword ①"
PUBLISHED = "$P$9IQRaTwmfeRo7ud9Fh4E2PdI0S3r.L0"
"""Of `test12345`, in the tests of phpass: https://www.openwall.com/phpass/."""
HASHES = {
    "md5": made.hex_md5.hash(PASSWORD),
    "md5 in upper case": made.hex_md5.hash(PASSWORD).upper(),
    "sha1": made.hex_sha1.hash(PASSWORD),
    "sha256": made.hex_sha256.hash(PASSWORD),
    "sha512": made.hex_sha512.hash(PASSWORD),
    "django md5": made.django_salted_md5.hash(PASSWORD),
    "django sha1": made.django_salted_sha1.hash(PASSWORD),
    "django md5 without a salt": "md5$$" + made.hex_md5.hash(PASSWORD),
    "ldap md5": made.ldap_md5.hash(PASSWORD),
    "ldap sha": made.ldap_sha1.hash(PASSWORD),
    "ldap smd5": made.ldap_salted_md5.hash(PASSWORD),
    "ldap ssha": made.ldap_salted_sha1.hash(PASSWORD),
    "ldap ssha256": made.ldap_salted_sha256.hash(PASSWORD),
    "ldap ssha512": made.ldap_salted_sha512.hash(PASSWORD),
    "salt before": "$digest$sha256,before=c2FsdA$" + made.hex_sha256.hash("salt" + PASSWORD),
    "salt after": "$digest$sha512,after=c2FsdA$" + made.hex_sha512.hash(PASSWORD + "salt"),
    "both": "$digest$md5,before=c2FsdA,after=cGVwcGVy$" + made.hex_md5.hash(f"salt{PASSWORD}pepper"),
    "phpass": made.phpass.using(rounds=7).hash(PASSWORD),
    "phpass of phpBB": made.phpass.using(rounds=7, ident="H").hash(PASSWORD),
}


@pytest.fixture(scope="module")
def hasher() -> Iterator[PasswordHasher]:
    hasher = PasswordHasher(HashingRules(memory_kib=64, time=1))
    yield hasher
    hasher.close()


async def stored(hasher: PasswordHasher, hashed: str) -> str:
    """Return what is stored of a fast hash."""
    weak = imported_secrets.accepted(hashed)
    assert isinstance(weak, WeakHash)
    return weak_hashes.wrapped(weak.scheme, await hasher.hash(weak.digest))


@pytest.mark.parametrize("hashed", [pytest.param(hashed, id=name) for name, hashed in HASHES.items()])
class TestEachFormat:
    async def test_only_its_password_matches(self, hasher: PasswordHasher, hashed: str) -> None:
        kept = await stored(hasher, hashed)

        assert await hasher.verify(PASSWORD, kept)
        for other in ("", PASSWORD + "x", hashed, kept):
            assert not await hasher.verify(other, kept)
        assert hasher.needs_rehash(kept)

    async def test_the_wrapped_form_can_be_imported_again(self, hasher: PasswordHasher, hashed: str) -> None:
        kept = await stored(hasher, hashed)

        assert imported_secrets.accepted(kept) == kept


async def test_the_published_hash_of_phpass(hasher: PasswordHasher) -> None:
    kept = await stored(hasher, PUBLISHED)

    assert kept.startswith("$wrapped$phpass,ln=11,salt=IQRaTwmf$argon2id$v=19$m=64,t=1,p=1$")
    assert await hasher.verify("test12345", kept)


@pytest.mark.parametrize(
    "damaged",
    [
        "md5$salt$abc", "md5$salt", "sha1$salt$" + "0" * 32, "{SSHA}" + "A" * 27 + "=", "{SHA}!!!!",
        "{CRYPT}abc", "{SHA}" + "A" * 32, PUBLISHED[:-1], PUBLISHED + "a", "$P$.IQRaTwmfeRo7ud9Fh4E2PdI0S3r.L0",
        "$digest$md5$" + "0" * 40, "$digest$md5,before=$" + "0" * 32, "$digest$sha3$" + "0" * 32,
        "$digest$phpass,ln=8,salt=IQRaTwmf$" + "0" * 22, "$digest$sha1,before=" + "A" * 400 + "$" + "0" * 40,
        "$digest$md5,before=A$" + "0" * 32, "$wrapped$md5$" + "0" * 32, "$wrapped$md5,before=A$argon2id$x",
        "$wrapped$md5$argon2id$v=19$m=64,t=1,p=1$AAAA",
    ],
)  # fmt: skip
def test_damaged_hashes_are_refused(damaged: str) -> None:
    with pytest.raises(Problem, match=imported_secrets.BROKEN):
        imported_secrets.accepted(damaged)


@pytest.mark.parametrize(
    "costly",
    [
        PUBLISHED.replace("$P$9", "$P$J"),
        "$wrapped$phpass,ln=30,salt=IQRaTwmf$argon2id$v=19$m=64,t=1,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAA",
        "$wrapped$md5$argon2id$v=19$m=64,t=1000000,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAA",
        "$wrapped$md5$argon2id$v=19$m=64000,t=1000,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAA",
    ],
)
def test_hashes_that_cost_too_much_are_refused(costly: str) -> None:
    with pytest.raises(Problem, match=imported_secrets.COSTLY):
        imported_secrets.accepted(costly)
