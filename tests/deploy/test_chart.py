"""The Helm chart: Helm renders it, Kubernetes knows every field, and its pods are those of the plain manifests."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from server.services import load_settings
from tests.live import ROOT
from tests.packages import helm

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not os.environ.get("GATEWRIGHT_LONG"), reason="builds a program: make test-chart"),
]

CHART = ROOT / "deploy/helm/gatewright"
PLAIN = ROOT / "deploy/kubernetes"
VALUES = {
    "settings": {
        "GATEWRIGHT_BASE_URL": "https://auth.example.com",
        "GATEWRIGHT_TRUSTED_ORIGINS": "https://app.example.com",
        "GATEWRIGHT_TRUSTED_PROXIES": "10.0.0.0/8",
        "GATEWRIGHT_MAIL__FROM": "accounts@example.com",
        "GATEWRIGHT_MAIL__SMTP__HOST": "smtp.example.com",
        "GATEWRIGHT_MAIL__SMTP__USERNAME": "gatewright",
    },
    "image": {"tag": "latest"},
}
EVERYTHING = {
    "imagePullSecrets": [{"name": "registry"}],
    "podAnnotations": {"example.com/team": "accounts"},
    "nodeSelector": {"kubernetes.io/arch": "amd64"},
    "tolerations": [{"key": "dedicated", "operator": "Exists"}],
    "affinity": {"podAntiAffinity": {}},
    "metrics": {"podMonitor": {"enabled": True, "labels": {"release": "prometheus"}}},
    "ingress": {"enabled": True, "className": "nginx", "tlsSecretName": "tls", "annotations": {"example.com/a": "b"}},
    "autoscaling": {"enabled": True},
}  # fmt: skip
NOTHING_OPTIONAL = {
    name: {"enabled": False} for name in ("migration", "metrics", "disruptionBudget", "networkPolicy")
}


def run(folder: Path, values: dict[str, Any], *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run a command of Helm on the chart with these values."""
    file = folder / "values.json"
    file.write_text(json.dumps(values), "utf-8")
    command = [helm(), *arguments, str(CHART), "--values", str(file), "--kube-version", "1.33"]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def render(folder: Path, **values: Any) -> dict[str, Any]:
    """Return the manifests that Helm makes with some values, by their kinds."""
    finished = run(folder, {**VALUES, **values}, "template", "gatewright")
    assert finished.returncode == 0, finished.stderr
    return {document["kind"]: document for document in yaml.safe_load_all(finished.stdout)}


def plain(name: str) -> Any:
    """Return a plain manifest."""
    return yaml.safe_load((PLAIN / name).read_text("utf-8"))


def pod_of(manifest: Any) -> Any:
    """Return the specification of the pods that a manifest describes."""
    return manifest["spec"]["template"]["spec"]


def environment_of(manifest: Any) -> dict[str, str]:
    """Return the variables of the container of a manifest."""
    return {each["name"]: each["value"] for each in pod_of(manifest)["containers"][0]["env"]}


@pytest.mark.parametrize("values", [{}, EVERYTHING, NOTHING_OPTIONAL], ids=["default", "all", "least"])
def test_is_valid_with_any_values(values: dict[str, Any], tmp_path: Path) -> None:
    linted = run(tmp_path, {**VALUES, **values}, "lint", "--strict")
    manifests = render(tmp_path, **values)

    assert linted.returncode == 0, linted.stdout
    for kind, manifest in manifests.items():
        if kind != "PodMonitor":  # It is no part of Kubernetes.
            kubernetes_validate.validate(manifest, kubernetes_validate.latest_version(), strict=True)


def test_makes_only_what_the_values_ask_for(tmp_path: Path) -> None:
    least = {"Deployment", "Service"}
    usual = least | {"Job", "NetworkPolicy", "PodDisruptionBudget"}

    assert render(tmp_path, **NOTHING_OPTIONAL).keys() == least
    assert render(tmp_path).keys() == usual
    assert render(tmp_path, **EVERYTHING).keys() == usual | {
        "HorizontalPodAutoscaler",
        "Ingress",
        "PodMonitor",
    }


def test_leaves_the_number_of_pods_to_the_autoscaler(tmp_path: Path) -> None:
    assert render(tmp_path)["Deployment"]["spec"]["replicas"] == 2
    assert "replicas" not in render(tmp_path, autoscaling={"enabled": True})["Deployment"]["spec"]


def test_takes_the_host_of_the_ingress_from_the_base_url(tmp_path: Path) -> None:
    ingress = render(tmp_path, **EVERYTHING)["Ingress"]["spec"]

    assert [rule["host"] for rule in ingress["rules"]] == ["auth.example.com"]
    assert ingress["tls"] == [{"hosts": ["auth.example.com"], "secretName": "tls"}]


@pytest.mark.parametrize(("kind", "file"), [("Deployment", "deployment.yaml"), ("Job", "migration.yaml")])
def test_makes_the_pods_of_the_plain_manifests(kind: str, file: str, tmp_path: Path) -> None:
    made, written = pod_of(render(tmp_path)[kind]), pod_of(plain(file))
    container, expected = made.pop("containers")[0], written.pop("containers")[0]
    for each in (container, expected):
        for name in ("env", "envFrom", "imagePullPolicy", "volumeMounts"):
            each.pop(name, None)
    for each in (made, written):
        each.pop("volumes")
        for constraint in each.get("topologySpreadConstraints", ()):
            constraint["labelSelector"]["matchLabels"].pop("app.kubernetes.io/instance", None)

    assert container == expected
    assert made == written


def test_mounts_what_the_plain_manifests_mount(tmp_path: Path) -> None:
    made, written = pod_of(render(tmp_path)["Deployment"]), pod_of(plain("deployment.yaml"))

    assert made["volumes"] == written["volumes"]
    assert made["containers"][0]["volumeMounts"] == written["containers"][0]["volumeMounts"]


def test_has_the_settings_of_the_plain_manifests(tmp_path: Path) -> None:
    manifests = render(tmp_path)

    assert environment_of(manifests["Deployment"]) == plain("settings.yaml")["data"]
    assert environment_of(manifests["Job"]) == plain("settings.yaml")["data"]


def test_lets_the_service_start_with_its_settings(tmp_path: Path) -> None:
    environ = environment_of(render(tmp_path)["Deployment"])
    for name in [name for name in environ if name.endswith("_FILE")]:
        environ[name] = str(tmp_path / name)
        secret = "postgresql://gatewright@database/gatewright" if "DATABASE" in name else "s" * 64
        (tmp_path / name).write_text(secret, "utf-8")

    assert load_settings(environ, tmp_path).base_url == "https://auth.example.com"


def test_selects_the_pods_of_its_own_release(tmp_path: Path) -> None:
    manifests = render(tmp_path)
    labels = manifests["Deployment"]["spec"]["template"]["metadata"]["labels"]

    assert manifests["Deployment"]["spec"]["selector"]["matchLabels"] == labels
    assert manifests["Service"]["spec"]["selector"] == labels
    assert manifests["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"] == labels
    assert manifests["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == labels
    assert manifests["Job"]["spec"]["template"]["metadata"]["labels"].items() != labels.items()


def test_allows_the_connections_that_the_plain_manifests_allow(tmp_path: Path) -> None:
    made, written = render(tmp_path)["NetworkPolicy"]["spec"], plain("network.yaml")["spec"]

    assert made["ingress"] == written["ingress"]
    assert made["policyTypes"] == written["policyTypes"]


def test_migrates_before_it_installs_and_upgrades(tmp_path: Path) -> None:
    annotations = render(tmp_path)["Job"]["metadata"]["annotations"]

    assert annotations["helm.sh/hook"] == "pre-install,pre-upgrade"


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"settings": {**VALUES["settings"], "GATEWRIGHT_SECRETS": "s" * 64}}, "/settings/GATEWRIGHT_SECRETS"),
        ({"settings": {**VALUES["settings"], "GATEWRIGHT_BASE_URL": "auth.example.com"}}, "GATEWRIGHT_BASE_URL"),
        ({"settings": {"GATEWRIGHT_BASE_URL": "https://auth.example.com"}}, "GATEWRIGHT_MAIL__FROM"),
        ({"replica": 3}, "replica"),
        ({"autoscaling": {"minReplicas": 0}}, "/autoscaling/minReplicas"),
        ({"networkPolicy": {"ingressNamespace": "Ingress"}}, "/networkPolicy/ingressNamespace"),
    ],
)  # fmt: skip
def test_rejects_wrong_values_by_name(values: dict[str, Any], named: str, tmp_path: Path) -> None:
    finished = run(tmp_path, {**VALUES, **values}, "template", "gatewright")

    assert finished.returncode != 0
    assert named in finished.stderr
