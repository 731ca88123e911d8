"""The checks of `gatewright doctor`, for administrators of the service."""

import asyncio
import contextlib
import sys
from collections.abc import Sequence

import orjson

from domain.doctor.doctor import Finding, InstallationChecks, LastReport
from server.components.component import Component, Core

WITHIN = 30.0
"""Seconds after which the checks are stopped."""

COMMAND = (sys.executable, "-c", "from server.cli.main import run; run()", "doctor", "--json")


class Doctor(Component):
    """The component that registers the checks, and the memory of the last findings, for administrators."""

    def __init__(self, core: Core) -> None:
        core.port.add(LastReport, LastReport())
        core.port.add(InstallationChecks, run_checks)


async def run_checks(command: Sequence[str] = COMMAND, within: float = WITHIN) -> Sequence[Finding]:
    """Run `command` in another process and return the findings of its checks. Implements
    `domain.doctor.doctor.InstallationChecks`.

    The checks block, and load libraries that the service may not need. If the process takes longer than `within`
    seconds it is killed; then, or if it prints no findings, the only finding says so.
    """
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(within):
            output, _ = await process.communicate()
        found = [Finding(**finding) for finding in orjson.loads(output)]
    except TimeoutError:
        return [_unfinished(f"the checks took longer than {within:g} s")]
    except (orjson.JSONDecodeError, TypeError):
        return [_unfinished("the checks ended without findings")]
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    return found


def _unfinished(reason: str) -> Finding:
    return Finding("everything", "skipped", reason, "run gatewright doctor in a terminal")
