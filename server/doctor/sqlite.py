"""Checks of a SQLite database: folder, disk space, version, file mode, locks, schema."""

from collections.abc import Iterator
from pathlib import Path
from shutil import disk_usage
from stat import S_IMODE, S_IRWXG, S_IRWXO

from server.clock import Clock
from server.config.base import Settings
from server.config.groups.database import DatabaseSettings
from server.database.address import Address
from server.database.sqlite.engine import VERSION, UnusableFile, revision_in_file, rows_in_file
from server.doctor import names, schema, sso
from server.doctor.findings import Finding, Verdict, ok, warning, wrong

LEAST_SQLITE = (3, 35)
LEAST_FREE = 256 * 2**20
"""Free space of the disk, in bytes, below which writes will soon fail."""


def findings(chosen: Settings, address: Address, clock: Clock, least_free: int) -> Iterator[Finding]:
    """Yield the findings about the database file, which is neither written nor created.

    A disk with less than `least_free` bytes free is a problem.
    """
    path = Path(address.target)
    if not path.parent.is_dir():
        yield wrong("database", f"the folder {path.parent} does not exist", f"mkdir -p {path.parent}")
        return
    yield _room(path.parent, least_free)
    if VERSION < LEAST_SQLITE:
        yield wrong(
            "database",
            f"SQLite {_version()} is too old",
            "use a Python with SQLite 3.35 or newer",
        )
    if not path.exists():
        yield warning("database", f"{path} does not exist yet", "nothing: the service creates it at start")
        return
    mode = S_IMODE(path.stat().st_mode)
    if mode & (S_IRWXG | S_IRWXO):
        yield wrong(
            "files",
            f"{path} contains password hashes and email addresses, and its mode is {mode:o}",
            # The write-ahead log next to the file contains the same data.
            f"chmod 600 {path}*",
        )
    yield from _file(chosen, path, clock)


def _file(chosen: Settings, path: Path, clock: Clock) -> Iterator[Finding]:
    try:
        revision = revision_in_file(path, chosen[DatabaseSettings].timeout.total_seconds())
    except UnusableFile as fault:
        yield _fault(path, str(fault))
        return
    yield ok("database", f"{path}: SQLite {_version()}, writable")
    judged = schema.judge(chosen, revision)
    yield judged
    if judged.verdict is Verdict.OK:
        yield from names.unknown(chosen, *(rows_in_file(path, sql) for sql in names.QUERIES))
        yield from sso.findings(chosen, clock(), *(rows_in_file(path, sql) for sql in sso.QUERIES))


def _version() -> str:
    return ".".join(map(str, VERSION))


def _fault(path: Path, name: str) -> Finding:
    if name.startswith("SQLITE_BUSY"):
        return wrong("database", f"another process has locked {path}", "find it with: fuser -v " + str(path))
    if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
        return wrong("database", f"{path} is damaged, or not a database", "restore it from a backup")
    return wrong(
        "database",
        f"{path} is not writable ({name})",
        "let the user of the service own the file and its folder, and check whether the disk is read-only or full",
    )


def _room(folder: Path, least_free: int) -> Finding:
    free = disk_usage(folder).free
    megabytes = f"{free // 2**20} MiB free for {folder}"
    if free < least_free:
        return wrong("disk", megabytes, "free disk space: writes will fail without it")
    return ok("disk", megabytes)
