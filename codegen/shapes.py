"""Generate handlers/shapes.py: `python -m codegen.shapes` writes it, `--check` only compares."""

import argparse
import sys
from pathlib import Path
from typing import Any

import orjson
from datamodel_code_generator import InputFileType, OpenAPIScope, PythonVersion, generate
from datamodel_code_generator.enums import DataModelType
from datamodel_code_generator.format import Formatter
from datamodel_code_generator.parser import LiteralType

from codegen.bundle import bundle
from codegen.version_3_1 import to_3_1
from codegen.webhooks import without_webhooks

ROOT = Path(__file__).resolve().parent.parent
SHAPES = ROOT / "handlers" / "shapes.py"
HEADER = (
    '"""GENERATED from openapi/ by `make types`: the JSON bodies as they are on the wire. Do not edit."""'
)


def shapes(document: dict[str, Any]) -> str:
    """Return Python source with one type per component schema of a bundled 3.0.3 document, named like the schema;
    none for webhooks, which are no bodies of handlers.

    The generator reads the 3.1 form: null is a type there, so a required nullable field is generated correctly.
    """
    source = generate(
        orjson.dumps(to_3_1(without_webhooks(document))).decode(),
        input_file_type=InputFileType.OpenAPI,
        openapi_scopes=[OpenAPIScope.Schemas],
        output_model_type=DataModelType.TypingTypedDict,
        target_python_version=PythonVersion.PY_311,
        enum_field_as_literal=LiteralType.All,
        use_closed_typed_dict=False,
        use_schema_description=True,
        use_single_line_docstring=True,
        use_double_quotes=True,
        type_mappings=["redirect-target=string"],
        disable_future_imports=True,
        keep_model_order=True,
        disable_timestamp=True,
        custom_file_header=HEADER,
        formatters=[Formatter.RUFF_FORMAT],
        settings_path=ROOT,
    )
    return f"{str(source).rstrip()}\n"


def main(arguments: list[str] | None = None, *, target: Path = SHAPES) -> int:
    """Write the shapes of the contract to `target`; with `--check`, only return 1 if they are outdated."""
    parser = argparse.ArgumentParser(prog="python -m codegen.shapes", description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="exit 1 when the file is not what would be written"
    )
    check = parser.parse_args(arguments).check
    fresh = shapes(bundle())
    if check and (not target.exists() or target.read_text("utf-8") != fresh):
        print(f"{target.name} is stale: run `make types`", file=sys.stderr)
        return 1
    if not check:
        target.write_text(fresh, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
