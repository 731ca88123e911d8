"""The guides on moving in and out, and how their commands are typed."""

import shlex

from tests.docs.typing_in import blocks, guide
from tests.server.terminal import Run

IMPORT, EXPORT = guide("import"), guide("export")


def under(text: str, heading: str) -> str:
    """Return what stands under a heading."""
    section = text.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    assert section, heading
    return section


def follow(run: Run, text: str, heading: str) -> None:
    """Type the commands under a heading, and compare what they print with what is shown."""
    printed = ""
    for block in blocks(under(text, heading)):
        if block.language == "sh":
            [program, *words] = shlex.split(block.text)
            done = run(*words)
            assert program == "gatewright"
            assert done.exit_code in (0, 3), done.output
            printed = done.stdout
        elif block.language == "text":
            assert printed == block.text, printed
