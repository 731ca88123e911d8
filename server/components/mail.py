"""Previews of emails: the templates, rendered with example values."""

from datetime import datetime
from functools import cached_property

from jinja2 import TemplateError

from domain.mail.errors import BrokenMailTemplate
from domain.mail.templates import MailPreview, MailPreviews, templates
from server.components.component import Component, Core
from server.config.base import Settings
from server.mail import backends, preview
from server.mail.templates import TemplateRenderer


class Mail(Component):
    """The component that registers the previews of emails."""

    def __init__(self, core: Core) -> None:
        core.port.add(MailPreviews, Previews(core.settings))


class Previews:
    """Renders email templates with example values. Implements `domain.mail.templates.MailPreviews`."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    @cached_property
    def _renderer(self) -> TemplateRenderer:
        """The renderer; created when it is first used, because it reads all templates of the operator."""
        return backends.renderer(self._settings)

    def render(self, template: str, language: str, now: datetime) -> MailPreview:
        """Return the email of a template in one of the languages. Raises BrokenMailTemplate if rendering fails."""
        payload = preview.example(templates()[template], language, now)
        try:
            mail = self._renderer.render(backends.example_row(template, payload, now), now)
        except TemplateError as error:
            raise BrokenMailTemplate(f"The template cannot be rendered: {error}") from error
        return MailPreview(template, language, mail.subject, mail.text, mail.html)
