"""The generated pages of the site: CONTRIBUTING.md, SECURITY.md, changelogs, errors, contract."""

from dataclasses import dataclass

from docs import commands, errors, operations, webhook_events
from docs.links import HOMES, PAGES, ROOT

_REFERENCE = """
# Reference

Every page except the changelogs and the pages on products and tools is generated from the code, so it matches the
service.

| Page | Source |
|---|---|
| [API operations](operations/index.md): requests, responses, errors, curl examples | the OpenAPI document, `openapi/` |
| [Objects](types.md): the fields of requests and responses | the OpenAPI document |
| [Errors](errors.md): every code, its meaning, and the operations that return it | `domain/` and the OpenAPI document |
| [Webhook events](webhook-events.md): every event, its fields and an example | the OpenAPI document |
| [Settings](settings.md): every setting with its variable, default and meaning | the settings classes |
| [Commands](commands.md): all commands of `gatewright` | the program |
| [Products](products.md): settings of well-known products that sign users in here | written by hand, with sources |
| [Tools](tools.md): results of third-party linters and generators | written by hand, checked by the tests |
| [Changelog](changelog.md) of the OpenAPI document | `openapi/CHANGELOG.md` |
| [Changelog](../changelog.md) of Gatewright | `CHANGELOG.md` |
"""


@dataclass(frozen=True, slots=True)
class SitePage:
    """A page that is not in docs/pages: its path on the site, its text, and the file its links are relative to."""

    path: str
    text: str
    source: str


def generated_pages() -> list[SitePage]:
    """Return every page in addition to those in docs/pages."""
    generated = {
        **errors.pages(),
        **operations.pages(),
        **commands.pages(),
        **webhook_events.pages(),
        "reference/index.md": _REFERENCE,
    }
    return [
        *(
            SitePage(path, _read(source), source)
            for source, path in HOMES.items()
            if source != "README.md"  # Its place is taken by a home page of the site's own.
        ),
        *(SitePage(path, text, PAGES + path) for path, text in generated.items()),
    ]


def _read(source: str) -> str:
    return (ROOT / source).read_text("utf-8")
