"""The log: one line per event, no secrets, no faults of its own."""

import asyncio
import io
import json
import logging
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import structlog

from server.observability import logs
from server.observability.access_log import access
from server.observability.redaction import mask_path

ROOT = Path(__file__).parents[3]
TOKEN = "abcdefghijABCDEFGHIJ0123456789xy"

pytestmark = pytest.mark.usefixtures("restored")


@pytest.fixture
def stream() -> io.BytesIO:
    """Log as JSON at the level info into this."""
    stream = io.BytesIO()
    logs.configure("info", "json", stream)
    return stream


def events(stream: io.BytesIO) -> list[dict[str, Any]]:
    """Return what was logged."""
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def request(**changed: Any) -> None:
    """Log a request."""
    usual: dict[str, Any] = {
        "method": "GET",
        "path": "/get-session",
        "operation": "sessions.get_current",
        "query": b"",
        "status": 200,
        "seconds": 0.0123,
        "address": "127.0.0.1",
        "request_id": "r",
    }
    access(*(usual | changed).values())


class TestLines:
    def test_say_when_what_and_how_bad(self, stream: io.BytesIO) -> None:
        structlog.get_logger().info("mail.sent", template="otp")

        (event,) = events(stream)
        assert event.pop("timestamp").endswith("Z")
        assert event == {"level": "info", "event": "mail.sent", "template": "otp"}

    @pytest.mark.parametrize("form", ["json", "console"])
    def test_nothing_can_begin_a_new_one(self, form: logs.Format) -> None:
        stream = io.BytesIO()
        logs.configure("info", form, stream)
        evil = "a\nb\rc\x85d\u2028e\x1b[31mf\x7fg\ud800h\x00"

        structlog.get_logger().info(evil, value=evil, nested={"key": [evil]})
        logging.getLogger("library").warning(evil)
        request(path=f"/{evil}", query=f"{evil}={evil}".encode("utf-8", "surrogatepass"), address=evil)

        lines = stream.getvalue().split(b"\n")
        assert len(lines) == 4
        assert lines.pop() == b""
        assert all(line.decode("ascii").isprintable() for line in lines)

    def test_are_written_from_the_level_on(self) -> None:
        stream = io.BytesIO()
        logs.configure("warning", "json", stream)

        structlog.get_logger().info("quiet")
        request()
        structlog.get_logger().warning("loud")

        assert [event["event"] for event in events(stream)] == ["loud"]

    def test_hide_secrets_by_their_keys(self, stream: io.BytesIO) -> None:
        structlog.get_logger().info("odd", token=TOKEN, password="hunter2", Authorization="Bearer x")

        assert b"hunter2" not in stream.getvalue()
        assert TOKEN.encode() not in stream.getvalue()

    @pytest.mark.parametrize(
        "key", ["token", "reset_token", "newPassword", "current_password", "Set-Cookie", "client_secret"]
    )
    def test_hide_secrets_by_the_end_of_their_keys(self, stream: io.BytesIO, key: str) -> None:
        structlog.get_logger().info("odd", **{key: "hunter2"}, tokens=3)

        (event,) = events(stream)
        assert (event[key], event["tokens"]) == ("***", 3)

    def test_a_full_disk_breaks_nothing(self) -> None:
        with open("/dev/full", "wb", buffering=0) as full:
            logs.configure("info", "json", full)

            structlog.get_logger().info("lost")
            request()

    def test_for_people(self) -> None:
        stream = io.BytesIO()
        logs.configure("info", "console", stream)

        structlog.get_logger().warning("mail.failed", template="otp", reason="no route", attempts=3)

        line = stream.getvalue().decode()
        assert re.fullmatch(
            r"\d\d:\d\d:\d\d warning  mail.failed template=otp reason=\"no route\" attempts=3\n", line
        )

    def test_for_people_show_few_fields_of_a_request(self) -> None:
        stream = io.BytesIO()
        logs.configure("info", "console", stream)

        request(status=404)

        assert stream.getvalue().decode().partition(" ")[2] == "info     GET /get-session 404 12.3 ms\n"

    def test_for_people_show_where_an_error_came_from(self) -> None:
        stream = io.BytesIO()
        logs.configure("info", "console", stream)

        try:
            raise KeyError("hunter2")
        except KeyError:
            structlog.get_logger().exception("broken", request_id="r")

        head, *frames = stream.getvalue().decode().splitlines()
        assert 'error    broken request_id=r error=["builtins.KeyError"]' in head
        assert frames[0].startswith("    ")
        assert "test_for_people_show_where_an_error_came_from" in frames[0]
        assert "hunter2" not in stream.getvalue().decode()

    @pytest.mark.parametrize(("no_colour", "is_coloured"), [("", True), ("1", False)])
    def test_for_people_are_coloured_on_a_terminal(self, no_colour: str, is_coloured: bool) -> None:
        code = (
            "from server.observability import logs; logs.configure('info', 'console');"
            "logs.event('x', {}, is_warning=True)"
        )
        environ = {**os.environ, "TERM": "xterm", "NO_COLOR": no_colour}
        primary, secondary = pty.openpty()

        subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environ, stderr=secondary, check=True)

        os.close(secondary)
        shown = os.read(primary, 1000).decode()
        os.close(primary)
        assert " x" in shown.replace("\x1b[1m", "")
        assert ("\x1b[33mwarning" in shown) == is_coloured


class TestExceptions:
    def test_show_types_and_places_but_no_texts(self, stream: io.BytesIO) -> None:
        try:
            try:
                raise KeyError("hunter2")
            except KeyError as cause:
                raise ValueError("hunter2") from cause
        except ValueError:
            structlog.get_logger().exception("broken")
            logging.getLogger("library").exception("broken too")

        assert b"hunter2" not in stream.getvalue()
        for event in events(stream):
            assert event["error"] == ["builtins.ValueError", "builtins.KeyError"]
            assert "test_show_types_and_places_but_no_texts" in event["trace"][0]


class TestLibraries:
    def test_are_heard_from_a_warning_on(self, stream: io.BytesIO) -> None:
        logging.getLogger("sqlalchemy.engine.Engine").info("SELECT 'hunter2'")
        logging.getLogger("uvicorn.error").info("Started server process")
        logging.getLogger("uvicorn.error").warning("Invalid HTTP request received.")

        assert [(event["event"], event["logger"]) for event in events(stream)] == [
            ("Invalid HTTP request received.", "uvicorn.error")
        ]

    def test_stay_quiet_at_debug(self) -> None:
        stream = io.BytesIO()
        logs.configure("debug", "json", stream)

        logging.getLogger("aiosqlite").debug("executing 'hunter2'")
        logging.getLogger("sqlalchemy.engine.Engine").info("hunter2")

        assert stream.getvalue() == b""

    def test_keep_one_line_of_a_message(self, stream: io.BytesIO) -> None:
        logging.getLogger("asyncio").error(
            "Task exception was never retrieved\nfuture: ValueError('hunter2')"
        )

        assert [event["event"] for event in events(stream)] == ["Task exception was never retrieved"]


class TestAccess:
    def test_one_line_per_request(self, stream: io.BytesIO) -> None:
        request()

        (event,) = events(stream)
        del event["timestamp"]
        assert event == {
            "level": "info",
            "event": "request",
            "method": "GET",
            "path": "/get-session",
            "operation": "sessions.get_current",
            "status": 200,
            "ms": 12.3,
            "address": "127.0.0.1",
            "request_id": "r",
        }

    async def test_the_lines_of_one_turn_of_the_event_loop_are_written_together(
        self, stream: io.BytesIO
    ) -> None:
        request()
        request()

        assert stream.getvalue() == b""
        await asyncio.get_running_loop().run_in_executor(None, bool)
        assert len(events(stream)) == 2

    async def test_other_lines_keep_their_place(self, stream: io.BytesIO) -> None:
        request()
        structlog.get_logger().warning("later")

        assert [event["event"] for event in events(stream)] == ["request", "later"]

    @pytest.mark.parametrize(
        ("path", "shown"),
        [
            (f"/reset-password/{TOKEN}/", "/reset-password/***/"),
            ("/api/auth/reset-password/short", "/***/***/reset-password/***"),
            (f"/{TOKEN}", "/***"),
            ("/Sign-In/email", "/***/email"),
            ("/user/ada@example.com", "/***/***"),
            ("/sign-in/email/abcde-fghjk", "/sign-in/email/***"),
            ("//ok", "//***"),
            ("", ""),
            ("/" * 5000, "/" * 15),
        ],
    )
    def test_an_unknown_path_shows_what_the_contract_says_too(self, path: str, shown: str) -> None:
        assert mask_path(path, {"", "sign-in", "reset-password", "email"}) == shown

    @pytest.mark.parametrize(
        ("query", "shown"),
        [
            (f"token={TOKEN}", "token=***"),
            ("code=123&state=abc", "code=***&state=***"),
            ("callbackURL=https://app.test/?token=x", "callbackURL=***"),
            ("disableRefresh=true", "disableRefresh=true"),
            ("error=INVALID_TOKEN", "error=INVALID_TOKEN"),
            (f"error={TOKEN}", "error=***"),
            (f"{TOKEN}", "***"),
            ("tok%65n=x", "***"),
        ],
    )
    def test_a_query_shows_no_token(self, stream: io.BytesIO, query: str, shown: str) -> None:
        request(query=query.encode())

        assert events(stream)[0]["query"] == shown

    def test_can_be_left_out(self) -> None:
        stream = io.BytesIO()
        logs.configure("info", "json", stream, shows_requests=False)

        request()
        structlog.get_logger().info("mail.sent")

        assert [event["event"] for event in events(stream)] == ["mail.sent"]

    def test_is_silent_without_logging_set_up(self, stream: io.BytesIO) -> None:
        logs.reset()

        request()
        logs.event("session.revoked", {}, is_warning=False)

        assert events(stream) == []
