"""Another release of the program: a copy of it that knows one migration more."""

import asyncio
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from server.database.schema import head
from tests.live import PROGRAM, ROOT, TIMEOUT, environment

PACKAGES = ("codegen", "domain", "handlers", "models", "openapi", "server")
NEXT = f"{int(head()) + 1:04}"
"""The revision that the newer release brings."""

_MIGRATION = f'''"""Columns that an older program does not know, in the tables of every request."""

import sqlalchemy as sa
from alembic import op

revision = "{NEXT}"
down_revision = "{head()}"


def upgrade() -> None:
    for table in ("user", "session", "account"):
        op.add_column(table, sa.Column("note", sa.String, nullable=False, server_default=""))
    op.create_index("ix_session_note", "session", ["note"])


def downgrade() -> None:
    op.drop_index("ix_session_note", "session")
    for table in ("user", "session", "account"):
        op.drop_column(table, "note")
'''


@dataclass(frozen=True, slots=True)
class Ended:
    """What a command printed, and its exit status."""

    status: int
    output: str


def newer(directory: Path) -> Path:
    """Make the newer release in a folder; give the folder that its processes find it in."""
    for package in PACKAGES:
        shutil.copytree(ROOT / package, directory / package)
    (directory / "models" / "migrations" / "versions" / f"{NEXT}_newer.py").write_text(_MIGRATION)
    return directory


async def run(directory: Path, settings: Mapping[str, str], *words: str, release: Path = ROOT) -> Ended:
    """Run `gatewright` with some words in a folder, by this release or another one, to its end.

    Raises TimeoutError, and ends it, when that does not come.
    """
    process = await asyncio.create_subprocess_exec(
        PROGRAM, *words, cwd=directory, env={**environment(settings), "PYTHONPATH": str(release)},
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    try:
        async with asyncio.timeout(TIMEOUT):
            output, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        raise
    assert process.returncode is not None
    return Ended(process.returncode, output.decode())
