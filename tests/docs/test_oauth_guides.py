"""The guides about the OAuth provider are true: their files are used as they stand there, beside a running service."""

import json
import re
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.docs.typing_in import guide, surroundings, write_files
from tests.labs.relying_parties.user import EMAIL, User
from tests.live import LiveService, serving
from tests.ports import free_port

NOTHING: Mapping[str, str] = {}


@contextmanager
def provider(folder: Path, settings: Mapping[str, str] = NOTHING) -> Iterator[LiveService]:
    """Run the service with the configuration in a folder, at the address that its metadata names."""
    port = free_port()
    base = {"base_url": f"http://127.0.0.1:{port}", "session.cookie_secure": "false", "oauth.enabled": "true"}
    with serving(folder, {**base, **settings}, port=port) as live:
        yield live
    assert live.output.faults() == []


class TestDevice:
    """The guide to the device flow."""

    def test_a_command_line_signs_in(self, tmp_path: Path) -> None:
        write_files(guide("device-sign-in"), tmp_path)
        with provider(tmp_path, {"oauth.device.interval": "1"}) as live:
            variables = surroundings({"ISSUER": live.url, "HOME": str(tmp_path)})

            def deploy(command: str) -> "subprocess.Popen[str]":
                return subprocess.Popen(
                    [sys.executable, "deploy.py", command], cwd=tmp_path, env=variables, text=True,
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                )  # fmt: skip

            def said(program: "subprocess.Popen[str]") -> str:
                printed, complaint = program.communicate(timeout=60)
                return printed + complaint

            def code_of(program: "subprocess.Popen[str]") -> str:
                assert program.stdout is not None
                line = program.stdout.readline()
                found = re.fullmatch(rf"Open {live.url}/account/device and enter the code (\S+)\n", line)
                assert found is not None, line
                return found[1]

            user = User(live.url)
            user.sign_up()
            before = said(deploy("whoami"))
            program = deploy("login")
            name = user.approve(code_of(program))
            signed_in = said(program)
            tokens = tmp_path / ".deploy.json"
            mode = stat.S_IMODE(tokens.stat().st_mode)
            kept = json.loads(tokens.read_text())
            tokens.write_text(json.dumps(kept | {"expires_at": 0}))
            refreshed = said(deploy("whoami"))
            renewed = json.loads(tokens.read_text())
            ended = said(deploy("logout"))
            # Another computer still has the tokens.
            tokens.write_text(json.dumps(renewed | {"expires_at": 0}))
            afterwards = said(deploy("whoami"))
            program = deploy("login")
            user.refuse(code_of(program))
            refused = said(program)
            user.close()

        assert before == "Sign in first: deploy.py login\n"
        assert name == "Deploy"
        assert signed_in == refreshed == f"Signed in as Ada ({EMAIL}).\n"
        assert mode == 0o600
        assert renewed["refresh_token"] != kept["refresh_token"]
        assert ended == "Signed out.\n"
        assert afterwards == "Your sign-in has ended. Sign in again: deploy.py login\n"
        assert refused == "You have refused the access.\n"
        assert program.returncode == 1
