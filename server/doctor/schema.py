"""Check whether the schema of a database is the one that this program needs."""

from server.config.base import Settings
from server.config.groups.database import DatabaseSettings
from server.database import schema
from server.doctor.findings import Finding, ok, warning, wrong


def judge(chosen: Settings, revision: str | None) -> Finding:
    """Return the finding whether a schema at `revision` fits this program; None means that there is no schema."""
    if revision == schema.head():
        return ok("schema", f"at {revision}, which this program needs")
    if revision is not None and revision not in schema.known():
        return wrong(
            "schema",
            f"at {revision}, which is newer than this program (it needs {schema.head()})",
            "run the newer program that migrated it",
        )
    found = f"at {revision or 'no revision'}, this program needs {schema.head()}"
    if chosen[DatabaseSettings].migrate == "auto":
        return warning("schema", found, "nothing: the service migrates it at start")
    return wrong("schema", found, "gatewright migrate")
