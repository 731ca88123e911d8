"""Generate the tables of emails and their variables in the guide "Customize emails": `python -m docs.emails
[--check]`."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docs.markdown import code, page, table
from domain.localization import localization
from domain.mail.templates import MailTemplate, Variable, templates

PAGE = Path(__file__).parent / "pages" / "guides" / "customize-emails.md"
_BEGIN = "<!-- The tables are written by `make reference` from the declarations in domain/*/mails.py. -->\n"
_END = "<!-- End of the tables. -->\n"

_COMPUTED = (
    (
        "`expires_in`, `expires_at`",
        "how long and until when a link or code is valid",
        "`1 hour`, `25 November 2026, 10:19 UTC`",
    ),
    (
        "`not_me_link`",
        "to an address that was never verified: the link that deletes an account created by another person; otherwise "
        "nothing. The layouts show it",
        "",
    ),
)
"""The variables that `server/mail/templates.py` computes."""


def text(current: str) -> str:
    """Return the guide with current tables. Raises ValueError if it has no place for them."""
    before, begin, rest = current.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise ValueError(f"{PAGE.name} has no line {(_END if begin else _BEGIN).strip()}")
    declared = templates().values()
    variables = {(each.name, each.meaning): each for template in declared for each in template.variables}
    tables = page(
        table(("Folder", "Sent when", "Its variables"), map(_template, declared)),
        table(
            ("Variable", "Content", "Example"),
            (*(_variable(variables[key]) for key in sorted(variables)), *_COMPUTED),
        ),
    )
    return f"{before}{begin}\n{tables}\n{end}{after}"


def _template(template: MailTemplate) -> tuple[str, str, str]:
    return code(template.name), template.sent_when, ", ".join(map(code, _names(template)))


def _names(template: MailTemplate) -> Iterator[str]:
    yield from (variable.name for variable in template.variables)
    if template.example_lifetime is not None:
        yield from ("expires_in", "expires_at")
    if template.not_me_link:
        yield "not_me_link"


def _variable(variable: Variable[Any]) -> tuple[str, str, str]:
    example = variable.format.display(variable.format.encode(variable.example), localization("en"))
    return code(variable.name), variable.meaning, code(example)


def main() -> None:
    """Write the tables; with --check, only return whether they are up to date, as the exit status."""
    current = PAGE.read_text("utf-8")
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(text(current), "utf-8")
    elif current != text(current):
        sys.exit(f"{PAGE.name} is not what domain/*/mails.py says: run make reference")


if __name__ == "__main__":
    main()
