"""Declarations of emails.

A capability declares its emails in `mails.py`, each with a function that queues it. The outbox, the renderer, the guide
"Customize emails" and `gatewright mail preview` use the declarations. The files of a template are in
`server/templates/email/<name>/`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Generic, NamedTuple, Protocol

import domain
from domain.localization import Localization
from domain.mail.formats import TEXT, Format, Value
from models.discovery import import_modules

_EXAMPLE_LIFETIMES = {"link": timedelta(hours=1), "code": timedelta(minutes=5)}
_TEMPLATES: "dict[str, MailTemplate]" = {}


@dataclass(frozen=True, slots=True)
class Variable(Generic[Value]):
    """A variable of some emails. Those that every email has, such as `app_name`, are not declared."""

    name: str
    format: Format[Value]
    meaning: str
    """The description of the variable in the guide."""
    example: Value
    """The value of the variable in previews."""


CODE = Variable("code", TEXT, "the code", "492039")
NETWORK = Variable(
    "network", TEXT, "the network address that the change was made from; may be empty", "203.0.113.7"
)


def link_to(page: str) -> Variable[str | None]:
    """Return the variable `link` of a template. Its example value is the URL of `page`, such as `verify-email`."""
    example = f"https://auth.example.com/account/{page}?token=Rq7Wn2Xv9Lk4Bt8Zc1Mf5Hy3Jd6Gp0Sa"
    return Variable("link", TEXT, "the link", example)


class MailPreview(NamedTuple):
    """An email with example values."""

    template: str
    language: str
    subject: str
    text: str
    html: str


class MailPreviews(Protocol):
    """The templates of emails, rendered with example values."""

    def render(self, template: str, language: str, now: datetime) -> MailPreview:
        """Return the email of a declared template in one of the languages. Raises BrokenMailTemplate."""


@dataclass(frozen=True, slots=True)
class MailTemplate:
    """The template of an email. Creating an instance registers it."""

    name: str
    sent_when: str
    """When the email is sent, as text for the guide."""
    variables: tuple[Variable[Any], ...] = ()
    not_me_link: bool = False
    """Whether the email has a link that deletes the user if the address is unverified (`disown_links.py`)."""
    on_request: bool = False
    """Whether clients without a session can request the email."""

    def __post_init__(self) -> None:
        """Register the template. Raises ValueError if the name is already registered."""
        if self.name in _TEMPLATES:
            raise ValueError(f"the email {self.name!r} is declared twice")
        _TEMPLATES[self.name] = self

    @property
    def example_lifetime(self) -> timedelta | None:
        """The lifetime of the link or code in previews; None for an email without one."""
        lifetimes = (_EXAMPLE_LIFETIMES.get(variable.name) for variable in self.variables)
        return next(filter(None, lifetimes), None)

    def encode(self, values: Mapping[str, object]) -> dict[str, str]:
        """Return the text of each value for the outbox. Raises ValueError unless `values` has exactly the variables."""
        if values.keys() != {variable.name for variable in self.variables}:
            raise ValueError(
                f"the variables of the email {self.name!r} are not {', '.join(values) or 'none'}"
            )
        return {variable.name: variable.format.encode(values[variable.name]) for variable in self.variables}

    def examples(self) -> dict[str, str]:
        """Return the texts of the example values."""
        return self.encode({variable.name: variable.example for variable in self.variables})

    def display(self, texts: Mapping[str, str | None], localization: Localization) -> dict[str, str]:
        """Return what the template shows for each variable; `texts` are those from the outbox.

        A variable that is not in `texts` is shown as an empty text: an older version queued the email without it.
        """
        return {
            variable.name: variable.format.display(text, localization) if text else ""
            for variable in self.variables
            for text in (texts.get(variable.name),)
        }


@cache
def templates() -> Mapping[str, MailTemplate]:
    """Return the templates of all capabilities, by name and in the order of the names."""
    import_modules(domain, except_for=domain.LOADED_LATER)
    return dict(sorted(_TEMPLATES.items()))
