"""`gatewright openapi`: Print the OpenAPI document as JSON."""

from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any

import orjson
import typer

from codegen.bundle import bundle
from codegen.client_forms import client_forms
from codegen.links import without_links
from codegen.operation_ids import bare_ids, flat_ids
from codegen.version_3_1 import to_3_1


class Version(StrEnum):
    """The versions of OpenAPI in which the document is published."""

    V3_0 = "3.0"
    V3_1 = "3.1"


class Ids(StrEnum):
    """The form of the operationIds in the document."""

    DOTTED = "dotted"
    FLAT = "flat"
    BARE = "bare"


_RENAME: dict[Ids, Callable[[dict[str, Any]], dict[str, Any]]] = {
    Ids.DOTTED: dict,
    Ids.FLAT: flat_ids,
    Ids.BARE: bare_ids,
}


def openapi(
    ids: Annotated[
        Ids,
        typer.Option(
            help="Form of the operationIds: tag.verb, tag_verb, or verb for generators that group by tag."
        ),
    ] = Ids.DOTTED,
    links: Annotated[
        bool, typer.Option("--links", help="Keep the links between operations, for tests.")
    ] = False,
    for_clients: Annotated[
        bool,
        typer.Option("--for-clients", help="The variant for client generators, as at /openapi-clients.json."),
    ] = False,
    version: Annotated[Version, typer.Option(help="Version of OpenAPI.")] = Version.V3_0,
) -> None:
    """Print the OpenAPI document as JSON.

    Example: gatewright openapi --for-clients > openapi.json
    """
    is_newer = version is Version.V3_1
    document = client_forms(bundle(), event_union=is_newer) if for_clients else bundle()
    document = _RENAME[ids](document if links else without_links(document))
    if is_newer:
        document = to_3_1(document)
    typer.echo(orjson.dumps(document, option=orjson.OPT_INDENT_2))
