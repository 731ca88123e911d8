"""Generate the module `webhooks` of the Python SDK: `python -m codegen.python_events DOCUMENT` prints it.

The generator of the SDK makes a model of every event, but no type of a union that no operation refers to.
"""

import sys
from pathlib import Path
from typing import Any

import orjson

from codegen.webhooks import EVENT

_TEXT = '''"""The events in the requests of webhooks."""

from collections.abc import Mapping
from typing import Any

from .models import (
{imports}
)

WebhookEvent = (
    {union}
)
"""The body of a webhook request: an event, whose members depend on its `type_`."""

_MODELS: Mapping[str, type[WebhookEvent]] = {{
{models}
}}


def parse_event(body: Mapping[str, Any]) -> WebhookEvent | None:
    """Return the event in the decoded body of a request whose signature was verified.

    Returns None for a type that a later version of the service has added. Raises KeyError, TypeError or ValueError for
    what is no event.
    """
    model = _MODELS.get(body["type"])
    return None if model is None else model.from_dict(body)
'''


def module(document: dict[str, Any]) -> str:
    """Return the source of the module; `document` is the variant for client generators."""
    mapping: dict[str, str] = document["components"]["schemas"][EVENT]["discriminator"]["mapping"]
    models = {name: reference.rpartition("/")[2] for name, reference in sorted(mapping.items())}
    return _TEXT.format(
        imports="\n".join(f"    {model}," for model in models.values()),
        union="\n    | ".join(models.values()),
        models="\n".join(f'    "{name}": {model},' for name, model in models.items()),
    )


def main() -> None:
    """Print the module for the document in a file."""
    [file] = sys.argv[1:]
    sys.stdout.write(module(orjson.loads(Path(file).read_bytes())))


if __name__ == "__main__":
    main()
