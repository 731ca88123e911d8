"""What the service is meant to reach, and whether it did in this run: ratios within the run, medians of its rounds."""

from collections.abc import Iterator, Sequence

from tests.labs.bench import cases
from tests.labs.bench.contest import Contest
from tests.labs.bench.measuring import Result
from tests.labs.bench.servers import BY_MAIL, MANY_KEYS, OURS, TWO_WORKERS
from tests.labs.bench.table import markdown

_COLUMNS = ("goal", "server", "least or most", "measured", "met")

_PEER = {
    "get-session (bearer)": 20.0,
    "get-session (cookie)": 20.0,
    "list-sessions (5)": 5.0,
    "revoke-session (unknown)": 5.0,
    "update-user": 5.0,
    "sign-out": 5.0,
    cases.LINK: 5.0,
    cases.BY_CODE: 5.0,
}
"""How many times faster than Better Auth an operation is meant to be."""

_OF_BARE = 0.45
_OF_HASHES = 0.9
_P99_MS = 10.0
_SECOND_WORKER = 1.6
_FLAT = 0.9
_PER_SECOND = {cases.TOKEN: 3000.0}
_PAGES_OF_BARE = dict(zip(cases.PAGES, (0.08, 0.06), strict=True))
_OF_OWN = {
    cases.JWKS: 0.8,
    cases.BY_KEY: 0.65,
    cases.KEY: 0.65,
    cases.COUNTED: 0.6,
}
"""The share that a case is meant to reach of another one of the same server."""
_P99_MS_OF = {cases.HOT: 100.0, cases.DURING: 50.0}
_MEMORY_AT_START_MB, _MEMORY_MB, _START_MS = 115.0, 165.0, 1000.0

Row = tuple[str, str, str, str, str]


def table(results: Sequence[Result], contest: Contest) -> str:
    """Return the table of every goal that this run says something about."""
    rates = {(result.case.name, result.case.server.name): result.median("rate") for result in results}
    rows: list[Row] = []
    for result in results:
        if result.case.server.name in (*TWO_WORKERS, *MANY_KEYS, *BY_MAIL, *OURS):
            rows += _rows(result, rates, contest.peers)
    return markdown(_COLUMNS, [*rows, *_of_processes(results, contest)])


def _rows(result: Result, rates: dict[tuple[str, str], float], peers: dict[str, str]) -> Iterator[Row]:
    name, server = result.case.name, result.case.server.name
    rate, peer = rates[name, server], rates.get((name, peers.get(server, "")))
    share = result.share()
    if server in TWO_WORKERS:
        if share:
            yield _least(f"{name}, times one worker", server, _SECOND_WORKER, share, "{:.2f}")
        return
    if server in MANY_KEYS:
        if share:
            yield _least(f"{name}, of that without retired keys", server, _FLAT, share, "{:.0%}")
        return
    if name in _PER_SECOND:
        yield _least(f"{name}, per second", server, _PER_SECOND[name], rate, "{:,.0f}")
    if name in _OF_OWN and share:
        beside = cases.BESIDE_OWN[name]
        yield _least(f"{name}, of {beside}", server, _OF_OWN[name], share, "{:.0%}")
    if name in _P99_MS_OF:
        yield _most(f"{name}, p99 ms", server, _P99_MS_OF[name], result.median("p99"))
    if name in _PEER and peer:
        yield _least(f"{name}, times Better Auth", server, _PEER[name], rate / peer, "{:.1f}")
    if name in _PAGES_OF_BARE and share:
        yield _least(f"{name}, of bare ASGI", server, _PAGES_OF_BARE[name], share, "{:.0%}")
    if name in cases.GET_SESSION and share:
        yield _least(f"{name}, of bare ASGI", server, _OF_BARE, share, "{:.0%}")
        yield _most(f"{name}, p99 ms", server, _P99_MS, result.median("p99"))
    if name in cases.SIGNING and share:
        yield _least(f"{name}, of hashes alone", server, _OF_HASHES, share, "{:.0%}")


def _of_processes(results: Sequence[Result], contest: Contest) -> Iterator[Row]:
    for server in contest.servers:
        if server.name not in OURS:
            continue
        yield _most("start to first answer, ms", server.name, _START_MS, server.start_time() * 1000)
        if "SQLite" in server.name:
            peaks = [run.memory for result in results if result.case.server is server for run in result.runs]
            yield _most("MB at the first answer", server.name, _MEMORY_AT_START_MB, server.memory_at_start)
            yield _most("MB at most", server.name, _MEMORY_MB, max(peaks, default=server.memory_at_start))


def _least(goal: str, server: str, least: float, measured: float, form: str) -> Row:
    return goal, server, f"≥ {form.format(least)}", form.format(measured), _yes(measured >= least)


def _most(goal: str, server: str, most: float, measured: float) -> Row:
    return goal, server, f"≤ {most:.0f}", f"{measured:.0f}", _yes(measured <= most)


def _yes(is_met: bool) -> str:
    return "yes" if is_met else "**no**"
