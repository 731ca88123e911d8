"""What README.md shows is true: its first steps work as they are written, and what it leads to is there."""

import json
import re
from pathlib import Path

import pytest

from tests.docs.typing_in import README, follow, section
from tests.live import ROOT


@pytest.mark.long
def test_the_first_steps_work(tmp_path: Path) -> None:
    answers = [
        [json.loads(line) for line in printed.splitlines() if line]
        for printed in follow(section("First steps with curl"), tmp_path)
    ]

    signed_up, verified, looked, ended, forgot, reset, returned, moving, moved, left = answers
    assert signed_up[0]["user"]["emailVerified"] is False
    assert verified[0]["user"]["emailVerified"] is True
    assert looked[0]["user"]["email"] == "ada@example.com"
    assert len(looked[1]) == 3
    assert ended == [
        {"success": True, "status": True},
        {"status": True, "count": 1},
        {"message": "Unauthorized", "code": "UNAUTHORIZED"},
    ]
    assert (forgot[0], reset[0]["status"]) == ({"status": True}, True)
    assert returned[0]["user"]["email"] == "ada@example.com"
    assert moving[0]["message"] == "Email updated"
    assert moved[0]["user"]["email"] == "countess@example.com"
    assert left == [
        {"success": True, "message": "User deleted"},
        {"message": "Unauthorized", "code": "UNAUTHORIZED"},
    ]


def test_it_leads_to_what_is_there() -> None:
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", README.read_text("utf-8"))

    assert "docs/pages/reference/settings.md" in targets
    assert [target for target in targets if not (ROOT / target).exists()] == []
