"""The settings of the console."""

from collections.abc import Iterable, Iterator
from typing import Literal

from pydantic import Field

from domain.console.policy import ConsolePolicy
from server.config.base import Group, Settings, fill
from server.config.groups.pages import PagesSettings, low_contrast
from server.config.value_types import OptionalColour, OptionalUrl, PagesPath

_LABEL_BACKGROUND = "#ffffff"
"""The text colour of the label."""


class ConsoleSettings(Group):
    """`console.*`: pages for administrators."""

    key = "console"

    enabled: bool = Field(
        default=True,
        description="Whether administrators have a console, which does not exist for others; needs `pages.enabled`.",
    )
    path: PagesPath = Field(default="/console", description="Its path, below `base_path`.")
    label: str = Field(
        default="",
        max_length=24,
        description="Name of the environment, such as staging, that is shown on every page of the console.",
    )
    label_colour: OptionalColour = Field(
        default=None, description="Background of the label, as #rrggbb; the text is white."
    )
    home: Literal["overview", "users"] = Field(default="overview", description="First page of the console.")
    docs_url: OptionalUrl = Field(
        default=None,
        description="URL of the documentation site of Gatewright, which `make docs` builds; the settings in the "
        "console link to their reference there.",
    )
    page_size: int = Field(default=50, ge=10, le=100, description="Rows on one page of a list.")

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
