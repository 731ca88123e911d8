"""The settings of the console, the pages for administrators."""

from collections.abc import Iterable, Iterator
from typing import Literal

from domain.console.policy import ConsolePolicy
from server.config.base import Group, Settings, fill
from server.config.groups.pages import PagesSettings, low_contrast
from server.config.value_types import OptionalColour, OptionalUrl, PagesPath, setting

_LABEL_BACKGROUND = "#ffffff"
"""The text colour of the label."""


class ConsoleSettings(Group):
    """`console.*`: pages for administrators."""

    key = "console"

    enabled: bool = setting(
        True,
        "Whether administrators can open the console, which responds with 404 to others; needs "
        "`pages.enabled`.",
    )
    path: PagesPath = setting("/console", "Path of the console, below `base_path`.")
    label: str = setting(
        "",
        "Name of the environment, such as staging, that is shown on every page of the console.",
        max_length=24,
    )
    label_colour: OptionalColour = setting(None, "Background of the label, as #rrggbb; the text is white.")
    home: Literal["overview", "users"] = setting("overview", "First page of the console.")
    docs_url: OptionalUrl = setting(
        None,
        "URL of the documentation site of Gatewright, which `make docs` builds; the settings in the "
        "console link to their reference there.",
    )
    page_size: int = setting(50, "Rows on one page of a list.", ge=10, le=100)

    def policies(self, settings: Settings) -> Iterable[object]:
        """Return the policy of the console, which needs the hosted pages to sign in."""
        return [fill(ConsolePolicy, self, enabled=self.enabled and settings[PagesSettings].enabled)]

    def problems(self, settings: Settings) -> Iterator[str]:
        """Yield a path that belongs to other pages, and a colour with too little contrast."""
        own, account = f"{self.path}/", f"{settings[PagesSettings].path}/"
        if self.enabled and (own.startswith(account) or account.startswith(own)):
            yield f"console.path: {self.path} and pages.path {settings[PagesSettings].path} must not contain each other"
        if self.label_colour is not None:
            yield from low_contrast("console.label_colour", self.label_colour, _LABEL_BACKGROUND)
