"""Commands as somebody types them, and the files they write."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from typer.testing import Result

Run = Callable[..., Result]


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def mode(path: Path) -> str:
    return oct(path.stat().st_mode & 0o777)
