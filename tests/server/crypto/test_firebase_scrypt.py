"""Hashes of Firebase: those that its own documentation and Supabase Auth show, stored without the signer key."""

import pytest

from domain.data_import.eligibility import Problem
from server.crypto import imported_secrets
from server.crypto.password_hasher import HashingRules, PasswordHasher

# https://github.com/firebase/scrypt/blob/main/README.md
README_KEY = "jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA=="
README_HASH = "lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ=="
README = f"$fbscrypt$v=1,n=14,r=8,p=1,ss=Bw==,sk={README_KEY}$42xEC+ixf3L2lw==${README_HASH}"
# https://github.com/supabase/auth/blob/master/internal/crypto/password_test.go
SUPABASE_KEY = "ou9tdYTGyYm8kuR6Dt0Bp0kDuAYoXrK16mbZO4yGwAn3oLspjnN0/c41v8xZnO1n14J3MjKj1b2g6AUCAlFwMw=="
SUPABASE_HASH = "zKVTMvnWVw5BBOZNUdnsalx4c4c7y/w7IS5p6Ut2+CfEFFlz37J9huyQfov4iizN8dbjvEJlM5tQaJP84+hfTw=="
SUPABASE = f"$fbscrypt$v=1,n=14,r=8,p=1,ss=Bw==,sk={SUPABASE_KEY}$C0sHCg9ek77hsg==${SUPABASE_HASH}"


@pytest.mark.parametrize(("exported", "password"), [(README, "user1password"), (SUPABASE, "mytestpassword")])
async def test_the_password_matches_without_the_signer_key(exported: str, password: str) -> None:
    stored = imported_secrets.stored(exported)
    pool = PasswordHasher(HashingRules(memory_kib=64, time=1))

    found = [await pool.verify(each, stored) for each in (password, password + "x", "")]

    pool.close()
    assert found == [True, False, False]
    assert pool.needs_rehash(stored)
    assert stored.startswith("$firebase-scrypt$ln=14,r=8,p=1$")
    assert not any(part[:16] in stored for part in (README_KEY, SUPABASE_KEY, README_HASH, SUPABASE_HASH))
    # A stored hash is what `gatewright export users` writes.
    assert imported_secrets.stored(stored) == stored


def test_base64url_is_read_as_well() -> None:
    assert imported_secrets.stored(README.replace("+", "-").replace("/", "_")) == imported_secrets.stored(
        README
    )


@pytest.mark.parametrize(
    ("hashed", "reason"),
    [
        (README[:-20], imported_secrets.BROKEN),
        (README.replace(README_KEY, README_KEY[:-8]), imported_secrets.BROKEN),
        (README.replace(README_HASH, "AAAA").replace(README_KEY, "AAAA"), imported_secrets.BROKEN),
        (README.replace("ss=Bw==,", "").replace("42xEC+ixf3L2lw==", "="), imported_secrets.BROKEN),
        (README.replace("42xEC", "é!"), imported_secrets.UNKNOWN),
        (README.replace("r=8", "r=0"), imported_secrets.BROKEN),
        (README.replace("v=1", "v=2"), imported_secrets.BROKEN),
        (README.replace("n=14", "n=30"), imported_secrets.COSTLY),
        (README.replace("p=1", "p=4000000"), imported_secrets.COSTLY),
        ("$firebase-scrypt$ln=14,r=8,p=1$42xEC+ixf3L2lwc$AAAA", imported_secrets.BROKEN),
    ],
)
def test_damaged_and_costly_hashes_are_refused(hashed: str, reason: str) -> None:
    with pytest.raises(Problem) as caught:
        imported_secrets.stored(hashed)

    assert caught.value.reason == reason
