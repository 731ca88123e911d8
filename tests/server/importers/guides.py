"""The guides on moving in and out, and how their commands are typed."""

import re
import shlex

from tests.live import ROOT
from tests.server.terminal import Run

GUIDES = ROOT / "docs" / "pages" / "guides"
IMPORT, EXPORT = ((GUIDES / name).read_text("utf-8") for name in ("import.md", "export.md"))


def blocks(guide: str, heading: str) -> list[tuple[str, str]]:
    """Return the blocks under a heading, each with its language."""
    section = guide.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    assert section, heading
    return re.findall(r"```(\w+)\n(.*?)```", section, re.DOTALL)


def follow(run: Run, guide: str, heading: str) -> None:
    """Type the commands under a heading, and compare what they print with what is shown."""
    printed = ""
    for language, block in blocks(guide, heading):
        if language == "sh":
            [program, *words] = shlex.split(block)
            done = run(*words)
            assert program == "gatewright"
            assert done.exit_code in (0, 3), done.output
            printed = done.stdout
        elif language == "text":
            assert printed == block
