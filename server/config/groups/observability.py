"""The settings of logs, metrics, traces and the audit trail."""

from typing import Literal

from server.config.base import Group
from server.config.value_types import Duration, OptionalUrl, duration_between, setting


class LogSettings(Group):
    """`log.*`: the log on standard error."""

    key = "log"

    level: Literal["debug", "info", "warning", "error"] = setting("info", "Lowest level written.")
    format: Literal["json", "console"] = setting(
        "json",
        "`json` writes JSON lines. `console` writes lines for people, and is the default in development on "
        "a terminal.",
    )
    requests: bool = setting(True, "Whether every request is logged, at level info.")


class MetricsSettings(Group):
    """`metrics.*`: metrics for Prometheus."""

    key = "metrics"

    port: int | None = setting(
        None,
        "Port on which Prometheus metrics are served; 0 chooses a free port. By default they are not served.",
        ge=0,
        le=65535,
    )
    host: str = setting("127.0.0.1", "Address on which `metrics.port` listens.", min_length=1)


class TracingSettings(Group):
    """`tracing.*`: spans for OpenTelemetry."""

    key = "tracing"

    endpoint: OptionalUrl = setting(
        None, "URL to which traces are sent by OTLP over HTTP, such as http://127.0.0.1:4318/v1/traces."
    )
    ratio: float = setting(
        1.0,
        "Share of requests that are traced, from 0 to 1, if the caller's trace header does not decide it.",
        ge=0,
        le=1,
        strict=False,
    )


class AuditSettings(Group):
    """`audit.*`: the record of what happened."""

    key = "audit"

    retention: Duration = duration_between(
        "365d", "How long audit records are kept; 0 = for ever.", at_least="0s"
    )
