"""Connexion's check of the contract at start, in a hundredth of its time.

Connexion asks a validator in Python, which takes a quarter of a second; here one in Rust asks the same schema. What
does not pass goes on to Connexion's, which says what is wrong. The defaults of a contract, which the schema cannot see,
are left to the tests: they send the contract through Connexion's own check.
"""

from typing import Any

from connexion.spec import OpenAPISpecification
from jsonschema_rs import Draft4Validator

thorough = OpenAPISpecification._validate_spec
"""Connexion's own check. Raises InvalidSpecification."""


def check_quickly() -> None:
    """Let Connexion check every contract this way from here on; it has no other way to be told."""
    OpenAPISpecification._validate_spec = classmethod(_validate)


def _validate(specification: type[OpenAPISpecification], document: dict[str, Any]) -> None:
    if not Draft4Validator(specification.openapi_schema).is_valid(document):
        thorough(document)
