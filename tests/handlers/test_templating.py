"""Templates with languages."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from jinja2 import Environment
from markupsafe import escape

from domain.localization import LANGUAGES, localization
from handlers.templating import template_environment

INSTANT = datetime(2026, 11, 25, 22, 19, tzinfo=UTC)
MACROS = "{% macro forbidden() %}{{ _('Forbidden') }}{% endmacro %}"


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    (tmp_path / "macros").write_text(MACROS, "utf-8")
    return template_environment([tmp_path], autoescape=True)


def render(environment: Environment, source: str, language: str, **values: object) -> str:
    return environment.from_string(source).render(localization=localization(language), **values)


def test_one_environment_serves_all_languages(environment: Environment) -> None:
    shown = {render(environment, "{{ _('Invalid email or password') }}", language) for language in LANGUAGES}

    assert len(shown) == len(LANGUAGES)
    assert "E-Mail-Adresse oder Passwort ist falsch" in shown


@pytest.mark.parametrize("language", LANGUAGES)
def test_templates_of_one_language_say_the_same(
    tmp_path: Path, environment: Environment, language: str
) -> None:
    source = """{{ _("Sign in") }} {{ _('Password') if is_set else _("none") }} <a title="{{ _("Sign out") }}">
    {{ _("%(number)s of at least %(minimum)s characters", number=1, minimum=8) }}"""
    own = template_environment([tmp_path], autoescape=True, only=localization(language))

    assert render(own, source, language, is_set=True) == render(environment, source, language, is_set=True)


def test_macros_translate_too(environment: Environment) -> None:
    source = "{% from 'macros' import forbidden with context %}{{ forbidden() }}"

    assert render(environment, source, "de") == "Das ist nicht erlaubt"


def test_macros_of_one_language_need_no_context(tmp_path: Path, environment: Environment) -> None:
    own = template_environment([tmp_path], autoescape=True, only=localization("de"))
    source = "{% from 'macros' import forbidden %}{{ forbidden() }}"

    assert own.from_string(source).render() == "Das ist nicht erlaubt"


def test_values_are_escaped_and_blocks_are_trimmed(environment: Environment) -> None:
    source = "{% trans name=name %}\n  Hello {{ name }},\n  100% welcome\n{% endtrans %}"

    assert render(environment, source, "en", name="<b>") == "Hello &lt;b&gt;, 100% welcome"


def test_a_number_decides_on_the_plural(environment: Environment) -> None:
    source = "{% trans n=n %}{{ n }} key{% pluralize %}{{ n }} keys{% endtrans %}"

    assert [render(environment, source, "en", n=n) for n in (1, 2)] == ["1 key", "2 keys"]


def test_a_template_without_language_fails(environment: Environment) -> None:
    with pytest.raises(KeyError):
        environment.from_string("{{ _('Forbidden') }}").render()


@pytest.mark.parametrize(
    ("language", "instant", "day", "span", "number"),
    [
        ("en", "25 November 2026, 22:19 UTC", "25 November 2026", "2 days", "12,345"),
        ("de", "25. November 2026, 22:19 UTC", "25. November 2026", "2 Tage", "12.345"),
        ("pt-BR", "25 de novembro de 2026 22:19 UTC", "25 de novembro de 2026", "2 dias", "12.345"),
        ("ar", "25 نوفمبر 2026، 10:19 م UTC", "25 نوفمبر 2026", "يومان", "12,345"),
    ],
)
def test_dates_durations_and_numbers_are_those_of_the_language(
    environment: Environment, language: str, instant: str, day: str, span: str, number: str
) -> None:
    values = {"at": INSTANT, "day": date(2026, 11, 25), "span": timedelta(days=2), "number": 12345}
    source = (
        "{{ at|format_datetime }}|{{ day|format_date }}|{{ span|format_duration }}|{{ number|format_number }}"
    )

    assert render(environment, source, language, **values) == f"{instant}|{day}|{span}|{number}"


@pytest.mark.parametrize(
    ("language", "exact", "ago"),
    [
        ("en", "25 November 2026, 22:19 UTC", "3 hours ago"),
        ("de", "25. November 2026, 22:19 UTC", "vor 3 Stunden"),
    ],
)
def test_how_long_ago_something_was_has_the_exact_time_beside_it(
    environment: Environment, language: str, exact: str, ago: str
) -> None:
    now = INSTANT + timedelta(hours=3)

    shown = render(environment, "{{ at|ago(now) }}", language, at=INSTANT, now=now)

    assert shown == f'<time datetime="{INSTANT.isoformat()}" title="{exact}">{ago}</time>'


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_time_has_a_character_that_html_would_need_escaped(language: str) -> None:
    words = localization(language)
    texts = [words.format_ago(INSTANT, INSTANT)]
    for days in range(0, 800, 7):
        moment = INSTANT + timedelta(days=days, hours=days % 24)
        texts += [words.format_datetime(moment), words.format_ago(INSTANT, moment)]
        texts += [words.format_ago(moment + timedelta(seconds=days), moment)]

    assert [text for text in texts if str(escape(text)) != text] == []
