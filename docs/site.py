"""The pages of the site that are generated when it is built, from SECURITY.md, changelog, errors and contract."""

from dataclasses import dataclass

from docs import commands, errors, operations
from docs.links import HOMES, PAGES, ROOT

_REFERENCE = """
# Reference

Made from the service itself each time this site is built, but for one page, so that it says what the service does.

| Page | Made from |
|---|---|
| [Operations](operations/index.md): what each takes and answers, with a command for curl | the contract, `openapi/` |
| [Objects](types.md): the fields of requests and answers | the contract |
| [Errors](errors.md): every code, what it means, and which operations answer it | `domain/` and the contract |
| [Settings](settings.md): every setting, its variable, default and meaning | the settings classes |
| [Commands](commands.md): what `gatewright` can do | the program |
| [Tools](tools.md): what others' linters and generators say of the document | hand, and held by the tests |
| [Changelog](../changelog.md) of the contract | `openapi/CHANGELOG.md` |
"""


@dataclass(frozen=True, slots=True)
class Made:
    """A page that is not in docs/pages: its path on the site, its text, and the file its links start from."""

    path: str
    text: str
    source: str


def made() -> list[Made]:
    """Give every page there is besides those in docs/pages."""
    generated = errors.pages() | operations.pages() | commands.pages() | {"reference/index.md": _REFERENCE}
    return [
        *(
            Made(path, _read(source), source)
            for source, path in HOMES.items()
            if source != "README.md"  # Its place is taken by a home page of the site's own.
        ),
        *(Made(path, text, PAGES + path) for path, text in generated.items()),
    ]


def _read(source: str) -> str:
    return (ROOT / source).read_text("utf-8")
