"""Operation ids of the published document."""

from pathlib import Path

from codegen.bundle import bundle
from codegen.operation_ids import bare_ids, flat_ids
from codegen.walk import operations

INDEX = Path(__file__).parent / "contract" / "openapi.yaml"


def test_dots_become_underscores() -> None:
    document = flat_ids(bundle(index=INDEX))

    assert [operation.spec["operationId"] for operation in operations(document)] == [
        "doors_get_one",
        "doors_open_all",
    ]


def test_links_follow() -> None:
    answer = flat_ids(bundle(index=INDEX))["paths"]["/doors/{door}"]["get"]["responses"]["200"]

    assert answer["links"]["open"]["operationId"] == "doors_open_all"


def test_bare_ids_leave_the_tag_and_links_out() -> None:
    document = bare_ids(bundle(index=INDEX))

    assert [operation.spec["operationId"] for operation in operations(document)] == ["get_one", "open_all"]
    assert "links" not in document["paths"]["/doors/{door}"]["get"]["responses"]["200"]
    assert "links" not in document["components"]
