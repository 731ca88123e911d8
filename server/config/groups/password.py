"""The settings of passwords."""

import os
from collections.abc import Iterable, Iterator
from datetime import timedelta
from functools import partial
from typing import Literal

from pydantic import Field

from domain.mail.policy import Sender
from domain.passwords.policy import PasswordPolicy, PasswordResetPolicy
from server.config.base import Group, Settings, fill
from server.config.groups.mail import MailSettings, console_problems
from server.config.value_types import Duration, OptionalPath, duration_between, setting


def _processors() -> int:
    """Return the number of processors that this process may use; if unknown, the number of processors."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def hash_workers(processes: int = 1) -> int:
    """Return the default number of hashing threads per process if `processes` share the processors."""
    return max(1, min(_processors() // processes, 4))


class PasswordSettings(Group):
    """`password.*`: requirements on new passwords, and the cost of hashing one."""

    key = "password"

    min_length: int = setting(8, "Length of the shortest password, in Unicode code points.", ge=1, le=1024)
    max_length: int = setting(128, "Length of the longest password, in Unicode code points.", ge=1, le=1024)
    blocklist: bool = setting(True, "Whether common and guessable passwords are refused.")
    blocklist_file: OptionalPath = setting(None, "File of further passwords that are refused, one per line.")
    argon2_memory_kib: int = setting(19456, "Memory that argon2id uses for one hash, in KiB.", ge=8, le=2**22)
    argon2_time: int = setting(2, "Number of passes of argon2id over the memory of a hash.", ge=1, le=100)
    argon2_parallelism: int = setting(1, "Number of lanes of argon2id for one hash.", ge=1, le=64)
    hash_workers: int = Field(
        default_factory=partial(hash_workers, 1),
        ge=1,
        le=256,
        description="Threads that hash passwords; by default one per CPU core that the process may use, but at most 4. "
        "The processes of `gatewright serve --workers` share the cores.",
    )
    hash_queue: int = setting(
        64, "Number of hashes that may wait for a thread; above it the response is 503.", ge=0, le=100_000
    )
    hash_nice: int = setting(
        10,
        "Amount by which the nice value of hashing threads is raised, which lowers their priority; Linux "
        "only.",
        ge=0,
        le=19,
    )
    hash_wait: Duration = duration_between(
        "5s", "Longest wait for a hashing thread; after it the response is 503.", at_least="0.05s"
    )

    def policies(self, settings: Settings) -> Iterable[object]:
        """Return the requirements on new passwords."""
        return (fill(PasswordPolicy, self, require_current_password=settings.require_current_password),)

    def problems(self, settings: Settings) -> Iterator[str]:
        """Yield contradictory bounds."""
        if self.min_length > self.max_length:
            yield "password.min_length: is above password.max_length"
        if self.argon2_memory_kib < 8 * self.argon2_parallelism:
            yield "password.argon2_memory_kib: must be at least 8 for each of password.argon2_parallelism"


class PasswordResetSettings(Group):
    """`password_reset.*`: resetting a forgotten password by mail."""

    key = "password_reset"

    sender: Literal["mail", "none", "smtp", "console", "file"] = setting(
        "mail", "How reset emails are sent: `mail` uses the value of `mail.sender`; `none` disables resets."
    )
    revoke_sessions: bool = setting(True, "Whether a reset ends every session of the user.")

    def effective_sender(self, settings: Settings) -> Sender:
        """Return how reset emails are sent."""
        return settings[MailSettings].sender if self.sender == "mail" else self.sender

    def policies(self, settings: Settings) -> Iterable[object]:
        """Return how forgotten passwords are reset."""
        life = timedelta(hours=settings.reset_token_expiry_hours)
        return (
            fill(PasswordResetPolicy, self, sender=self.effective_sender(settings), token_expires_in=life),
        )

    def problems(self, settings: Settings) -> Iterator[str]:
        """Yield missing settings of SMTP, where only reset emails need them."""
        if self.sender == "smtp" and settings[MailSettings].sender != "smtp":
            yield from settings[MailSettings].smtp_problems()

    def production_problems(self, settings: Settings) -> Iterator[str]:
        """Yield a problem if links would be written to the log."""
        yield from console_problems("password_reset", self.sender)
