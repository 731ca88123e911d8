"""`gatewright openapi`: the contract, for generators of clients and for reading."""

from enum import StrEnum
from typing import Annotated

import orjson
import typer

from codegen.bundle import bundle
from codegen.flat_ids import flat_ids
from codegen.version_3_1 import to_3_1


class Version(StrEnum):
    """The versions of OpenAPI the contract is published in."""

    V3_0 = "3.0"
    V3_1 = "3.1"


def openapi(
    flat: Annotated[
        bool,
        typer.Option("--flat-ids", help="Write `_` for the dot in operationIds, as most generators want it."),
    ] = False,
    version: Annotated[Version, typer.Option(help="Version of OpenAPI.")] = Version.V3_0,
) -> None:
    """Print the contract as one JSON document."""
    document = flat_ids(bundle()) if flat else bundle()
    if version is Version.V3_1:
        document = to_3_1(document)
    typer.echo(orjson.dumps(document, option=orjson.OPT_INDENT_2))
