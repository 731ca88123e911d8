"""The build of the package: hatchling, with a step that adds what a start would have to make, or to install.

It bundles the contract, and copies the files of Swagger UI, which are released in a package that needs Flask.
"""

import shutil
from importlib.metadata import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.build import (
    build_editable,
    build_sdist,
    build_wheel,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
)
from hatchling.builders.config import BuilderConfig
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

from codegen.bundle import FOLDER, INDEX, forms, save

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
]


_SWAGGER_UI = {
    "LICENSE": "swagger-ui-license.txt",
    "swagger-ui.css": "swagger-ui.css",
    "swagger-ui-bundle.js": "swagger-ui-bundle.js",
}
"""The files that are copied, and their names here."""


class AddGeneratedFiles(BuildHookInterface[BuilderConfig]):
    """Add the bundled contract and the files of Swagger UI to the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Run the step. For an editable installation, which has no copy, the files are added to the source tree."""
        if version == "editable":
            _generate(Path(self.root))
            return
        self._folder = TemporaryDirectory()
        _generate(Path(self._folder.name))
        for package in ("openapi", "server"):
            build_data["force_include"][f"{self._folder.name}/{package}"] = package

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the files that are now in the wheel."""
        if version != "editable":
            self._folder.cleanup()


def _generate(root: Path) -> None:
    """Write the files where a start looks for them below a folder."""
    save(forms(INDEX), root / "openapi" / FOLDER)
    target = root / "server/templates/docs"
    target.mkdir(parents=True, exist_ok=True)
    for file in files("flask-swagger-ui") or ():
        if file.parent.name == "dist" and file.name in _SWAGGER_UI:
            shutil.copy(file.locate(), target / _SWAGGER_UI[file.name])
