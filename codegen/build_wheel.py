"""The build of the package: setuptools, with a step that adds what a start would have to make, or to install.

It bundles the contract, and copies the files of Swagger UI, which are released in a package that needs Flask.
"""

import shutil
from importlib.metadata import files
from pathlib import Path

from setuptools.build_meta import (
    build_editable,
    build_sdist,
    build_wheel,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)
from setuptools.command.build_py import build_py

from codegen.bundle import FOLDER, INDEX, forms, save

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]


_SWAGGER_UI = {
    "LICENSE": "swagger-ui-license.txt",
    "swagger-ui.css": "swagger-ui.css",
    "swagger-ui-bundle.js": "swagger-ui-bundle.js",
}
"""The files that are copied, and their names here."""


class BuildWithBundle(build_py):
    """Copy the packages; add the bundled contract and the files of Swagger UI."""

    def run(self) -> None:
        """Run the step. For an editable installation, which has no copy, the files are added to the source tree."""
        super().run()
        root = Path() if self.editable_mode else Path(self.build_lib)
        save(forms(INDEX), root / "openapi" / FOLDER)
        for file in files("flask-swagger-ui") or ():
            if file.parent.name == "dist" and file.name in _SWAGGER_UI:
                shutil.copy(file.locate(), root / "server/templates/docs" / _SWAGGER_UI[file.name])
