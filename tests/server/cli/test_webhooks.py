"""The command `gatewright webhooks`."""

import base64
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from server.webhooks import signature
from tests.server.terminal import Run, complaint
from tests.service import CHEAP

URL = "https://93.184.215.14/hook"
OWN = "whsec_" + base64.b64encode(b"a secret of twenty-four+").decode()
UNKNOWN = "x" * 32


@pytest.fixture
def command_settings(tmp_path: Path) -> Mapping[str, str]:
    """A database of its own, and no operations for webhooks."""
    return CHEAP | {
        "GATEWRIGHT_DATABASE_URL": f"sqlite:///{tmp_path / 'gatewright.db'}",
        "GATEWRIGHT_WEBHOOKS__ENABLED": "true",
        "GATEWRIGHT_WEBHOOKS__MANAGEMENT": "cli",
    }


def done(run: Run, *words: str) -> str:
    """Run a command that succeeds; return what it prints."""
    answer = run("webhooks", *words)
    assert answer.exit_code == 0, answer.stderr
    return answer.stdout


def parsed(run: Run, *words: str) -> Any:
    return json.loads(done(run, *words, "--json"))


def refused(run: Run, *words: str, **variables: str) -> str:
    """Run a command that fails; return its complaint."""
    answer = run("webhooks", *words, **variables)
    assert answer.exit_code == 1, answer.stdout
    return complaint(answer.stderr).splitlines()[-1]


@pytest.fixture
def secret(run: Run) -> str:
    """The secret of an endpoint with the name crm."""
    created = run("webhooks", "create", "crm", URL, "--event", "webhook.test", "--event", "webhook.*")
    assert created.exit_code == 0, created.stderr
    assert re.search(r"Created the endpoint \w{32}; its secret is shown only here", created.stderr)
    return str(created.stdout.strip())


@pytest.mark.threat("WH8")
def test_an_endpoint_is_created_and_listed(run: Run, secret: str) -> None:
    assert len(base64.b64decode(secret.removeprefix("whsec_"))) == 32

    [found] = parsed(run, "list")
    assert (found["name"], found["url"], found["events"], found["source"], found["state"]) == (
        "crm",
        URL,
        ["webhook.test", "webhook.*"],
        "cli",
        "active",
    )
    listed = done(run, "list")
    assert "1 endpoint" in listed
    assert found["id"] in listed
    assert secret not in listed + done(run, "list", "--json") + run("audit", "--json").stdout


def test_an_endpoint_is_changed_and_deleted(run: Run, secret: str) -> None:
    [before] = parsed(run, "list")
    done(
        run,
        "update",
        "crm",
        "--name",
        "billing",
        "--url",
        URL + "/2",
        "--event",
        "*",
        "--description",
        "Bills",
    )
    assert "is paused" in done(run, "update", before["id"], "--state", "paused")
    [changed] = parsed(run, "list")
    names = ("id", "name", "url", "events", "description", "state")
    assert [changed[name] for name in names] == [
        before["id"],
        "billing",
        URL + "/2",
        ["*"],
        "Bills",
        "paused",
    ]

    assert refused(run, "update", "crm", "--state", "active") == "Endpoint not found"
    assert run("webhooks", "update", "billing").exit_code == 2
    assert "must be one of active, paused" in refused(run, "update", "billing", "--state", "disabled")
    assert run("webhooks", "delete", "billing", stdin="n\n").exit_code == 1
    assert done(run, "delete", "billing", "--yes") == f"Deleted {before['id']}.\n"
    assert parsed(run, "list") == []
    assert refused(run, "delete", before["id"], "--yes") == "Endpoint not found"


def test_a_name_of_two_is_ambiguous(run: Run, secret: str) -> None:
    done(run, "create", "crm", URL, "--event", "*")
    assert refused(run, "delete", "crm", "--yes") == "Several endpoints have this name; use the identifier"
    assert len(parsed(run, "list")) == 2


def test_a_secret_is_replaced(run: Run, secret: str, tmp_path: Path) -> None:
    rotated = run("webhooks", "rotate-secret", "crm")
    assert rotated.stdout.strip() != secret
    assert "The previous secret signs until" in rotated.stderr
    (tmp_path / "own.txt").write_text(f"{OWN}\n")
    assert done(run, "rotate-secret", "crm", "--secret-file", "own.txt") == f"{OWN}\n"
    assert done(run, "create", "b", URL, "--event", "*", "--secret-file", "own.txt") == f"{OWN}\n"
    (tmp_path / "own.txt").write_text("short")
    assert "must be whsec_" in refused(run, "rotate-secret", "crm", "--secret-file", "own.txt")
    assert "no-such.txt: " in refused(run, "rotate-secret", "crm", "--secret-file", "no-such.txt")


def test_deliveries_are_queued_listed_and_repeated(run: Run, secret: str) -> None:
    queued = re.findall(r"Queued the delivery (\w{32})\.", done(run, "test", "crm"))
    [first] = parsed(run, "deliveries", "crm")
    assert (queued, first["type"], first["state"]) == ([first["id"]], "webhook.test", "pending")
    [again] = re.findall(r"Queued the delivery (\w{32})\.", done(run, "redeliver", first["id"]))
    assert [one["id"] for one in parsed(run, "deliveries", "crm")] == [again, first["id"]]
    assert [one["id"] for one in parsed(run, "deliveries", "crm", "--before", again)] == [first["id"]]
    assert [one["id"] for one in parsed(run, "deliveries", "crm", "--limit", "1")] == [again]
    assert parsed(run, "deliveries", "crm", "--state", "failed") == []
    assert "2 deliveries" in done(run, "deliveries", "crm")
    assert refused(run, "deliveries", "crm", "--before", UNKNOWN) == "Delivery not found"
    done(run, "update", "crm", "--state", "paused")
    assert refused(run, "test", "crm") == "Endpoint is not active"


def test_many_deliveries_are_repeated_at_once(run: Run, secret: str) -> None:
    """After an outage there are thousands, and each command takes a second to start."""
    ids = re.findall(r"delivery (\w{32})\.", done(run, "test", "crm") + done(run, "test", "crm"))
    answer = run("webhooks", "redeliver", ids[0], UNKNOWN, ids[1])

    assert (answer.exit_code, answer.stdout.count("Queued the delivery ")) == (1, 2)
    assert f"{UNKNOWN}: Delivery not found" in answer.stderr
    assert len(parsed(run, "deliveries", "crm")) == 4


def test_while_webhooks_are_off_endpoints_can_be_prepared(run: Run, secret: str) -> None:
    off = {"GATEWRIGHT_WEBHOOKS__ENABLED": "false"}
    created = run("webhooks", "create", "b", URL, "--event", "*", **off)
    assert created.exit_code == 0
    assert "Webhooks are off" in created.stderr
    for words in (("test", "crm"), ("redeliver", UNKNOWN)):
        assert refused(run, *words, **off) == "webhooks.enabled: is false, so nothing is sent"


@pytest.mark.threat("WH15", "WH22")
def test_what_is_wrong_is_named(run: Run, secret: str) -> None:
    assert run("webhooks", "create", "b", URL).exit_code == 2
    for words, problem in (
        (("b", "https://10.0.0.1/", "--event", "*"), "Invalid webhook URL: The host has an address"),
        (("b", "http://93.184.215.14/", "--event", "*"), "Invalid webhook URL: "),
        (("b", URL, "--event", "user"), "Unknown event: user"),
        (("b", URL, *["--event", "*"] * 51), "events] must have 1 to 50 entries"),
        (("x" * 65, URL, "--event", "*"), "name] must have 1 to 64 characters"),
        (("a\nb", URL, "--event", "*"), "name] must have 1 to 64 characters"),
        (("b", URL, "--event", "*", "--description", "x" * 257), "description] must have at most 256"),
    ):
        assert problem in refused(run, "create", *words)
    assert len(parsed(run, "list")) == 1


CONFIGURED = {
    "GATEWRIGHT_WEBHOOKS__ENDPOINTS": json.dumps({"crm": {"url": URL, "secret": OWN, "events": ["*"]}})
}


class TestConfigured:
    def test_what_is_wrong_stops_the_start(self, run: Run) -> None:
        for changed, problem in (
            ({"url": "http://93.184.215.14/"}, "crm.url: The URL must begin with https://."),
            ({"url": "https://93.184.215.14:22/"}, "crm.url: Port 22 is not allowed"),
            ({"events": ["*", "user"]}, "crm.events: unknown event user"),
            ({"secret": "whsec_"}, "crm.secret: is whsec_"),
        ):
            endpoints = {"crm": {"url": URL, "secret": OWN, "events": ["*"], **changed}}
            answer = run("check-config", GATEWRIGHT_WEBHOOKS__ENDPOINTS=json.dumps(endpoints))
            assert answer.exit_code == 1
            assert f"webhooks.endpoints.{problem}" in answer.stderr
            assert OWN not in answer.stdout + answer.stderr
        assert run("check-config", **CONFIGURED).exit_code == 0

    @pytest.mark.threat("WH8")
    def test_its_secret_is_not_among_the_settings(self, run: Run) -> None:
        shown = run("settings", **CONFIGURED)
        assert shown.exit_code == 0
        assert OWN not in shown.stdout + run("settings", "--json", **CONFIGURED).stdout


class TestVerify:
    def captured(
        self, at: datetime, secret: str = OWN, body: str = '{"type": "webhook.test"}', end: str = "\n"
    ) -> str:
        """Return a request as a receiver has written it down."""
        sent = signature.headers("a" * 32, [secret], body, at)
        lines = ["POST /hook HTTP/1.1", *(f"{name.title()}: {value}" for name, value in sent.items()), "", ""]
        return end.join(lines) + body

    @pytest.fixture
    def verify(self, run: Run, tmp_path: Path) -> Any:
        (tmp_path / "secret.txt").write_text(f"{OWN}\n")
        return lambda request: run("webhooks", "verify", "--secret-file", "secret.txt", stdin=request)

    @pytest.mark.parametrize("end", ["\n", "\r\n"])
    def test_a_right_one(self, verify: Any, end: str) -> None:
        for body in ("{}", '{"name": "Ad\u00e4\u2028"}', "a\n\nb\r\n\r\n"):
            answer = verify(self.captured(datetime.now(UTC), body=body, end=end))
            assert (answer.exit_code, answer.stdout) == (0, "The signature is right.\n"), answer.stderr

    def test_one_of_two_secrets_is_enough(self, verify: Any) -> None:
        sent = signature.headers("a" * 32, ["whsec_" + "A" * 32, OWN], "{}", datetime.now(UTC))
        lines = [*(f"{name}: {value}" for name, value in sent.items()), "", "{}"]
        assert verify("\n".join(lines)).exit_code == 0

    def test_an_old_one_is_right_but_refused(self, verify: Any) -> None:
        answer = verify(self.captured(datetime.now(UTC) - timedelta(minutes=6)))
        assert answer.exit_code == 0
        assert "Receivers refuse the request now" in answer.stdout

    def test_a_wrong_one_says_why(self, verify: Any) -> None:
        right = self.captured(datetime.now(UTC))
        for wrong, why in (
            (right.replace("webhook.test", "webhook.text"), "none was made with this secret"),
            (right + "\n", "none was made with this secret"),
            (right.replace("aaa", "aab", 1), "none was made with this secret"),
            (self.captured(datetime.now(UTC), secret="whsec_" + "A" * 32), "none was made with this secret"),
            (right.replace("Webhook-Id", "X-Id"), "no header webhook-id"),
            (right.replace("v1,", "v2,"), "no signature of the version v1"),
            (re.sub(r"Timestamp: \d+", "Timestamp: today", right), "not a number of seconds"),
            (re.sub(r"Timestamp: \d+", "Timestamp: " + "9" * 30, right), "not a number of seconds"),
            (right.replace("\n\n", "\n"), "no empty line"),
            ("", "no empty line"),
            (right.encode() + b"\xff", "not UTF-8"),
        ):
            answer = verify(wrong)
            assert answer.exit_code == 1, why
            assert answer.stderr.startswith("The signature is wrong: "), answer.stderr
            assert why in answer.stderr

    def test_without_a_secret(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "secret.txt").write_text("guess")
        answer = run("webhooks", "verify", "--secret-file", "secret.txt", stdin="")
        assert "the secret is not whsec_" in answer.stderr
