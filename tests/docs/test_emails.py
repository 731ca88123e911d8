"""The documentation of emails, and the variables that their templates use."""

import pytest
from jinja2 import Environment, meta

from docs import emails
from domain.mail.templates import MailTemplate, templates
from handlers.templating import EXTENSION
from server.mail.templates import BUILT_IN, LAYOUTS, PARTS
from tests.docs.typing_in import guide

COMMON = {
    "app_name",
    "service",
    "localization",
    "accent",
    "accent_dark",
    "logo_url",
    "to",
    "name",
    "happened_at",
}
OF_LAYOUTS = {"link", "code", "not_me_link"}
GUIDE = guide("customize-emails")


def used(*names: str) -> set[str]:
    """Return the variables that templates use."""
    environment = Environment(extensions=[EXTENSION], autoescape=True)
    sources = [(BUILT_IN / name).read_text("utf-8") for name in names]
    found = {name for source in sources for name in meta.find_undeclared_variables(environment.parse(source))}
    return found - {"gettext", "ngettext"}


def test_the_tables_of_the_guide_are_those_of_the_declarations() -> None:
    assert emails.text(GUIDE) == GUIDE


def test_tables_are_replaced_where_the_guide_has_them() -> None:
    old = GUIDE.replace("| `otp` |", "| `one-time` |")

    assert emails.text(old) == GUIDE


def test_a_guide_without_a_place_for_the_tables_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"customize-emails\.md has no line <!-- The tables"):
        emails.text("# Customize emails\n")


@pytest.mark.parametrize("template", templates().values(), ids=templates())
def test_every_email_uses_the_variables_that_it_declares(template: MailTemplate) -> None:
    declared = {variable.name for variable in template.variables}
    # The link to the sign-in through an organization is a page, and does not expire.
    expires = bool(declared & {"link", "code"}) and template.name != "organization-sign-in"
    expiry = {"expires_in", "expires_at"} if expires else set()

    own = used(*(f"{template.name}/{part}" for part in PARTS)) - COMMON
    assert own | (declared & OF_LAYOUTS) == declared | expiry


def test_the_variables_of_every_email_are_documented() -> None:
    assert used(*LAYOUTS) <= COMMON | OF_LAYOUTS | {"self"}
    assert all(f"`{name}`" in GUIDE for name in COMMON)
