"""The database as the service would find it: reach, version, encoding, privileges, schema, clock, room."""

from server.clock import Clock
from server.database import parse
from server.diagnosis import postgresql, sqlite
from server.diagnosis.findings import Finding
from server.settings import Settings


async def findings(chosen: Settings, clock: Clock, *, least_free: int = sqlite.LEAST_FREE) -> list[Finding]:
    """Look at the database; nothing is written, and no file is made. `least_free` is in bytes."""
    address = parse(chosen.database_url.get_secret_value())
    if address.dialect == "sqlite":
        return list(sqlite.findings(chosen, address, least_free))
    return await postgresql.findings(chosen, address, clock)
