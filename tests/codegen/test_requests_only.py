"""The contract without its answers still says everything of requests."""

from openapi_spec_validator import validate

from codegen.bundle import bundle
from codegen.client_forms import for_programs
from codegen.requests_only import without_answers
from codegen.walk import operations


def test_every_operation_keeps_all_but_what_it_answers() -> None:
    document = bundle()

    kept = {(one.method, one.path): one.spec for one in operations(without_answers(document))}

    for one in operations(document):
        spared = kept[one.method, one.path]
        assert {**spared, "responses": None} == {**one.spec, "responses": None}
        assert list(spared["responses"]) == ["400" if "400" in one.spec["responses"] else "default"]


def test_no_reference_leads_nowhere() -> None:
    validate(without_answers(bundle()))


def test_no_schema_is_kept_that_only_answers_are_made_of() -> None:
    document = for_programs(bundle())
    schemas = without_answers(document)["components"]["schemas"]

    assert "SignInEmailRequest" in schemas
    assert "Error" not in schemas
    assert len(schemas) < len(document["components"]["schemas"]) / 2
