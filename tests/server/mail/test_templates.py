"""What a mail says, and what strangers cannot make it say."""

import re
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path

import pytest
from jinja2 import TemplateError
from jinja2.exceptions import SecurityError

from domain.localization import LANGUAGES
from domain.mail.formats import shown_name
from domain.mail.outbox import LeasedMail
from domain.mail.templates import templates
from server.mail.templates import BUILT_IN, PARTS, Brand, TemplateRenderer

NOW = datetime(2026, 3, 4, 9, 26, tzinfo=UTC)
LINK = "https://auth.example.com/verify-email?token=abc&callbackURL=%2Fwelcome"
TEMPLATES = tuple(templates())
WITH_LINK = ("reset-password", "verify-email", "change-email", "delete-account")


class Links(HTMLParser):
    """Collects where an HTML text leads to, and its tags."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.targets: list[str | None] = []
        self.tags: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.targets += [value for key, value in attrs if key in ("href", "src")]


def claim(template: str, **more: str | None) -> LeasedMail:
    """Return a mail that is to be sent; `more` adds to its payload, or replaces what is in it."""
    has_link = template in WITH_LINK
    expires = (NOW + timedelta(hours=24)).isoformat() if has_link else None
    payload = {
        "to": "ada@example.com",
        "name": "Ada",
        "link": LINK if has_link else None,
        "code": None,
        "expires": expires,
    }
    return LeasedMail(
        id="i" * 32,
        template=template,
        sender="smtp",
        attempts=1,
        created_at=NOW,
        expires_at=NOW + timedelta(hours=24),
        payload={**payload, **more},
    )


@pytest.fixture(scope="module")
def renderer() -> TemplateRenderer:
    return TemplateRenderer("Gatewright", "https://auth.example.com", "Gatewright <no-reply@example.com>")


def test_every_template_is_declared_and_has_its_files() -> None:
    declared = {f"{template}/{part}" for template in TEMPLATES for part in PARTS}

    assert {path.relative_to(BUILT_IN).as_posix() for path in BUILT_IN.glob("*/*")} == declared


@pytest.mark.parametrize("template", TEMPLATES)
class TestEveryMessage:
    def test_has_subject_text_and_html_and_leads_nowhere_but_to_its_link(
        self, renderer: TemplateRenderer, template: str
    ) -> None:
        """And says how long that lives."""
        mail = renderer.render(claim(template), NOW + timedelta(hours=3))

        assert mail.to == "ada@example.com"
        assert mail.subject
        assert "\n" not in mail.subject
        assert mail.text.startswith("Hello Ada,\n\n")
        assert "Gatewright (auth.example.com)" in " ".join(mail.text.split())
        assert "Hello Ada," in mail.html
        assert "{" not in mail.text
        has_link = template in WITH_LINK
        assert Links(mail.html).targets == ([LINK, LINK] if has_link else [])
        assert (f"\n{LINK}\n" in mail.text) == has_link
        assert mail.link == (LINK if has_link else None)
        assert ("21 hours" in mail.text, "21 hours" in mail.html) == (has_link, has_link)
        assert ("5 March 2026, 09:26 UTC" in " ".join(mail.text.split())) == has_link

    def test_greets_without_a_name(self, renderer: TemplateRenderer, template: str) -> None:
        mail = renderer.render(claim(template, name=""), NOW)

        assert mail.text.startswith("Hello,\n\n")
        assert "Hello," in mail.html

    def test_a_name_is_neither_markup_nor_template_and_cannot_break_the_line(
        self, renderer: TemplateRenderer, template: str
    ) -> None:
        plain = renderer.render(claim(template), NOW)

        mail = renderer.render(claim(template, name="<a href=https://evil.test>x</a> {{7*7}} ${7*7}"), NOW)
        assert Links(mail.html).targets == Links(plain.html).targets
        assert "&lt;a href=" in mail.html
        for text in (mail.text, mail.html):
            assert "{{7*7}} ${7*7}" in text
            assert "https://evil" not in text
            assert "evil.test" not in text

        mail = renderer.render(claim(template, name="x\r\nBcc: e@evil.test\u2028Hi\x85you\x00"), NOW)
        assert mail.subject == plain.subject
        assert mail.text.splitlines()[0].startswith("Hello x Bcc: e@evil")
        assert "Hi you," in mail.text.splitlines()[0]
        assert not {"\u2028", "\x85", "\x00"} & set(mail.text + mail.html)


class TestSecondFactor:
    def test_a_code_stands_alone_on_its_line_and_never_in_the_subject(
        self, renderer: TemplateRenderer
    ) -> None:
        expires = (NOW + timedelta(minutes=3)).isoformat()
        mail = renderer.render(claim("otp", code="492039", expires=expires), NOW)

        assert "\n    492039\n" in mail.text
        assert ">492039<" in mail.html
        assert "492039" not in mail.subject
        assert (mail.code, mail.link) == ("492039", None)
        assert "3 minutes" in mail.text
        assert "09:29 UTC" in mail.text

    @pytest.mark.parametrize("switched", ["on", "off"])
    def test_a_change_says_which(self, renderer: TemplateRenderer, switched: str) -> None:
        mail = renderer.render(claim("two-factor-changed", switched=switched), NOW)

        for text in (mail.text, mail.html):
            assert f"was turned {switched} for your Gatewright account" in " ".join(text.split())
        assert mail.subject == "Two-factor sign-in was changed"

    def test_a_lock_says_until_when(self, renderer: TemplateRenderer) -> None:
        until = (NOW + timedelta(minutes=15)).isoformat()
        mail = renderer.render(claim("second-factor-locked", until=until), NOW)

        assert "until 4 March 2026, 09:41 UTC" in " ".join(mail.text.split())
        assert "until 4 March 2026, 09:41 UTC" in mail.html


class TestName:
    def test_ordinary_names_stay_as_they_are(self) -> None:
        for name in (
            "Ada Lovelace",
            "J. R. R. Tolkien",
            "Zoë O'Neill-Žižek",
            "Ngũgĩ wa Thiong'o",
            "李小龍",
            "",
        ):
            assert shown_name(name) == name

    def test_what_mail_programs_would_turn_into_a_link_is_broken_up(self) -> None:
        assert shown_name("https://evil.test/x") == "https:\u2060//evil\u2060.test/x"
        assert shown_name("www.evil.test") == "www\u2060.evil\u2060.test"
        for dot in ("\u3002", "\uff0e", "\uff61"):
            assert shown_name(f"evil{dot}test") == f"evil\u2060{dot}test"

    def test_long_names_are_cut(self) -> None:
        assert shown_name("a" * 64) == "a" * 64
        assert shown_name("a" * 65) == "a" * 63 + "…"

    def test_invisible_characters_go_and_joiners_stay(self) -> None:
        assert shown_name("a\u202eb\u2066c") == "abc"
        assert shown_name("👩\u200d💻") == "👩\u200d💻"


@pytest.mark.parametrize("language", LANGUAGES)
class TestLanguages:
    @pytest.mark.parametrize("template", TEMPLATES)
    def test_every_message_is_in_the_language_of_its_reader(
        self, renderer: TemplateRenderer, template: str, language: str
    ) -> None:
        english, mail = (renderer.render(claim(template, locale=tag), NOW) for tag in ("en", language))

        if language != "en":
            assert mail.subject != english.subject
            paragraphs = set(english.text.split("\n\n")) & set(mail.text.split("\n\n"))
            # The type of a DNS record has one name in all languages.
            assert paragraphs <= {LINK, "TXT"}
        direction = "rtl" if language == "ar" else "ltr"
        assert f'<html lang="{language}" dir="{direction}">' in mail.html
        assert Links(mail.html).targets == Links(english.html).targets
        assert "%(" not in mail.subject + mail.text + mail.html

    def test_a_language_that_is_unknown_is_that_of_the_service(self, language: str) -> None:
        renderer = TemplateRenderer("G", "https://auth.example.com", "no-reply@example.com", locale=language)

        tags: tuple[dict[str, str | None], ...] = (
            {},
            {"locale": None},
            {"locale": "nl"},
            {"locale": language},
        )
        mails = [renderer.render(claim("verify-email", **tag), NOW) for tag in tags]

        assert {mail.text for mail in mails} == {mails[0].text}


def test_dates_and_durations_are_those_of_the_language(renderer: TemplateRenderer) -> None:
    mail = renderer.render(claim("reset-password", locale="de"), NOW)

    assert "für 24 Stunden gültig (bis 5. März 2026, 09:26 UTC)" in " ".join(mail.text.split())


def test_the_brand_is_in_every_html() -> None:
    brand = Brand("#0a6b2c", "#aaffbb", "https://auth.example.com/logo.png")
    renderer = TemplateRenderer("Acme", "https://auth.example.com", "no-reply@example.com", brand=brand)

    html = renderer.render(claim("verify-email"), NOW).html

    assert 'bgcolor="#0a6b2c"' in html
    assert ".link { color: #aaffbb !important; }" in html
    assert '<img src="https://auth.example.com/logo.png" alt="Acme"' in html


class TestReplacements:
    def renderer(self, directory: Path) -> TemplateRenderer:
        return TemplateRenderer("Acme", "https://auth.example.com", "no-reply@example.com", directory)

    def write(self, directory: Path, name: str, text: str) -> None:
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def test_replace_single_files_and_are_escaped_too(self, tmp_path: Path) -> None:
        self.write(tmp_path, "verify-email/subject.txt", "Welcome to {{ app_name }}\n")
        self.write(tmp_path, "verify-email/body.txt", "{{ name }}: {{ link }}")
        self.write(tmp_path, "reset-password/body.html", "<p>{{ name }}</p>")
        renderer = self.renderer(tmp_path)

        mail = renderer.render(claim("verify-email", name="<b>"), NOW)

        assert mail.subject == "Welcome to Acme"
        assert mail.text == f"<b>: {LINK}\n"
        assert "Confirm my address" in mail.html
        assert renderer.render(claim("reset-password", name="<b>"), NOW).html == "<p>&lt;b&gt;</p>"

    def test_one_language_can_have_its_own(self, tmp_path: Path) -> None:
        self.write(tmp_path, "verify-email/subject.txt", "Welcome")
        self.write(tmp_path, "de/verify-email/subject.txt", "Willkommen")
        self.write(tmp_path, "de/layout.txt", "Guten Tag: {% block message %}{% endblock %}")
        renderer = self.renderer(tmp_path)

        german, french, english = [
            renderer.render(claim("verify-email", locale=language), NOW) for language in ("de", "fr", "en")
        ]

        assert [german.subject, french.subject, english.subject] == ["Willkommen", "Welcome", "Welcome"]
        assert german.text.startswith("Guten Tag: Bitte bestätigen Sie")
        assert french.text.startswith("Bonjour Ada,")

    def test_they_can_use_the_translations(self, tmp_path: Path) -> None:
        self.write(tmp_path, "verify-email/body.txt", "{{ _('Sign in') }} {{ localization.language }}")

        mail = self.renderer(tmp_path).render(claim("verify-email", locale="es"), NOW)

        assert mail.text == "Iniciar sesión es\n"

    @pytest.mark.parametrize("name", ["verify-email/body.txt", "ar/verify-email/body.txt"])
    def test_a_broken_one_is_named_at_start(self, tmp_path: Path, name: str) -> None:
        self.write(tmp_path, name, "{% if %}")

        with pytest.raises(TemplateError, match=rf"{re.escape(name)}, line 1: [^\n]+$"):
            self.renderer(tmp_path)

    def test_one_that_is_not_utf_8_is_named_at_start(self, tmp_path: Path) -> None:
        self.write(tmp_path, "verify-email/body.txt", "")
        (tmp_path / "verify-email" / "body.txt").write_bytes(b"Gr\xfc\xdfe")

        with pytest.raises(TemplateError, match=r"^verify-email/body\.txt: [^\n]+$"):
            self.renderer(tmp_path)

    def test_they_run_in_a_sandbox(self, tmp_path: Path) -> None:
        self.write(tmp_path, "verify-email/body.txt", "{{ ''.__class__.__mro__ }}")

        with pytest.raises(SecurityError):
            self.renderer(tmp_path).render(claim("verify-email"), NOW)
