"""Declarations of emails."""

import pytest

from domain.api_keys.mails import API_KEY_CREATED
from domain.localization import localization
from domain.mail.formats import COUNT, NAME, TIME
from domain.mail.messages import resolvers, resolves
from domain.mail.templates import MailTemplate, templates
from domain.two_factor.mails import SECOND_FACTOR_LOCKED


def test_a_name_is_declared_once() -> None:
    with pytest.raises(ValueError, match="the email 'otp' is declared twice"):
        MailTemplate("otp", "never")


@pytest.mark.parametrize("values", [{}, {"key_name": "", "key_start": "", "network": "", "until": ""}])
def test_only_declared_variables_are_queued(values: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="the variables of the email 'api-key-created' are not "):
        API_KEY_CREATED.encode(values)


def test_a_variable_that_an_older_version_did_not_queue_is_empty() -> None:
    shown = API_KEY_CREATED.display({"key_name": "www.evil.test", "key_start": None}, localization("en"))

    assert shown == {
        "key_name": NAME.display("www.evil.test", localization("en")),
        "key_start": "",
        "organization": "",
        "network": "",
    }


def test_a_time_is_shown_in_the_language_of_the_email() -> None:
    texts = SECOND_FACTOR_LOCKED.examples()

    shown = {
        language: SECOND_FACTOR_LOCKED.display(texts, localization(language))["until"]
        for language in ("en", "de")
    }
    assert shown == {"en": "25 November 2026, 10:34 UTC", "de": "25. November 2026, 10:34 UTC"}
    assert TIME.encode(SECOND_FACTOR_LOCKED.variables[0].example) == texts["until"]


def test_a_number_of_none_is_the_empty_text() -> None:
    assert [COUNT.encode(number) for number in (0, 12)] == ["", "12"]


def test_every_email_that_can_be_requested_has_a_resolver() -> None:
    requested = {name for name, template in templates().items() if template.on_request}

    assert resolvers().keys() == requested


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("otp", "the email 'otp' is not declared with on_request"),
        ("magic-link", "requests for the email 'magic-link' are resolved twice"),
    ],
)
def test_a_resolver_is_registered_once_and_only_for_an_email_that_can_be_requested(
    name: str, problem: str
) -> None:
    resolver = resolvers()["magic-link"]

    with pytest.raises(ValueError, match=problem):
        resolves(templates()[name])(resolver)
