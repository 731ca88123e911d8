"""Connections to Redis or Valkey, directly or by its sentinels."""

import re
from typing import Any
from urllib.parse import unquote, urlsplit

from redis.asyncio import BlockingConnectionPool, ConnectionPool
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel, SentinelConnectionPool
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as ConnectionLost
from redis.maint_notifications import MaintNotificationsConfig

_CONNECTIONS = 32
_SENTINEL_CONNECTIONS = 1024
"""The largest number of connections for Sentinel: above it, the pool raises an error instead of waiting."""
_SENTINEL_PORT = 26379


def redis_address(address: str) -> str:
    """Return an address with the scheme `redis`, which the client library requires; Valkey has the same protocol."""
    return re.sub(r"^valkey(s?)(\+sentinel)?://", r"redis\1\2://", address)


def connection_pool(address: str, timeout: float) -> tuple[ConnectionPool, Sentinel | None]:
    """Return the connection pool for a value of `limits.store`, and the client of its Sentinels (None if it has none).

    Nothing is connected yet. `timeout`, in seconds, limits connecting and each response. Raises ValueError for an
    invalid address.
    """
    address = redis_address(address)
    options = {
        "socket_timeout": timeout,
        "socket_connect_timeout": timeout,
        # A connection that the server has closed fails at its next use, and is opened again once. There is no retry
        # after a timeout.
        "retry": Retry(NoBackoff(), 1, supported_errors=(ConnectionLost,)),
        # Otherwise a hosted server may extend the timeouts during maintenance.
        "maint_notifications_config": MaintNotificationsConfig(enabled=False),
    }
    if re.match(r"rediss?\+sentinel://", address):
        return _named_by_sentinels(address, options)
    pool: ConnectionPool = BlockingConnectionPool.from_url(
        address, max_connections=_CONNECTIONS, timeout=timeout, **options
    )
    try:
        # redis-py reads the options of the URL when it connects; this finds an unknown one at startup.
        pool.connection_class(**pool.connection_kwargs)
    except TypeError as unknown:
        raise ValueError(str(unknown)) from unknown
    return pool, None


def _named_by_sentinels(address: str, options: dict[str, Any]) -> tuple[ConnectionPool, Sentinel]:
    """Return the pool for `redis+sentinel://user:password@host:port,host:port/service/db`, and the Sentinels.

    User and password are those of the server. Raises ValueError for an invalid address.
    """
    matched = re.fullmatch(
        r"redis(?P<tls>s?)\+sentinel://((?P<user>[^:@/]*):(?P<password>[^@/]*)@)?(?P<hosts>[^@/?#]+)"
        r"/(?P<service>[^/?#]+)(/(?P<db>\d+))?",
        address,
    )
    if matched is None:
        raise ValueError("an address of Sentinels is redis+sentinel://host:26379,host:26379/service/0")
    is_tls = bool(matched["tls"])
    hosts = [_host_and_port(each) for each in matched["hosts"].split(",")]
    # Sentinels are queried in turn, and the first may be down for the same reason as the server.
    share = options["socket_timeout"] / (len(hosts) + 1)
    each = {**options, "socket_timeout": share, "socket_connect_timeout": share, "ssl": is_tls}
    sentinels = Sentinel(hosts, sentinel_kwargs=each)
    pool = SentinelConnectionPool(
        unquote(matched["service"]),
        sentinels,
        max_connections=_SENTINEL_CONNECTIONS,
        ssl=is_tls,
        db=int(matched["db"] or 0),
        username=unquote(matched["user"] or "") or None,
        password=unquote(matched["password"] or "") or None,
        **options,
    )
    return pool, sentinels


def _host_and_port(written: str) -> tuple[str, int]:
    """Return host and port of a Sentinel. Raises ValueError."""
    parts = urlsplit(f"//{written}")
    if not parts.hostname:
        raise ValueError("a Sentinel has no host")
    return parts.hostname, parts.port or _SENTINEL_PORT
