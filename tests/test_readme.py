"""README.md and the quick start are true: their commands work as written, and what README links to exists."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.docs.typing_in import README, first_steps, follow, section
from tests.live import ROOT


def responses(steps: str, directory: Path) -> list[list[Any]]:
    """Follow the steps; return the JSON that each block of commands printed."""
    return [
        [json.loads(line) for line in printed.splitlines() if line] for printed in follow(steps, directory)
    ]


@pytest.mark.long
def test_the_first_user_gets_a_session(tmp_path: Path) -> None:
    [[signed_up, session]] = responses(section(README, "Your first user"), tmp_path)

    assert signed_up["user"]["email"] == session["user"]["email"] == "ada@example.com"


@pytest.mark.long
def test_the_quick_start_works(tmp_path: Path) -> None:
    answers = responses(first_steps(), tmp_path)

    signed_up, verified, looked, ended, forgot, reset, returned, moving, moved, left = answers
    assert signed_up[0]["user"]["emailVerified"] is False
    assert verified[0]["user"]["emailVerified"] is True
    assert looked[0]["user"]["email"] == "ada.start@example.com"
    assert len(looked[1]) == 3
    assert ended == [
        {"success": True, "status": True},
        {"status": True, "count": 1},
        {"message": "Unauthorized", "code": "UNAUTHORIZED"},
    ]
    assert (forgot[0], reset[0]["status"]) == ({"status": True}, True)
    assert returned[0]["user"]["email"] == "ada.start@example.com"
    assert (moving[0]["message"], moving[0]["verificationSent"]) == ("Email updated", True)
    assert moved[0]["user"]["email"] == "countess@example.com"
    assert left == [
        {"success": True, "message": "User deleted"},
        {"message": "Unauthorized", "code": "UNAUTHORIZED"},
    ]


def test_its_links_lead_to_files() -> None:
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", README.read_text("utf-8"))

    assert "docs/pages/reference/settings.md" in targets
    assert [target for target in targets if not (ROOT / target).exists()] == []
