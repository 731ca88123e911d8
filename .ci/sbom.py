"""Complete a bill of materials of the installed packages, from standard input to standard output, and validate it.

The argument is the wheel. The files of Swagger UI in it come from no package, and one package does not declare its
licence in a form that is recognized.
"""

import json
import re
import sys
from typing import Any
from zipfile import ZipFile

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

LICENCES = {"protobuf": "BSD-3-Clause"}
"""The licences of packages whose declaration is not recognized."""


def swagger_ui(wheel: str) -> dict[str, Any]:
    """Return the component that describes Swagger UI in a wheel. Raises AttributeError if its version is not found."""
    with ZipFile(wheel) as archive:
        script = archive.read("server/templates/docs/swagger-ui-bundle.js").decode()
    version = re.search(r'PACKAGE_VERSION:"([\d.]+)"', script)[1]
    purl = f"pkg:npm/swagger-ui-dist@{version}"
    return {
        "bom-ref": purl,
        "licenses": [{"license": {"id": "Apache-2.0"}}],
        "name": "swagger-ui-dist",
        "purl": purl,
        "type": "library",
        "version": version,
    }


def complete(document: dict[str, Any], wheel: str) -> None:
    """Add Swagger UI and the missing licences to a document. Raises SystemExit if a component has no licence then."""
    added = swagger_ui(wheel)
    document["components"].append(added)
    document["dependencies"].append({"ref": added["bom-ref"]})
    for dependency in document["dependencies"]:
        if dependency["ref"] == "root-component":
            dependency["dependsOn"] = sorted([*dependency.get("dependsOn", ()), added["bom-ref"]])
    for component in document["components"]:
        name = component["name"]
        if not component.get("licenses") and name in LICENCES:
            component["licenses"] = [{"license": {"id": LICENCES[name]}}]
    unknown = [each["name"] for each in document["components"] if not each.get("licenses")]
    if unknown:
        sys.exit(f"no licence is known of {', '.join(unknown)}: look it up, and add it to .ci/sbom.py")


def main() -> None:
    """Read, complete, validate and write the document. Raises SystemExit if it does not match the schema."""
    document = json.load(sys.stdin)
    complete(document, sys.argv[1])
    text = json.dumps(document, indent=2, sort_keys=True)
    error = JsonStrictValidator(SchemaVersion.from_version(document["specVersion"])).validate_str(text)
    if error:
        sys.exit(f"the bill of materials does not match the schema of CycloneDX: {error}")
    print(text)


main()
