"""Languages: which one a person reads."""

from datetime import UTC, datetime, timedelta

import pytest

from domain.localization import LANGUAGES, localization, negotiate, supported


@pytest.mark.parametrize(
    ("tag", "language"),
    [
        ("de", "de"),
        ("de-AT", "de"),
        ("de_CH", "de"),
        ("PT-br", "pt-BR"),
        ("pt", "pt-BR"),
        ("pt-PT", "pt-BR"),
        ("ar-EG", "ar"),
        ("nl", None),
        ("d", None),
        ("", None),
        (None, None),
    ],
)
def test_a_tag_is_served_by_its_language(tag: str | None, language: str | None) -> None:
    assert supported(tag) == language


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("fr;q=0.3, de;q=0.8, *;q=0.1", "de"),
        ("de;q=0, fr", "fr"),
        ("de;q=2, ;;;, fr", "fr"),
        ("*", "en"),
        ("x" * 10_000, "en"),
    ],
)
def test_the_browser_weighs_its_languages(header: str, language: str) -> None:
    assert negotiate(accept_language=header) == language


def test_arabic_is_written_from_right_to_left() -> None:
    assert {tag for tag in LANGUAGES if localization(tag).direction == "rtl"} == {"ar"}


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (180, "3 minutes"),
        (3600, "1 hour"),
        (3599.4, "1 hour"),
        (5400, "90 minutes"),
        (7200, "2 hours"),
        (76_620, "21 hours"),
        (86_400, "24 hours"),
        (172_800, "2 days"),
        (604_800, "7 days"),
        (3, "1 minute"),
        (60, "1 minute"),
    ],
)
def test_time_spans_read_like_language(seconds: float, words: str) -> None:
    assert localization("en").format_duration(timedelta(seconds=seconds)) == words


@pytest.mark.parametrize(
    ("language", "word"),
    [
        ("en", "now"),
        ("de", "jetzt"),
        ("fr", "à l\N{RIGHT SINGLE QUOTATION MARK}instant"),
        ("es", "ahora"),
        ("pt-BR", "agora"),
        ("ar", "الآن"),
    ],
)
def test_what_happens_now_is_not_in_0_seconds(language: str, word: str) -> None:
    now = datetime(2026, 1, 1, 12, tzinfo=UTC)

    assert localization(language).format_ago(now, now) == word
    assert localization(language).format_ago(now - timedelta(milliseconds=900), now) == word


def test_a_second_has_a_direction() -> None:
    now = datetime(2026, 1, 1, 12, tzinfo=UTC)

    assert localization("en").format_ago(now - timedelta(seconds=1), now) == "1 second ago"
    assert localization("en").format_ago(now + timedelta(seconds=1), now) == "in 1 second"
