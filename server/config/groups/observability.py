"""The settings of logs, metrics, traces and the audit trail."""

from typing import Literal

from pydantic import Field

from server.config.base import Group
from server.config.value_types import Duration, OptionalUrl, duration_between


class LogSettings(Group):
    """`log.*`: the log on standard error."""

    key = "log"

    level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Lowest level written."
    )
    format: Literal["json", "console"] = Field(
        default="json",
        description="JSON lines, or lines for people, the default in development on a terminal.",
    )
    requests: bool = Field(default=True, description="Whether every request is logged, at level info.")


class MetricsSettings(Group):
    """`metrics.*`: the numbers for Prometheus."""

    key = "metrics"

    port: int | None = Field(
        default=None, ge=0, le=65535, description="Port of the Prometheus metrics; 0 chooses a free one."
    )
    host: str = Field(default="127.0.0.1", min_length=1, description="Address that port listens on.")


class TracingSettings(Group):
    """`tracing.*`: spans for OpenTelemetry."""

    key = "tracing"

    endpoint: OptionalUrl = Field(
        default=None,
        description="URL to which traces are sent by OTLP over HTTP, such as http://127.0.0.1:4318/v1/traces.",
    )
    ratio: float = Field(
        default=1.0,
        ge=0,
        le=1,
        strict=False,
        description="Share of requests that are traced when the caller has not decided.",
    )


class AuditSettings(Group):
    """`audit.*`: the record of what happened."""

    key = "audit"

    retention: Duration = duration_between("365d", "How long records are kept; 0 = forever.", at_least="0s")
