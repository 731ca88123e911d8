"""The results as Markdown: what each server did, and what that is beside the others."""

from collections.abc import Iterable, Sequence

from tests.labs.bench.cases import CONSTANT, SIGNING
from tests.labs.bench.measuring import Result
from tests.labs.bench.servers import Server

_COLUMNS = (
    "case",
    "server",
    "requests/s",
    "p50 ms",
    "p99 ms",
    "CPU µs",
    "peak MB",
    "of bare ASGI",
    "times Better Auth",
    "remarks",
)


def speeds(results: Sequence[Result], peers: dict[str, str]) -> str:
    """Return the table of all cases; `peers` names, for a server of ours, the one it is compared with."""
    rates = {(result.case.name, result.case.server.name): result.median("rate") for result in results}
    bare = rates.get((CONSTANT, "bare ASGI"))
    rows = []
    for result in results:
        name, server = result.case.name, result.case.server.name
        rate = rates[name, server]
        peer = rates.get((name, peers.get(server, "")))
        rows.append(
            (
                name,
                server,
                f"{rate:,.0f}",
                f"{result.median('p50'):.1f}",
                f"{result.median('p99'):.1f}",
                f"{result.median('cost'):.0f}",
                f"{max(run.memory for run in result.runs):.0f}",
                f"{result.share() or rate / bare:.0%}" if bare and name not in SIGNING else "",
                f"{rate / peer:.1f}" if peer else "",
                _remarks(result),
            )
        )
    return markdown(_COLUMNS, rows)


def starts(servers: Iterable[Server]) -> str:
    """Return the table of starts: seconds to the first answer with warm files, memory at that moment."""
    rows = [
        (
            server.name,
            f"{server.first_start * 1000:.0f}",
            f"{server.start_time() * 1000:.0f}",
            f"{server.memory_at_start:.0f}",
        )
        for server in servers
    ]
    return markdown(("server", "start on an empty database, ms", "on a filled one", "MB then"), rows)


def _remarks(result: Result) -> str:
    failures = f"{result.failures} failed" if result.failures else ""
    return ", ".join(filter(None, (failures, "NOISY" if result.is_noisy else "")))


def markdown(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table with these columns."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
