"""The elements of Markdown that generated pages use."""

from collections.abc import Iterable, Sequence


def code(text: str) -> str:
    """Return the text as inline code."""
    return f"`{text}`"


def one_line(text: str) -> str:
    """Return a description as one line, for a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; every cell is one line."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def fenced(language: str, text: str) -> str:
    """Return a block of code."""
    return f"```{language}\n{text.rstrip()}\n```"


def folded(title: str, text: str) -> str:
    """Return a block that opens on a click; its content is indented by four spaces."""
    return "\n".join((f'??? note "{title}"', "", *(f"    {line}".rstrip() for line in text.splitlines())))


def page(*parts: str) -> str:
    """Return a page from its parts, without the empty ones."""
    return "\n\n".join(part.strip("\n") for part in parts if part.strip()) + "\n"
