"""Clients whose id is the URL of a document with their metadata (draft-ietf-oauth-client-id-metadata-document).

The document is requested when the client sends a request. Its content is stored as a client, and used without another
request for as long as the response allows.
"""

from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from typing import Any, NamedTuple, Protocol

import orjson

from domain.context import Context
from domain.errors import Limited
from domain.oauth_clients import clients, document_metadata, events, metadata
from domain.oauth_clients.metadata import InvalidMetadata
from domain.oauth_clients.policy import ClientPolicy
from domain.rate_limits import limits
from domain.rate_limits.policy import Quota
from models.oauth_client import ADD_CLIENT, LOCK_CLIENT, ClientRow, ClientSource
from models.oauth_consent import END_CONSENTS_OF_CLIENT

_QUOTA = Quota(20, timedelta(hours=1))
"""How many documents that are new to the service the requests of one network may cause it to fetch."""
_SHORTEST, _USUAL, _LONGEST = timedelta(minutes=5), timedelta(hours=1), timedelta(hours=24)
"""How long a document is used: as its response says, within these bounds; the usual time if it says nothing."""
_IDENTITY = frozenset({"redirect_uris", "jwks", "token_endpoint_auth_method"})
"""Members that identify a client: if one of them changes, it may be another client, and users are asked again."""


class Document(NamedTuple):
    """A fetched document, not checked yet."""

    body: bytes
    max_age: timedelta | None
    """How long the response allows the document to be kept; None if the response does not say."""


class DocumentRefused(Exception):
    """A document cannot be fetched. `reason` is for the operator, not for the client."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class ClientDocuments(Protocol):
    """Fetches metadata documents; this process makes at most one request per client in ten seconds."""

    def turn(self, client_id: str) -> AbstractAsyncContextManager[None]:
        """Return a context manager that admits one caller at a time for each client."""

    def is_recent(self, client_id: str, now: datetime) -> bool:
        """Return whether the document was requested less than ten seconds ago."""

    async def fetch(self, client_id: str, now: datetime) -> Document:
        """Return the document at the URL `client_id`, fetched now or less than ten seconds ago.

        It takes up to 5 seconds, so do not call it within a transaction. Raises DocumentRefused.
        """


def has_document(client_id: str) -> bool:
    """Return whether a client id is a URL, so that the client's metadata come from the document there."""
    return client_id.startswith(document_metadata.SCHEMES)


async def read(ctx: Context, client_id: str) -> ClientRow | None:
    """Return the client with this id, even if it is disabled.

    If the id is the URL of a document, the document is fetched unless a recent copy is stored; so call this before
    `ctx.db` is used. Return None if there is no such client, or its document cannot be fetched or is not accepted.
    Raises Unavailable.
    """
    try:
        return await read_accepted(ctx, client_id)
    except InvalidMetadata:
        return None


async def read_accepted(ctx: Context, client_id: str) -> ClientRow | None:
    """Return a client like `read`, but raise InvalidMetadata if the content of its document is not accepted."""
    if not has_document(client_id):
        return await clients.read(ctx, client_id)
    policy = ctx.policy[ClientPolicy]
    if not policy.client_documents or not document_metadata.is_url(client_id, policy):
        return None
    client = await clients.read(ctx, client_id)
    if client is not None and client.disabled_at is not None:  # defence: O27 disabled
        return client
    if client is None or not _is_fresh(client, ctx.now):
        if ctx.transaction is not None:
            raise RuntimeError("a client document must not be requested within a transaction")
        client = await _renewed(ctx, client_id)
    return None if client is None else _with_access(client, policy)


async def _renewed(ctx: Context, client_id: str) -> ClientRow | None:
    """Request the document of a client; return the client, or None if its document cannot be read.

    Raises InvalidMetadata.
    """
    documents = ctx.port[ClientDocuments]
    async with documents.turn(client_id):  # defence: O27 single-flight
        known = await clients.read(ctx, client_id)
        if known is not None and _is_fresh(known, ctx.now):
            return known
        is_first = not documents.is_recent(client_id, ctx.now)
        try:
            if known is None and is_first:
                await ctx.in_new_transaction(_count)  # defence: O27 quota
            document = await documents.fetch(client_id, ctx.now)
            checked = document_metadata.checked(client_id, document.body, ctx.policy[ClientPolicy])
        except (DocumentRefused, InvalidMetadata, Limited) as refused:
            if is_first:
                events.document_refused(
                    ctx, client_id, "limit" if isinstance(refused, Limited) else str(refused)
                )
            if isinstance(refused, InvalidMetadata):
                raise
            return None
        return await ctx.in_new_transaction(lambda job: _store(job, client_id, checked, document.max_age))


async def _count(ctx: Context) -> None:
    await limits.check_network_quota(ctx, "client_documents", _QUOTA)


async def _store(
    ctx: Context, client_id: str, checked: dict[str, Any], max_age: timedelta | None
) -> ClientRow:
    """Keep the metadata of a client; users are asked again if it may be another client."""
    life = min(max(_USUAL if max_age is None else max_age, _SHORTEST), _LONGEST)  # defence: O27 life
    times: dict[str, Any] = {"fetched_at": ctx.now, "fresh_until": ctx.now + life}
    row: ClientRow | None = (await ctx.db.execute(LOCK_CLIENT, client_id=client_id)).first()
    if row is None:
        new, _ = clients.new(ctx, checked, ClientSource.DOCUMENT, client_id=client_id)
        new = new._replace(**times, expires_at=ctx.now + clients.UNUSED_DOCUMENT)
        # Deferred: if another instance has stored it meanwhile, the job runs again.
        ctx.db.defer(ADD_CLIENT, **new._asdict())
        events.document_fetched(ctx, client_id, ())
        return new
    known = row.metadata
    changed = {name for name in metadata.MEMBERS if checked.get(name) != known.get(name)}
    if changed & _IDENTITY:  # defence: O27 changed
        await ctx.db.execute(END_CONSENTS_OF_CLIENT, client_id=client_id)
    if changed:
        events.document_fetched(ctx, client_id, changed)
    return await clients.replace(ctx, row, checked, **times)


def _is_fresh(client: ClientRow, now: datetime) -> bool:
    return client.fresh_until is not None and now < client.fresh_until


def _with_access(client: ClientRow, policy: ClientPolicy) -> ClientRow:
    """Return a client that may ask for everything that the service has now; the user decides about it."""
    stored = client.metadata
    return client._replace(
        registration=orjson.dumps({**stored, **document_metadata.access(stored, policy)}).decode()
    )
