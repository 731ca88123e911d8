"""The documentation of emails."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from jinja2 import Environment, meta

from domain.mail.templates import templates
from handlers.templating import EXTENSION
from server.mail.preview import preview
from server.mail.templates import BUILT_IN, LAYOUTS, PARTS
from server.services import load_settings
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
ROW = re.compile(r"^\| `([a-z-]+)` \| ([^|]+) \| ([^|]*)\|$", re.MULTILINE)
NOW = datetime(2026, 11, 25, 10, 19, tzinfo=UTC)


def documented() -> dict[str, set[str]]:
    """Return the variables of each email, as the guide lists them; some are used by the layouts."""
    listed = {name: set(re.findall(r"`(\w+)`", variables)) for name, _, variables in ROW.findall(GUIDE)}
    return {name: variables - {"not_me_link"} for name, variables in listed.items()}


GUIDE = guide("customize-emails")


def used(*names: str) -> set[str]:
    """Return the variables that templates use."""
    environment = Environment(extensions=[EXTENSION], autoescape=True)
    sources = [(BUILT_IN / name).read_text("utf-8") for name in names]
    found = {name for source in sources for name in meta.find_undeclared_variables(environment.parse(source))}
    return found - {"gettext", "ngettext"}


def test_every_email_is_documented() -> None:
    assert tuple(sorted(documented())) == tuple(templates())


@pytest.mark.parametrize("message", templates())
def test_every_email_is_documented_with_its_variables(message: str, tmp_path: Path) -> None:
    mail = preview(load_settings({"GATEWRIGHT_PROFILE": "development"}, tmp_path), message, None, NOW)
    kinds = {name for name, value in (("link", mail.link), ("code", mail.code)) if value is not None}

    assert documented()[message] == (used(*(f"{message}/{part}" for part in PARTS)) | kinds) - COMMON


def test_the_variables_of_every_email_are_documented() -> None:
    assert used(*LAYOUTS) <= COMMON | {"link", "code", "self", "not_me_link"}
    assert all(f"`{name}`" in GUIDE for name in COMMON)
