"""The few forms of Markdown that generated pages are made of."""

from collections.abc import Iterable, Sequence


def code(text: str) -> str:
    """Return the text in the type of code."""
    return f"`{text}`"


def one_line(text: str) -> str:
    """Return a description fit for a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; its cells hold one line each."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def fenced(language: str, text: str) -> str:
    """Return a block of code."""
    return f"```{language}\n{text.rstrip()}\n```"


def folded(title: str, text: str) -> str:
    """Return a block that opens on a click; what belongs to it stands four blanks in."""
    return "\n".join((f'??? note "{title}"', "", *(f"    {line}".rstrip() for line in text.splitlines())))


def page(*parts: str) -> str:
    """Return a page of its parts, those left out that are empty."""
    return "\n\n".join(part.strip("\n") for part in parts if part.strip()) + "\n"
