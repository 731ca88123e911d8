"""What the logs of the instances must not hold: defects, and reasons that the manual does not name."""

import json
import re
from collections.abc import Iterable, Iterator

from tests.live import ROOT

_MANUAL = ROOT / "docs/pages/operations/faults.md"
_REFUSALS = {"service_unavailable", "service.not_ready", "rate_limit.storage_unavailable"}
_REASON = re.compile(r"`([^`]+)`")


def log_faults(lines: Iterable[str]) -> Iterator[str]:
    """Yield a line for each defect, and each reason for a refused request that the table of the manual lacks."""
    reasons = set()
    for line in lines:
        if "Traceback" in line or '"level":"error"' in line:
            yield f"the log says {line.strip()}"
        elif line.startswith("{") and (record := json.loads(line))["event"] in _REFUSALS:
            reasons.add(record["reason"])
    for reason in sorted(reasons - documented_reasons()):
        yield f"the table of reasons lacks {reason}"


def documented_reasons() -> set[str]:
    """Return what the column `reason` of the manual names."""
    table = _MANUAL.read_text("utf-8").split("| `reason` | Meaning |\n", 1)[1].split("\n\n", 1)[0]
    rows = [row.split("|")[1] for row in table.splitlines()[1:]]
    return {reason for row in rows for reason in _REASON.findall(row)}
