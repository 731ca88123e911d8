"""The keyring: purposes are separate, secrets rotate, nothing shows."""

import hashlib
import hmac

import pytest
from cryptography.fernet import Fernet

from server.crypto.keyring import Keyring

OLD, NEW, OTHER = (
    "old secret of at least 32 bytes.",
    "new secret of at least 32 bytes.",
    "some other secret of 32 bytes ok",
)
PURPOSE = "outbox.payload"


class TestEncryption:
    @pytest.mark.parametrize("text", ["", "token", "é😀\x00", "x" * 100_000])
    def test_gives_back_what_went_in(self, text: str) -> None:
        keyring = Keyring([NEW])

        assert keyring.decrypt(PURPOSE, keyring.encrypt(PURPOSE, text)) == text

    def test_shows_nothing_and_repeats_nothing(self) -> None:
        keyring = Keyring([NEW])
        first, second = keyring.encrypt(PURPOSE, "token"), keyring.encrypt(PURPOSE, "token")

        assert first != second
        assert b"token" not in first

    def test_another_purpose_reads_nothing(self) -> None:
        keyring = Keyring([NEW, OLD])

        assert keyring.decrypt("session.token_copy", keyring.encrypt(PURPOSE, "token")) is None
        assert not keyring.is_current("session.token_copy", keyring.encrypt(PURPOSE, "token"))

    @pytest.mark.parametrize(
        "sealed",
        [
            b"", b"x", b"\xff" * 80, b"gAAAAA", Fernet(Fernet.generate_key()).encrypt(b"x"),
            Keyring([OTHER]).encrypt(PURPOSE, "token"), Keyring([NEW]).encrypt(PURPOSE, "token")[:-1],
        ],
        ids=["nothing", "a letter", "bytes", "the beginning of one", "a stranger's", "another secret's", "a cut one"],
    )  # fmt: skip
    def test_garbage_reads_as_nothing(self, sealed: bytes) -> None:
        assert Keyring([NEW]).decrypt(PURPOSE, sealed) is None
        assert not Keyring([NEW]).is_current(PURPOSE, sealed)

    def test_a_changed_value_reads_as_nothing(self) -> None:
        sealed = bytearray(Keyring([NEW]).encrypt(PURPOSE, "token"))
        sealed[40] ^= 1

        assert Keyring([NEW]).decrypt(PURPOSE, bytes(sealed)) is None


class TestRotation:
    @pytest.mark.threat("R44")
    def test_older_secrets_still_read_and_the_newest_writes(self) -> None:
        old, new, both = Keyring([OLD]), Keyring([NEW]), Keyring([NEW, OLD])
        before, after = old.encrypt(PURPOSE, "token"), both.encrypt(PURPOSE, "token")

        assert [each.decrypt(PURPOSE, before) for each in (both, new)] == ["token", None]
        assert [each.decrypt(PURPOSE, after) for each in (new, old)] == ["token", None]
        assert [both.is_current(PURPOSE, sealed) for sealed in (before, after)] == [False, True]
        assert (both.rotating, new.rotating) == (True, False)


class TestDigests:
    def test_one_for_every_secret_newest_first(self) -> None:
        new, old = Keyring([NEW]).digests("limit", "ada"), Keyring([OLD]).digests("limit", "ada")

        assert Keyring([NEW, OLD]).digests("limit", "ada") == new + old
        assert [len(digest) for digest in new] == [32]

    def test_depend_on_purpose_and_text_and_nothing_else(self) -> None:
        keyring = Keyring([NEW])

        assert keyring.digests("limit", "ada") == keyring.digests("limit", "ada")
        assert keyring.digests("limit", "ada") != keyring.digests("audit", "ada")
        assert keyring.digests("limit", "ada") != keyring.digests("limit", "bea")

    def test_are_keyed(self) -> None:
        assert Keyring([NEW]).digests("limit", "ada")[0] not in (
            hashlib.sha256(b"ada").digest(),
            hmac.digest(NEW.encode(), b"ada", hashlib.sha256),
        )


class TestKeyring:
    @pytest.mark.threat("V86")
    def test_shows_no_secret(self) -> None:
        keyring = Keyring([NEW, OLD])

        assert "secret" not in repr(keyring) + str(keyring)

    def test_needs_a_secret(self) -> None:
        with pytest.raises(ValueError, match="secret"):
            Keyring([])

    def test_keys_stay_the_same_over_releases(self) -> None:
        """A changed derivation would lock every stored value; so its result is written down here."""
        digest = "2a76490880e0d24b519647ca4515398c17dd65d83ae2a5e030e5d2f2dc649234"
        sealed = (
            "gAAAAABrADYT5sUXGL6pXHErdpGnU7ZyOk45Vhz0QLmN0FMGqeBEtZaBAsyr"
            "QiL5p-K3ZlV54Z-KpxZpxhl5EEBQCbFTcTxPIA=="
        )

        assert Keyring([NEW]).digests("limit", "ada")[0].hex() == digest
        assert Keyring([NEW]).decrypt(PURPOSE, sealed.encode()) == "token"
