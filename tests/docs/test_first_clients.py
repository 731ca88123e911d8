"""From README to a signed-in user through a generated client: two guides, followed whole beside a service."""

import shutil
from pathlib import Path

import pytest

from tests.docs.typing_in import blocks, follow, guide


@pytest.mark.parametrize("language", ["python", "typescript"])
def test_a_reader_gets_to_a_signed_in_user(language: str, tmp_path: Path) -> None:
    if language == "typescript" and shutil.which("npm") is None:
        pytest.skip("npm is not installed, so there is no client in TypeScript")
    text = guide(f"first-client-{language}")
    promised = blocks(text, "text")[0].text

    printed = follow(text, tmp_path, places={"../first-client": str(tmp_path / "client")})

    assert printed[-1].strip() == promised.strip()
