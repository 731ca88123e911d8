"""The texts of hosted pages: errors in the language of the page, and texts of others apart from its own."""

import re
from pathlib import Path

import pytest

import handlers
from domain import errors
from domain.errors import Refusal, every_refusal
from domain.localization import LANGUAGES, localization
from handlers.pages import texts
from models.discovery import merged
from tests.conftest import MakeService
from tests.handlers.pages import SAME_ORIGIN, SETTINGS, Page
from tests.handlers.steps import join
from tests.service import BASE_URL, PASSWORD, Service

TEMPLATES = Path(handlers.__file__).parent / "pages/templates"
SIGN_IN = "/account/sign-in"
FORM = "application/x-www-form-urlencoded"
TRANSLATED = [language for language in LANGUAGES if language != "en"]
NAMES = {"Gatewright", "Error:", *LANGUAGES.values()}
"""Texts that are the same in English and another language."""

UNREADABLE = {
    "a body that is too large": ("POST", SIGN_IN, FORM, b"identifier=" + b"x" * 100_000),
    "a form that is not UTF-8": ("POST", SIGN_IN, FORM, b"identifier=%ff"),
    "another media type": ("POST", SIGN_IN, "application/json", b"{}"),
    "a field with U+0000": ("POST", SIGN_IN, FORM, b"identifier=a%00&password=b"),
    "a field of a button that is missing": ("POST", "/account/sign-in/provider", FORM, b""),
    "an unknown provider": ("POST", "/account/sign-in/provider", FORM, b"provider=nobody"),
    "a form of another site": ("POST", "/account/sign-up", FORM, b"name=Ada"),
    "a parameter that occurs twice": ("GET", f"{SIGN_IN}?callbackURL=a&callbackURL=b", FORM, b""),
    "a parameter that is not UTF-8": ("GET", f"{SIGN_IN}?callbackURL=%ff", FORM, b""),
    "a parameter that is too long": ("GET", f"{SIGN_IN}?reason={'x' * 65}", FORM, b""),
    "a parameter of another form": ("GET", f"{SIGN_IN}?callbackURL=%00", FORM, b""),
    "a target that is not trusted": ("GET", f"{SIGN_IN}?callbackURL=https://evil.example.com", FORM, b""),
    "an address that is too long": ("GET", f"{SIGN_IN}?callbackURL=/{'x' * 9000}", FORM, b""),
    "headers that are too large": ("GET", SIGN_IN, "x" * 20_000, b""),
    "a page that does not exist": ("GET", "/account/nowhere", FORM, b""),
    "a target that was changed": ("GET", "/account/leaving?target=x", FORM, b""),
}
"""Requests that are refused, and the page that says so: method, URL, media type and body."""


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    return await make_service(SETTINGS)


async def refused(service: Service, what: str, **headers: str) -> Page:
    """Send one of the requests above; return the page."""
    method, url, media_type, body = UNREADABLE[what]
    origin = {"Sec-Fetch-Site": "cross-site"} if "other site" in what else SAME_ORIGIN
    await service.get(SIGN_IN)  # A form is refused without the cookie of its page.
    answer = await service.client.request(
        method, url, content=body or None, headers={**origin, "Content-Type": media_type, **headers}
    )
    if answer.status_code == 303:
        return Page(await service.get(answer.headers["location"], headers=headers))
    assert answer.status_code >= 400
    return Page(answer)


def _raised(kind: type[Refusal]) -> Refusal:
    """Return a refusal with a message of its own, which only programs read."""
    if issubclass(kind, errors.ValidationError):
        return kind("in English alone", errors.Field("body", "", "in English alone"))
    refusal = kind.__new__(kind)
    refusal.message = "in English alone"
    return refusal


def sentences(page: Page) -> set[str]:
    """Return the sentences of a page, without codes and ids."""
    return {text for text in page.texts if not re.fullmatch(r"[A-Z_]+|[0-9a-f]{32}", text)}


class TestErrors:
    @pytest.mark.parametrize("what", UNREADABLE)
    async def test_speak_the_language_of_the_page(self, service: Service, what: str) -> None:
        english = sentences(await refused(service, what, **{"Accept-Language": "en"}))

        for language in TRANSLATED:
            page = await refused(service, what, **{"Accept-Language": language})

            assert (sentences(page) & english) - NAMES == set(), language
            assert page.language == language
            if language == "ar":
                latin = " ".join(sentences(page) - NAMES).replace("Gatewright", "")
                assert re.findall(r"[a-z]{3,}", latin) == []

    @pytest.mark.parametrize("what", UNREADABLE)
    async def test_name_no_field_of_the_contract(self, service: Service, what: str) -> None:
        page = await refused(service, what)

        assert not re.search(r"\[\w+\.\w+\]|callbackURL|JSON|query|body", page.text)

    @pytest.mark.parametrize("language", TRANSLATED)
    def test_are_all_translated(self, language: str) -> None:
        english, other = localization("en"), localization(language)
        for kind in every_refusal():
            refusal = _raised(kind)
            said = texts.sentence(english, refusal)

            assert "in English alone" not in said, kind
            assert texts.sentence(other, refusal) != said, kind

    async def test_keep_the_language_that_was_chosen_on_the_page(self, service: Service) -> None:
        came_from = {"Referer": f"{BASE_URL}{SIGN_IN}?ui_locales=fr", "Accept-Language": "en"}
        for what in ("a body that is too large", "a form that is not UTF-8"):
            assert (await refused(service, what, **came_from)).language == "fr", what

    async def test_keep_the_language_of_the_user(self, service: Service) -> None:
        token = await join(service)
        await service.post("/update-user", {"locale": "ar"})
        assert token

        for what in ("a body that is too large", "a page that does not exist", "an address that is too long"):
            assert (await refused(service, what, **{"Accept-Language": "en"})).language == "ar", what

    async def test_lead_on_and_not_to_the_same_error(self, service: Service) -> None:
        for what, (method, url, *_) in UNREADABLE.items():
            page = await refused(service, what)

            # Other headers may be small enough.
            may_work = method == "POST" or "headers" in what
            assert may_work or url not in page.links.values(), what


class TestSummary:
    """The summary of a refused form."""

    def test_every_field_has_a_label_there(self) -> None:
        asked = re.compile(r'\b(?:field|area|choice|lines|choices)\("(\w+)", ')
        fields = {
            name for path in TEMPLATES.rglob("*.html") for name in asked.findall(path.read_text("utf-8"))
        }

        assert fields - set(merged(handlers, "FIELD_LABELS")) == set()

    async def test_names_the_fields_that_it_is_about(self, service: Service) -> None:
        await service.get("/account/sign-up")
        filled_in = {"name": "x" * 257, "email": "", "password": PASSWORD, "user": ""}

        answer = await service.post("/account/sign-up", data=filled_in, headers=SAME_ORIGIN)

        page = Page(await service.get(answer.headers["location"]))
        assert "Name: This is too long." in page.text
        assert "Email address: Enter your email address." in page.text
