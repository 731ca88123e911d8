"""The Alembic environment: it connects, or uses a given connection, and applies the migrations.

From the command line, with the settings in pyproject.toml: `alembic -x url=sqlite:///gatewright.db upgrade head`, or
`alembic -x url=… revision --autogenerate -m "…" --rev-id 0002`. From a program: set the attribute `connection` of
Alembic's configuration to a synchronous connection; the transaction is then the caller's.
"""

import asyncio
from typing import Any, Literal

from alembic import context
from alembic.autogenerate.api import AutogenContext
from alembic.util import CommandError
from sqlalchemy import URL, Connection, make_url
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool
from sqlmodel import AutoString

from models import Instant, metadata
from models.user import BY_DIALECT

_DRIVERS = {
    "postgres": "postgresql+asyncpg",
    "postgresql": "postgresql+asyncpg",
    "sqlite": "sqlite+aiosqlite",
}


def _url() -> URL:
    given = context.get_x_argument(as_dictionary=True).get("url")
    if not given:
        raise CommandError(
            "say which database to work on: alembic -x url=postgresql://… or -x url=sqlite:///…"
        )
    url = make_url(given)
    return url.set(drivername=_DRIVERS.get(url.drivername, url.drivername))


def _render(kind: str, thing: Any, autogenerate: AutogenContext) -> str | Literal[False]:
    """Render times and texts as plain SQLAlchemy, so that a draft imports neither `models` nor SQLModel."""
    if kind == "type" and isinstance(thing, Instant):
        return "sa.BigInteger().with_variant(sa.DateTime(timezone=True), 'postgresql')"
    if kind == "type" and isinstance(thing, AutoString):
        return f"sa.String({thing.length or ''})"
    return False


def _include(thing: Any, name: str | None, kind: str, reflected: bool, compared: Any) -> bool:
    """Leave out the indexes that only a migration knows, so that no other removes them."""
    return name not in BY_DIALECT


def _configure(**target: Any) -> None:
    context.configure(
        target_metadata=metadata,
        compare_type=True,
        transactional_ddl=True,
        render_item=_render,
        include_object=_include,
        user_module_prefix="sa.",
        **target,
    )


def _migrate(connection: Connection) -> None:
    _configure(connection=connection)
    with context.begin_transaction():
        context.run_migrations()


async def _connect_and_migrate(url: URL) -> None:
    engine = create_async_engine(url, poolclass=NullPool)
    try:
        async with engine.begin() as connection:
            await connection.run_sync(_migrate)
    finally:
        await engine.dispose()


def _print_sql(url: URL) -> None:
    _configure(dialect_name=url.get_backend_name(), literal_binds=True)
    with context.begin_transaction():
        context.run_migrations()


def _run() -> None:
    connection = context.config.attributes.get("connection")
    if connection is not None:
        _migrate(connection)
    elif context.is_offline_mode():
        _print_sql(_url())
    else:
        asyncio.run(_connect_and_migrate(_url()))


_run()
