"""Jinja with languages: what the templates of pages and of emails have in common.

Each template is rendered with the variable `localization`, a `domain.localization.Localization`: one Environment serves
all languages. `{% trans %}`, `_()`, `gettext()` and `ngettext()` translate; the filters `format_date`,
`format_datetime`, `format_duration` and `format_number` write values as people of the language do. A macro that needs
them is imported `with context`.
"""

from collections.abc import Callable
from datetime import date, datetime, timedelta

from jinja2 import Environment, pass_context
from jinja2.runtime import Context
from markupsafe import Markup

from domain.localization import Localization

EXTENSION = "jinja2.ext.i18n"


def localize(environment: Environment) -> None:
    """Make an environment translate: placeholders are those of `%(name)s`, and blocks of `{% trans %}` are trimmed."""
    environment.add_extension(EXTENSION)
    environment.policies["ext.i18n.trimmed"] = True
    install: Callable[..., None] = environment.install_gettext_callables  # type: ignore[attr-defined]
    install(_gettext, _ngettext, newstyle=True)
    # Those of the extension take four calls for a text, which was a tenth of the time of a page.
    environment.globals |= {"_": _gettext, "gettext": _gettext}
    environment.filters |= {
        "format_date": _format_date,
        "format_datetime": _format_datetime,
        "format_duration": _format_duration,
        "format_number": _format_number,
    }


def _localization(context: Context) -> Localization:
    """Return the variable `localization`. Raises KeyError where a template is rendered without it."""
    found: Localization = context["localization"]
    return found


@pass_context
def _gettext(context: Context, text: str, /, **values: object) -> str:
    found = _localization(context).gettext(text)
    if context.eval_ctx.autoescape:
        found = Markup(found)  # noqa: S704 - from the catalogs, as Jinja does it
    return found % values if "%" in found else found


@pass_context
def _ngettext(context: Context, singular: str, plural: str, number: int) -> str:
    return _localization(context).ngettext(singular, plural, number)


@pass_context
def _format_date(context: Context, moment: date) -> str:
    return _localization(context).format_date(moment)


@pass_context
def _format_datetime(context: Context, instant: datetime) -> str:
    return _localization(context).format_datetime(instant)


@pass_context
def _format_duration(context: Context, span: timedelta) -> str:
    return _localization(context).format_duration(span)


@pass_context
def _format_number(context: Context, number: int) -> str:
    return _localization(context).format_number(number)
