"""The settings of what the service runs on and with, one class per prefix (behaviour chapter 2)."""

from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr

from domain.policy import Sender
from server.values import (
    CounterStore,
    Duration,
    Group,
    OptionalPath,
    OptionalSender,
    OptionalText,
    OptionalUrl,
    Size,
    lasting,
)


class Database(Group):
    """`database.*`: the connections, and the schema at start."""

    pool_size: int = Field(
        default=10,
        ge=1,
        le=1000,
        description="Connections each server process keeps at most, at least 3; PostgreSQL only.",
    )
    pooler: Literal["none", "transaction"] = Field(
        default="none",
        description="What stands before PostgreSQL: nothing, or a pooler such as PgBouncer that may give each"
        " transaction another connection.",
    )
    timeout: Duration = lasting("5s", "Longest wait for a connection or a statement.", at_least="0.05s")
    migrate: Literal["auto", "check"] = Field(
        default="auto",
        description="At start: bring the schema up to date (auto), or only refuse an old one (check).",
    )


class Server(Group):
    """`server.*`: the socket and what a request may cost."""

    host: str = Field(default="127.0.0.1", min_length=1, description="Address to listen on.")
    port: int = Field(default=8000, ge=0, le=65535, description="Port to listen on; 0 takes a free one.")
    max_body: Size = Field(default=65536, ge=1024, le=2**24, description="Largest request body in bytes.")
    request_timeout: Duration = lasting(
        "30s",
        "Longest time a client may take to send one request, or may read nothing of an answer.",
        at_least="0.05s",
    )
    shutdown_grace: Duration = lasting("30s", "Longest wait for requests in flight when the service stops.")


class Smtp(Group):
    """`mail.smtp.*`: the server that takes the mails."""

    host: OptionalText = Field(default=None, description="Name of the SMTP server.")
    port: int = Field(default=587, ge=1, le=65535, description="Its port.")
    username: OptionalText = Field(default=None, description="User name, if it asks for one.")
    password: SecretStr | None = Field(default=None, description="Password, if it asks for one.")
    tls: Literal["starttls", "tls", "none"] = Field(
        default="starttls",
        description="Encryption after the greeting (starttls), from the start (tls), or none.",
    )


class Mail(Group):
    """`mail.*`: everything mailed but resets."""

    sender: Sender = Field(default="none", description="How mails are sent; none sends nothing.")
    from_address: OptionalSender = Field(
        default=None, alias="from", description="Sender address of every mail."
    )
    smtp: Smtp = Field(default=Smtp(), description="The SMTP server.")
    timeout: Duration = lasting("10s", "Longest wait for the SMTP server.", at_least="0.05s")
    retry_for: Duration = lasting("24h", "How long delivery is tried again.")
    templates_dir: OptionalPath = Field(
        default=None, description="Folder of templates that replace the built-in ones."
    )
    file_path: Path = Field(
        default=Path("mail.jsonl"),
        strict=False,
        description="File the sender `file` appends one JSON line per mail to.",
    )


MOST = 1_000_000_000
"""The highest number of a limit: what is counted fits into an integer of every store."""


class Limits(Group):
    """`limits.*`: how often something may be tried; a number of 0 turns that limit off (behaviour 10.1)."""

    enabled: bool = Field(default=True, description="Whether any of these limits holds.")
    store: CounterStore = Field(
        default=SecretStr("database"),
        description="Where is counted: `database`, or the URL of a Valkey or Redis server.",
    )
    requests: int = Field(
        default=100, ge=0, le=MOST, description="Requests per client network and operation."
    )
    requests_window: Duration = lasting("10s", "Window of `requests`.")
    failures: int = Field(
        default=10, ge=0, le=MOST, description="Wrong passwords and codes per account and client network."
    )
    failures_window: Duration = lasting("15m", "Window of `failures`.")
    network_failures: int = Field(
        default=100, ge=0, le=MOST, description="Wrong passwords and codes per client network."
    )
    network_failures_window: Duration = lasting("15m", "Window of `network_failures`.")
    account_failures: int = Field(
        default=100, ge=0, le=MOST, description="Wrong passwords and codes per account."
    )
    account_failures_window: Duration = lasting("24h", "Window of `account_failures`.")
    mail_burst: int = Field(
        default=5, ge=0, le=MOST, description="Mails per recipient in `mail_burst_window`."
    )
    mail_burst_window: Duration = lasting("15m", "Window of `mail_burst`.")
    mail_daily: int = Field(default=20, ge=0, le=MOST, description="Mails per recipient in 24 hours.")


class Audit(Group):
    """`audit.*`: the record of what happened."""

    retention: Duration = lasting("365d", "How long records are kept; 0 = for ever.", at_least="0s")


class Log(Group):
    """`log.*`: what is written to standard error."""

    level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Least level written."
    )
    format: Literal["json", "console"] = Field(default="json", description="JSON lines, or lines for people.")
    requests: bool = Field(default=True, description="Whether every request is a line, at the level info.")


class Metrics(Group):
    """`metrics.*`: the numbers for Prometheus."""

    port: int | None = Field(
        default=None, ge=0, le=65535, description="Port of the numbers for Prometheus; 0 takes a free one."
    )
    host: str = Field(default="127.0.0.1", min_length=1, description="Address that port listens on.")


class Tracing(Group):
    """`tracing.*`: spans for OpenTelemetry."""

    endpoint: OptionalUrl = Field(
        default=None,
        description="Where traces are sent by OTLP over HTTP, such as http://127.0.0.1:4318/v1/traces.",
    )
    ratio: float = Field(
        default=1.0,
        ge=0,
        le=1,
        strict=False,
        description="Part of the requests traced where no caller has decided.",
    )
