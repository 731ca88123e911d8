"""What operators are given beside the numbers: dashboard, alert rules and manual agree with what the service tells."""

import json
import re
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import Metric

from domain.errors import Limited
from models import Audit
from server.config.groups.observability import MetricsSettings, TracingSettings
from server.observability.metrics.registry import MetricsRegistry
from server.services import load_settings
from tests.live import ROOT

DASHBOARD = ROOT / "deploy/grafana/gatewright.json"
ALERTS = ROOT / "deploy/prometheus/alerts.yaml"
PAGES = ROOT / "docs/pages/operations"


def _families() -> list[Metric]:
    """Return every metric, each with at least one sample."""
    metrics = MetricsRegistry()
    metrics.request("sessions.get_current", 200, 0.1)
    metrics.refusal(Limited())
    metrics.audited([Audit(id="1", time=datetime.now(UTC), event="user.created", outcome="success")])
    metrics.provider_call("test", "answered")
    metrics.mail("verify-email", "sent")
    metrics.key_verified("files", "valid")
    metrics.token_issued("ES256")
    metrics.outbox_waiting.labels("queued").set(1)
    metrics.webhook_attempt("delivered")
    metrics.logout_attempt("delivered")
    metrics.webhook_endpoints.labels("active").set(1)
    return list(metrics.registry.collect())


FAMILIES = _families()
EXPOSED = {sample.name: set(sample.labels) - {"le"} for family in FAMILIES for sample in family.samples}
"""The labels of every name that Prometheus scrapes."""
SURROUNDING = {"le", "job", "instance"}
"""Labels that histograms and Prometheus itself add."""
KEYWORDS = {
    *("sum", "max", "count", "by", "rate", "increase", "histogram_quantile", "absent"),
    *("or", "unless", "offset", "up"),
}


def dashboard_queries() -> list[str]:
    """Return every query of the dashboard."""
    panels = json.loads(DASHBOARD.read_text("utf-8"))["panels"]
    return [target["expr"] for panel in panels for target in panel.get("targets", ())]


def rules() -> list[dict[str, Any]]:
    """Return every alert rule."""
    groups = yaml.safe_load(ALERTS.read_text("utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def names(query: str) -> set[str]:
    """Return the words of a query that stand for metrics."""
    bare = re.sub(r'"[^"]*"|\[[^]]*\]|\{[^}]*\}|by \([^)]*\)', " ", query)
    return set(re.findall(r"[a-z_][a-z0-9_]*", re.sub(r"\b\d+[smhd]?\b", " ", bare))) - KEYWORDS


def labels(query: str) -> set[str]:
    """Return the labels that a query selects or groups by."""
    grouped = re.findall(r"by \(([^)]*)\)", query)
    selected = re.findall(r'([a-z_]+)(?:=~|!~|!=|=)"', query)
    return {label.strip() for group in grouped for label in group.split(",")} | set(selected)


@pytest.mark.parametrize("query", [*dashboard_queries(), *(rule["expr"] for rule in rules())])
def test_every_query_asks_for_what_there_is(query: str) -> None:
    asked = names(query)

    assert asked <= set(EXPOSED)
    known = {label for name in asked for label in EXPOSED[name]}
    assert labels(query) <= known | SURROUNDING


def test_the_dashboard_shows_every_metric() -> None:
    shown = set().union(*map(names, dashboard_queries()))

    assert shown == set(EXPOSED)


def test_the_panels_of_the_dashboard_do_not_overlap() -> None:
    panels = json.loads(DASHBOARD.read_text("utf-8"))["panels"]

    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in panels)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len(set(cells))
    assert len({panel["id"] for panel in panels}) == len(panels)


def test_every_alert_is_whole_and_explained() -> None:
    explained = re.findall(r"^## (\w+)$", (PAGES / "alerts.md").read_text("utf-8"), re.MULTILINE)

    assert explained == [rule["alert"] for rule in rules()]
    for rule in rules():
        assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
        assert rule["labels"]["severity"] in ("critical", "warning")
        assert set(rule["annotations"]) == {"summary", "description"}
        assert rule["expr"].count("(") == rule["expr"].count(")")


def test_the_manual_lists_every_metric() -> None:
    manual = (PAGES / "metrics.md").read_text("utf-8")

    for family in FAMILIES:
        name = family.name + "_total" * (family.type == "counter")
        names = set().union(*(sample.labels for sample in family.samples)) - {"le"}
        labels = ", ".join(f"`{label}`" for label in sorted(names)) or "none"
        assert f"| `{name}` | {family.type} | {labels} | {family.documentation} |" in manual


def test_the_settings_in_the_manual_are_settings(tmp_path: Path) -> None:
    blocks = re.findall(r"```toml\n(.*?)```", (PAGES / "metrics.md").read_text("utf-8"), re.DOTALL)
    (tmp_path / "gatewright.toml").write_text("\n".join(blocks), "utf-8")

    settings = load_settings({"GATEWRIGHT_PROFILE": "development"}, tmp_path)

    assert (settings[MetricsSettings].port, settings[TracingSettings].ratio) == (9464, 0.1)
    assert tomllib.loads("\n".join(blocks))["tracing"]["endpoint"] == settings[TracingSettings].endpoint
