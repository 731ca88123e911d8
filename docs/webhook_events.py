"""Generate the reference of the events that webhooks deliver, from the OpenAPI document."""

from typing import Any

import orjson

from codegen.bundle import bundle
from codegen.walk import resolve
from codegen.webhooks import requests, schemas
from docs.markdown import code, fenced, folded, one_line, page, table
from docs.schemas import Reading

PAGE = "reference/webhook-events.md"

Document = dict[str, Any]

_INTRODUCTION = """
# Webhook events

A webhook request is a POST with a JSON body, an **event**: `type` says what happened, `timestamp` when, and `data` to
whom and by whom. `data.user` is the user with the fields that the setting `webhooks.user_fields` chooses;
`data.actorId` is the signed-in user who did it, or null. Types and fields are only ever added, so ignore those that you
do not know.

The requests are signed as [Standard Webhooks](https://www.standardwebhooks.com/) describes. Respond with any status
from 200 to 299; everything else counts as a failure and is tried again. An event may come more than once, and in any
order: `webhook-id` tells repeats.

In the Python SDK, `gatewright_client.webhooks` has the type `WebhookEvent`, a union of the models of all events, and
`parse_event`, which makes it from the decoded body. In the TypeScript SDK, `WebhookEvent` is a union by `type`; the
decoded body has this type as it is.
"""


def pages() -> dict[str, str]:
    """Return the page of events by its path on the site."""
    document = bundle()
    events = dict(sorted(requests(document).items()))
    headers = next(iter(events.values()))["parameters"]
    reading = Reading(document, "../")
    overview = [
        (f"[`{name}`](#{_anchor(name)})", _names(document, name), event["summary"])
        for name, event in events.items()
    ]
    return {
        PAGE: page(
            _INTRODUCTION,
            "## Headers",
            reading.parameters(headers),
            "## All events",
            table(("Event", "`data`", "When"), overview),
            *(_event(document, name, event, reading) for name, event in events.items()),
        )
    }


def _event(document: Document, name: str, event: Document, reading: Reading) -> str:
    example = event["requestBody"]["content"]["application/json"]["example"]
    return page(
        f"## `{name}` {{ #{_anchor(name)} }}",
        event["description"],
        reading.fields(_data(document, name)),
        folded("Example", fenced("json", orjson.dumps(example, option=orjson.OPT_INDENT_2).decode())),
    )


def _names(document: Document, name: str) -> str:
    return one_line(", ".join(map(code, _data(document, name)["properties"])))


def _data(document: Document, name: str) -> Document:
    return resolve(document, resolve(document, schemas(document)[name])["properties"]["data"])


def _anchor(name: str) -> str:
    return name.replace(".", "-").replace("_", "-")
