"""The schema of a database, held against what this program needs."""

from server.config.settings import Settings
from server.database import schema
from server.doctor.findings import Finding, odd, ok, wrong


def judge(chosen: Settings, revision: str | None) -> Finding:
    """Judge the revision a database is at; None for one without any."""
    if revision == schema.head():
        return ok("schema", f"at {revision}, as this program needs it")
    if revision is not None and revision not in schema.known():
        return wrong(
            "schema",
            f"at {revision}, which this program does not know (it knows {schema.head()})",
            "run the newer program that made it",
        )
    found = f"at {revision or 'nothing'}, this program needs {schema.head()}"
    if chosen.database.migrate == "auto":
        return odd("schema", found, "nothing: the service brings it up to date when it starts")
    return wrong("schema", found, "gatewright migrate")
