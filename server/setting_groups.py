"""The settings of users and how they sign in, one class per prefix (behaviour chapter 2)."""

import os
from functools import partial
from typing import Literal

from pydantic import Field

from domain.policy import Sender
from server.values import (
    CookieName,
    CookiePrefix,
    Duration,
    Group,
    OptionalDomain,
    OptionalPath,
    OptionalText,
    OptionalUrl,
    lasting,
)

_SWITCH = "Whether the operations of this group exist."


def _processors() -> int:
    """Give how many processors this process may use, where the system can tell, or else how many there are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def hash_workers(processes: int = 1) -> int:
    """Give how many threads hash in each of so many processes that share the processors, if nobody says it."""
    return max(1, min(_processors() // processes, 4))


class SessionSettings(Group):
    """`session.*`: how long sessions live, and how their cookies are set."""

    expires_in: Duration = lasting("7d", "Life of a session; each extension begins it anew.")
    update_age: Duration = lasting(
        "1d", "Age at which a session in use is extended; 0 at every use.", at_least="0s"
    )
    absolute_lifetime: Duration = lasting(
        "90d", "No session outlives this, however much used; 0 = no limit.", at_least="0s"
    )
    not_remembered_expires_in: Duration = lasting("1d", "Life of a session opened with rememberMe false.")
    fresh_age: Duration = lasting(
        "1d",
        "Age up to which a session may delete the account without the password; 0 = any age.",
        at_least="0s",
    )
    list_tokens: bool = Field(
        default=True,
        description="Whether /list-sessions shows tokens; false shows handles that can only revoke.",
    )
    max_per_user: int = Field(
        default=100,
        ge=0,
        le=1_000_000,
        description="Live sessions of one user; one more ends the oldest. 0 = no limit.",
    )
    cookie_name: CookieName = Field(
        default="service.session-token", description="Name of the session cookie."
    )
    cookie_secure: bool = Field(
        default=True, description="Whether browsers send the cookies over https only."
    )
    cookie_http_only: bool = Field(
        default=True, description="Whether scripts are kept from reading the cookies."
    )
    cookie_same_site: Literal["Lax", "Strict", "None"] = Field(
        default="Lax", description="When browsers send the cookies with requests from other sites."
    )
    cookie_domain: OptionalDomain = Field(
        default=None, description="Domain whose hosts all receive the cookies; empty: this host alone."
    )
    cookie_prefix: CookiePrefix = Field(
        default="service.", description="Beginning of the other cookies' names."
    )


class EmailPassword(Group):
    """`email_password.*`: the password as a way to sign in."""

    enabled: bool = Field(
        default=True, description="Whether one can sign up and in with address and password."
    )


class SignUp(Group):
    """`sign_up.*`: new users."""

    enabled: bool = Field(
        default=True, description="Whether strangers may sign up, with a password or through a provider."
    )
    auto_sign_in: bool = Field(default=True, description="Whether sign-up opens a session.")
    notify_existing: bool = Field(
        default=True,
        description="Whether the owner of a taken address gets a mail when the caller is told nothing.",
    )


class Username(Group):
    """`username.*`: names to sign in with."""

    enabled: bool = Field(default=True, description=f"{_SWITCH} False: username fields are ignored.")


class Password(Group):
    """`password.*`: what a new password must satisfy, and what hashing one costs."""

    min_length: int = Field(default=8, ge=1, le=1024, description="Shortest password, in code points.")
    max_length: int = Field(default=128, ge=1, le=1024, description="Longest password, in code points.")
    blocklist: bool = Field(default=True, description="Whether common and guessable passwords are refused.")
    blocklist_file: OptionalPath = Field(
        default=None, description="File of further refused passwords, one per line."
    )
    argon2_memory_kib: int = Field(default=19456, ge=8, le=2**22, description="Memory of one hash, in KiB.")
    argon2_time: int = Field(default=2, ge=1, le=100, description="Passes over that memory.")
    argon2_parallelism: int = Field(default=1, ge=1, le=64, description="Lanes of one hash.")
    hash_workers: int = Field(
        default_factory=partial(hash_workers, 1),
        ge=1,
        le=256,
        description="Threads that hash; by default one per CPU core that the process may use, but at most 4. "
        "Processes of `--workers` share the cores.",
    )
    hash_queue: int = Field(default=64, ge=0, le=100_000, description="Hashes that may wait for a thread.")
    hash_nice: int = Field(
        default=10,
        ge=0,
        le=19,
        description="How far hashing threads step back where the event loop wants their processor, too; Linux alone.",
    )
    hash_wait: Duration = lasting(
        "5s", "Longest wait for a thread; after it the answer is 503.", at_least="0.05s"
    )


class PasswordReset(Group):
    """`password_reset.*`: resetting a forgotten password by mail."""

    sender: Sender = Field(
        default="none", description="How reset mails are sent; `mail.sender` alone does not enable resets."
    )
    revoke_sessions: bool = Field(default=True, description="Whether a reset ends every session of the user.")


class EmailVerification(Group):
    """`email_verification.*`: proof that an address is the user's; no effect when `mail.sender` is none."""

    enabled: bool = Field(default=True, description="Whether addresses can be verified by mail.")
    required: bool = Field(
        default=False, description="Whether only users with a verified address may sign in."
    )
    send_on_sign_up: bool = Field(default=True, description="Whether sign-up sends the verification mail.")
    send_on_sign_in: bool = Field(
        default=False, description="Whether a sign-in refused as unverified sends it again."
    )
    token_expires_in: Duration = lasting("1h", "Life of verification and email-change links.")


class ChangeEmail(Group):
    """`change_email.*`: a new address for an existing user."""

    enabled: bool = Field(default=True, description="Whether users may change their address.")
    immediate_if_unverified: bool = Field(
        default=True, description="Whether an address that was never verified is replaced without a link."
    )


class DeleteUser(Group):
    """`delete_user.*`: users who delete themselves."""

    enabled: bool = Field(default=True, description=_SWITCH)
    confirm_by_mail: bool = Field(
        default=False, description="Whether deletion takes effect through a mailed link."
    )
    token_expires_in: Duration = lasting("24h", "Life of the deletion link.")


class TwoFactor(Group):
    """`two_factor.*`: the second factor."""

    issuer: OptionalText = Field(
        default=None, description="Name authenticator apps show; by default `app_name`."
    )
    otp_enabled: bool = Field(
        default=True, description="Whether codes may come by mail (needs `mail.sender`)."
    )
    enforce_for_social: bool = Field(
        default=True, description="Whether sign-in by a provider asks for it too."
    )
    page: OptionalUrl = Field(
        default=None, description="Page, at a trusted origin, a provider sign-in leads to when a code is due."
    )
    totp_window: int = Field(
        default=1, ge=0, le=10, description="Steps of 30 s accepted before and after the present."
    )
    otp_expires_in: Duration = lasting("3m", "Life of a mailed code.")
    otp_attempts: int = Field(default=5, ge=1, le=100, description="Tries a mailed code allows.")
    backup_code_count: int = Field(default=10, ge=1, le=100, description="Backup codes in one set.")
    challenge_expires_in: Duration = lasting("10m", "Time to enter the code after the password.")
    challenge_attempts: int = Field(
        default=5, ge=1, le=100, description="Tries one sign-in allows over all methods."
    )
    lock_after: int = Field(
        default=10, ge=1, le=10_000, description="Wrong codes in a row, at sign-ins, that lock the factor."
    )
    lock_for: Duration = lasting("15m", "How long it stays locked.")
    trust_expires_in: Duration = lasting("30d", "How long a trusted device is not asked again.")
