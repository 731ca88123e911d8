"""The audit records as tests read them."""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import select

from models import Audit
from tests.handlers import steps
from tests.service import Service


async def trail(service: Service) -> list[Any]:
    """Return every record that was written so far, those included that wait to be."""
    await service.services.audit_writer.flush()
    async with service.services.database.begin() as db:
        return list(await db.execute(select(Audit)))


async def of_event(service: Service, event: str, **details: Any) -> list[Any]:
    """Return the records of an event whose details have these values, in no order."""
    return [
        record
        for record in await trail(service)
        if record.event == event and details.items() <= record.details.items()
    ]


async def only(service: Service, event: str, **details: Any) -> Any:
    """Return the one record of an event whose details have these values."""
    [record] = await of_event(service, event, **details)
    return record


async def forget(service: Service) -> None:
    """Begin with an empty table."""
    await service.services.audit_writer.flush()
    await steps.execute(service, "DELETE FROM audit")


def told(records: Iterable[Any]) -> list[str]:
    """Return event, outcome and code of each record; a success by its event alone."""
    return sorted(_told(record) for record in records)


def _told(record: Any) -> str:
    if record.outcome == "success":
        return str(record.event)
    return " ".join(filter(None, (record.event, record.outcome, record.code)))
