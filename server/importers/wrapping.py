"""Wrap fast password hashes of imported users in argon2id, so that they may be stored.

This runs in the hashing threads, before the transaction that stores the users.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from domain.data_import.eligibility import ImportedUser
from domain.ports import Hasher
from server.crypto import weak_hashes


async def wrap(hasher: Hasher, users: Sequence[ImportedUser]) -> list[ImportedUser]:
    """Return the users, with each fast password hash replaced by a wrapped one, which may be stored."""
    # No job waits in the queue of the threads, which would refuse it after `password.hash_wait`.
    threads = asyncio.Semaphore(hasher.threads)

    async def wrapped(user: ImportedUser) -> ImportedUser:
        if user.weak_hash is None:
            return user
        async with threads:
            outer = await hasher.hash(user.weak_hash.digest)  # defence: V87 wrap-digest
        return replace(user, password=weak_hashes.wrapped(user.weak_hash.scheme, outer), weak_hash=None)

    return list(await asyncio.gather(*map(wrapped, users)))
