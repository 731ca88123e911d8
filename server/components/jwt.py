"""The signing keys of one process: held in memory, created and rotated by one instance at a time."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import structlog

from domain import tokens
from domain.context import Context
from domain.errors import Unavailable
from domain.jwt import rotation
from domain.jwt.policy import JwtPolicy
from domain.jwt.rotation import KeyPair
from domain.ports import KeyDocument, SigningKeys
from models.signing_key import PUBLISHED_KEYS, SigningKeyRow
from server.components.component import Component, Core, PeriodicJob
from server.components.scheduler import take_lease
from server.database.errors import is_unavailable

if TYPE_CHECKING:
    from joserfc.jwk import Key

EVERY = 30.0
"""Seconds from one look at the table to the next: a revoked key is published and signs for no longer."""

LEASE_SECONDS = 30.0
"""Seconds an instance has to generate and store keys; a crashed one delays others for so long."""

PREPARE_SECONDS = 40.0
"""Seconds that the start waits for keys that another instance is generating."""

_PAUSE = 0.1
"""Seconds between two looks at the keys meanwhile."""

_log = structlog.get_logger(__name__)


class Signatures(Protocol):
    """The functions of `server.crypto.jwt`."""

    def generate(self, algorithm: str) -> KeyPair:
        """Return a new key pair."""

    def import_private(self, jwk: str) -> "Key":
        """Return the key of a private JSON Web Key."""

    def sign(self, key: "Key", algorithm: str, kid: str, claims: Mapping[str, Any]) -> str:
        """Return a token signed with a private key."""


def _signatures() -> Signatures:
    # joserfc costs 180 ms and 6 MB; a service without tokens for other services does not load it.
    from server.crypto import jwt  # noqa: PLC0415 - see above

    return jwt


class SigningKeyStore(Component):
    """The published keys of the service. Implements `domain.ports.SigningKeys`."""

    def __init__(self, core: Core) -> None:
        """Take the parts; nothing is read or generated before `prepare`."""
        self._is_enabled = core.settings.jwt.enabled
        self._policy = core.policy[JwtPolicy]
        self._cipher = core.cipher
        self._clock = core.clock
        self._run = core.run
        self._database = core.database
        self._metrics = core.metrics
        self._holder = tokens.token()
        self._rows: list[SigningKeyRow] = []
        """The keys that can be decrypted."""
        self._private: dict[str, Key] = {}
        self._undecipherable: frozenset[str] = frozenset()
        self._document = _document(())
        self._loading = asyncio.Lock()
        core.port.add(SigningKeys, self)
        core.port.add(SigningKeyStore, self)

    def jobs(self) -> Iterable[PeriodicJob]:
        """Read the table again, and rotate the keys."""
        if self._is_enabled:
            yield PeriodicJob("signing_keys", self.maintain, EVERY)

    async def start(self) -> None:
        """Wait for the keys, where tokens are signed."""
        if self._is_enabled:
            await self.prepare()

    @property
    def document(self) -> KeyDocument:
        """The published keys."""
        return self._document

    async def sign(self, claims: Mapping[str, Any], now: datetime) -> str:
        """Return a token signed with the first algorithm's key. Raises Unavailable without one."""
        algorithm = self._policy.algorithms[0]
        row = rotation.signing_key(self._rows, algorithm, now)
        if row is None:
            await self.reload()
            row = rotation.signing_key(self._rows, algorithm, now)
        if row is None:
            raise Unavailable
        token = _signatures().sign(self._private[row.kid], algorithm, row.kid, claims)
        if self._metrics is not None:
            self._metrics.token_issued(algorithm)
        return token

    async def reload(self) -> None:
        """Read the table. Raises Unavailable."""
        async with self._loading:
            rows = await self._database.reads.all(PUBLISHED_KEYS, self._clock())
            sealed = {row.kid: row.private_jwk for row in rows if row.private_jwk}
            known = {kid: key for kid, key in self._private.items() if kid in sealed}
            opened = {
                kid: self._cipher.decrypt(rotation.PURPOSE, value)
                for kid, value in sealed.items()
                if kid not in known
            }
            self._private = known | {
                kid: _signatures().import_private(jwk) for kid, jwk in opened.items() if jwk
            }
            self._rows = [row for row in rows if row.kid in self._private]
            self._document = _document(rows)
            self._report(frozenset(kid for kid, jwk in opened.items() if jwk is None))

    def _report(self, undecipherable: frozenset[str]) -> None:
        """Log keys under a secret that was removed too early, and count them."""
        for kid in undecipherable - self._undecipherable:
            _log.error("signing_keys.undecipherable", kid=kid)
        self._undecipherable = undecipherable
        if self._metrics is not None:
            self._metrics.signing_keys_undecipherable.set(len(undecipherable))

    async def prepare(self) -> None:
        """Wait until every algorithm has a key; of several instances that start, one generates them.

        The service starts without keys if the database does not let them be stored: it responds 503 for tokens.
        """
        try:
            async with asyncio.timeout(PREPARE_SECONDS):
                await self.maintain()
                while rotation.due(self._rows, self._policy, self._clock()):
                    await asyncio.sleep(_PAUSE)
                    await self.maintain()
        except Exception as fault:
            if not isinstance(fault, Unavailable | TimeoutError) and not is_unavailable(fault):
                raise
            _log.error("signing_keys.missing", reason=type(fault).__name__)

    async def maintain(self) -> None:
        """Read the table; create, rotate and retire what is due, if no other instance is at it. Raises Unavailable."""
        await self.reload()
        now = self._clock()
        wanted = rotation.due(self._rows, self._policy, now)
        if wanted or rotation.to_retire(self._rows, now):
            await self.change(
                wanted, lambda pairs: partial(rotation.maintain, pairs=pairs, holder=self._holder)
            )

    async def change(
        self,
        algorithms: Iterable[str],
        rule: Callable[[Mapping[str, KeyPair]], Callable[[Context], Awaitable[None]]],
    ) -> bool:
        """Generate key pairs and run a rule on them, under the lease; return False if another instance has it."""
        database = self._database
        lease = partial(take_lease, database, rotation.LEASE, self._holder)
        if not await lease(now=self._clock(), seconds=LEASE_SECONDS):  # defence: JWT11 lease
            return False
        try:
            # In a thread, because an RSA key costs a tenth of a second or more.
            generate = _signatures().generate
            pairs = {algorithm: await asyncio.to_thread(generate, algorithm) for algorithm in algorithms}
            await self._run(rule(pairs))
        finally:
            await lease(now=self._clock(), seconds=0)
        await self.reload()
        return True

    @property
    def holder(self) -> str:
        """The name of this process in the lease."""
        return self._holder


def _document(rows: Sequence[SigningKeyRow]) -> KeyDocument:
    body = f'{{"keys": [{", ".join(row.public_jwk for row in rows)}]}}'.encode()
    return KeyDocument(body, b'"' + hashlib.sha256(body).hexdigest()[:32].encode() + b'"')
