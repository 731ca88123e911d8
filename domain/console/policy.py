"""Policy for the console, from the operator's settings."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class ConsolePolicy:
    """Whether administrators have a console, and its appearance."""

    enabled: bool
    path: str
    """The path of the overview, below `base_path`; all other pages are below it."""
    label: str
    """The environment that is shown on every page, such as `staging`; empty for none."""
    label_colour: str | None
    """The colour of the label, as `#rrggbb`."""
    home: Literal["overview", "users"]
    """The page that the console opens first."""
    docs_url: str | None
    """The documentation site of the service, to whose reference the page of the settings links."""
    page_size: int
    """Rows on one page of a list."""
