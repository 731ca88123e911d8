"""The contract as a referee of webhooks: every delivered body is held against the schema of its event."""

from functools import cache
from typing import Any

import orjson
from jsonschema_rs import Draft202012Validator

from codegen.bundle import bundle
from codegen.version_3_1 import to_3_1
from codegen.walk import inside
from codegen.webhooks import schemas
from tests.contract.json_schemas import with_components

Document = dict[str, Any]


@cache
def contract() -> Document:
    """The published document in version 3.1; it must not be modified."""
    return to_3_1(bundle())


def check_webhook(document: Document, body: bytes) -> None:
    """Raise an AssertionError that says what is wrong with the body of a delivery.

    `document` is of version 3.1. Receivers ignore members that they do not know; here every member must be in the
    contract.
    """
    try:
        event = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise AssertionError(f"the body is no JSON: {body!r}") from error
    known = schemas(document)
    assert isinstance(event, dict), f"an event is an object: {body!r}"
    type_ = event.get("type")
    assert type_ in known, f"{type_!r} is no event of the contract: {body!r}"
    schema = with_components(known[type_], document)
    components = schema["components"]["schemas"]
    schema["components"]["schemas"] = {name: inside(one, _closed) for name, one in components.items()}
    faults = [
        f"{'.'.join(map(str, fault.instance_path))}: {fault.message}"
        for fault in Draft202012Validator(schema).iter_errors(event)
    ]
    assert not faults, f"{type_}: {'; '.join(faults)}; {body!r}"


def _closed(schema: Document) -> Document:
    return {"additionalProperties": False, **schema} if "properties" in schema else schema
