"""Hosted pages: the check of the operator's own templates."""

from collections.abc import Iterator

from handlers.pages.environment import template_error
from server.components.component import Component
from server.config.base import Settings
from server.config.groups.pages import PagesSettings


class Pages(Component):
    """The component that checks the templates in `pages.templates_dir` before the service starts."""

    @classmethod
    def check(cls, settings: Settings) -> Iterator[str]:
        """Yield the problems of the templates in `pages.templates_dir`."""
        folder = settings[PagesSettings].templates_dir
        if folder is None or not folder.is_dir():
            return
        if (fault := template_error(folder)) is not None:
            yield f"pages.templates_dir: {fault}"
