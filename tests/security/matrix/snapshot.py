"""All rows of a service, to be put back: each way is tried as if it were the only one."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import delete, select
from sqlmodel import SQLModel

from models import Audit, metadata
from models.base import tables
from models.statements import insert, table_of
from tests.service import Service

Snapshot = list[tuple[type[SQLModel], list[Mapping[str, Any]]]]

_ORDER = {table.name: number for number, table in enumerate(metadata.sorted_tables)}
_TABLES = sorted(tables(), key=lambda model: _ORDER[table_of(model).name])
_EMPTY = {model: delete(table_of(model)) for model in _TABLES}
_READ = {model: select(table_of(model)) for model in _TABLES if model is not Audit}


async def take(service: Service) -> Snapshot:
    """Return every row, but those of the audit trail."""
    async with service.services.database.begin() as db:
        return [(model, _sorted(model, list(await db.execute(read)))) for model, read in _READ.items()]


async def restore(service: Service, snapshot: Snapshot) -> None:
    """Put every row back, with an empty audit trail, and delete the others.

    A table with the same rows is left as it is, because most ways change few tables.
    """
    await service.services.audit_writer.flush()
    async with service.services.database.transaction() as db:
        changed = {table_of(Audit)}
        for model, rows in snapshot:
            if _sorted(model, list(await db.execute(_READ[model]))) != rows:
                changed.add(table_of(model))
        for table in metadata.sorted_tables:
            # Rows are deleted together with those that they refer to.
            if any(key.column.table in changed for key in table.foreign_keys):
                changed.add(table)
        for model in reversed(_TABLES):
            if table_of(model) in changed:
                await db.execute(_EMPTY[model])
        for model, rows in snapshot:
            if table_of(model) in changed:
                await db.execute_many(insert(model), rows)


def _sorted(model: type[SQLModel], rows: Sequence[Any]) -> list[Mapping[str, Any]]:
    """Return rows as they are to be inserted: those that refer to others of their table are last."""
    table = table_of(model)
    names = [column.name for column in table.columns]
    own = [key.parent.name for key in table.foreign_keys if key.column.table is table]
    values = [dict(zip(names, row, strict=True)) for row in rows]
    return sorted(values, key=lambda row: any(row[name] is not None for name in own))
