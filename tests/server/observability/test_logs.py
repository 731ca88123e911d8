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


def logged(level: str = "info", form: logs.Format = "json", *, shows_requests: bool = True) -> io.BytesIO:
    """Set up logging; return what is logged from now on."""
    stream = io.BytesIO()
    logs.configure(level, form, stream, shows_requests=shows_requests)
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
    def test_say_when_what_and_how_bad(self, log_stream: io.BytesIO) -> None:
        structlog.get_logger().info("mail.sent", template="otp")

        (event,) = events(log_stream)
        assert event.pop("timestamp").endswith("Z")
        assert event == {"level": "info", "event": "mail.sent", "template": "otp"}

    @pytest.mark.parametrize("form", ["json", "console"])
    def test_nothing_can_begin_a_new_one(self, form: logs.Format) -> None:
        stream = logged(form=form)
        evil = "a\nb\rc\x85d\u2028e\x1b[31mf\x7fg\ud800h\x00"

        structlog.get_logger().info(evil, value=evil, nested={"key": [evil]})
        logging.getLogger("library").warning(evil)
        request(path=f"/{evil}", query=f"{evil}={evil}".encode("utf-8", "surrogatepass"), address=evil)

        lines = stream.getvalue().split(b"\n")
        assert len(lines) == 4
        assert lines.pop() == b""
        assert all(line.decode("ascii").isprintable() for line in lines)

    def test_are_written_from_the_level_on(self) -> None:
        stream = logged("warning")

        structlog.get_logger().info("quiet")
        request()
        structlog.get_logger().warning("loud")

        assert [event["event"] for event in events(stream)] == ["loud"]

    @pytest.mark.parametrize(
        "key",
        [
            "token",
            "reset_token",
            "newPassword",
            "current_password",
            "Authorization",
            "Set-Cookie",
            "client_secret",
        ],
    )
    def test_hide_secrets_by_the_end_of_their_keys(self, log_stream: io.BytesIO, key: str) -> None:
        structlog.get_logger().info("odd", **{key: "hunter2"}, tokens=3)

        (event,) = events(log_stream)
        assert (event[key], event["tokens"]) == ("***", 3)

    def test_show_numbers_of_what_has_the_name_of_a_secret(self, log_stream: io.BytesIO) -> None:
        structlog.get_logger().info("cleanup.done", oauth_token=3)

        assert events(log_stream)[0]["oauth_token"] == 3

    def test_a_full_disk_breaks_nothing(self) -> None:
        with open("/dev/full", "wb", buffering=0) as full:
            logs.configure("info", "json", full)

            structlog.get_logger().info("lost")
            request()

    def test_for_people(self) -> None:
        stream = logged(form="console")

        structlog.get_logger().warning("mail.failed", template="otp", reason="no route", attempts=3)
        request(status=404)

        event, asked = stream.getvalue().decode().splitlines()
        assert re.fullmatch(
            r"\d\d:\d\d:\d\d \[warning  \] mail.failed template=otp reason='no route' attempts=3", event
        )
        assert (
            asked.partition(" ")[2] == "[info     ] request method=GET path=/get-session status=404 ms=12.3"
        )

    def test_for_people_show_where_an_error_came_from(self) -> None:
        stream = logged(form="console")

        try:
            raise KeyError("hunter2")
        except KeyError:
            structlog.get_logger().exception("broken", request_id="r")

        head, *frames = stream.getvalue().decode().splitlines()
        assert "[error    ] broken request_id=r error=['builtins.KeyError']" in head
        assert frames[0].startswith("    ")
        assert "test_for_people_show_where_an_error_came_from" in frames[0]
        assert "hunter2" not in stream.getvalue().decode()

    def test_for_people_are_coloured_on_a_terminal(self) -> None:
        code = (
            "import os; from server.observability import logs\n"
            "for os.environ['NO_COLOR'] in ('', '1'):"
            " logs.configure('info', 'console'); logs.event('x', {}, is_warning=True)"
        )
        primary, secondary = pty.openpty()

        subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env={**os.environ, "TERM": "xterm"},
            stderr=secondary,
            check=True,
        )

        os.close(secondary)
        printed = b""
        while printed.count(b"\n") < 2:
            printed += os.read(primary, 1000)
        coloured, plain = printed.decode().splitlines()
        os.close(primary)
        assert coloured.replace("\x1b[1m", "").count(" x") == 1
        assert "[\x1b[33m\x1b[1mwarning  \x1b[0m]" in coloured
        assert "[warning  ] x" in plain


class TestExceptions:
    def test_show_types_and_places_but_no_texts(self, log_stream: io.BytesIO) -> None:
        try:
            try:
                raise KeyError("hunter2")
            except KeyError as cause:
                raise ValueError("hunter2") from cause
        except ValueError:
            structlog.get_logger().exception("broken")
            logging.getLogger("library").exception("broken too")

        assert b"hunter2" not in log_stream.getvalue()
        for event in events(log_stream):
            assert event["error"] == ["builtins.ValueError", "builtins.KeyError"]
            assert "test_show_types_and_places_but_no_texts" in event["trace"][0]


class TestLibraries:
    def test_are_heard_from_a_warning_on(self, log_stream: io.BytesIO) -> None:
        logging.getLogger("sqlalchemy.engine.Engine").info("SELECT 'hunter2'")
        logging.getLogger("uvicorn.error").info("Started server process")
        logging.getLogger("uvicorn.error").warning("Invalid HTTP request received.")

        assert [(event["event"], event["logger"]) for event in events(log_stream)] == [
            ("Invalid HTTP request received.", "uvicorn.error")
        ]

    def test_stay_quiet_at_debug(self) -> None:
        stream = logged("debug")

        logging.getLogger("aiosqlite").debug("executing 'hunter2'")
        logging.getLogger("sqlalchemy.engine.Engine").info("hunter2")

        assert stream.getvalue() == b""

    def test_keep_one_line_of_a_message(self, log_stream: io.BytesIO) -> None:
        logging.getLogger("asyncio").error(
            "Task exception was never retrieved\nfuture: ValueError('hunter2')"
        )

        assert [event["event"] for event in events(log_stream)] == ["Task exception was never retrieved"]


class TestAccess:
    def test_one_line_per_request(self, log_stream: io.BytesIO) -> None:
        request()

        (event,) = events(log_stream)
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
        self, log_stream: io.BytesIO
    ) -> None:
        request()
        request()

        assert log_stream.getvalue() == b""
        await asyncio.get_running_loop().run_in_executor(None, bool)
        assert len(events(log_stream)) == 2

    async def test_other_lines_keep_their_place(self, log_stream: io.BytesIO) -> None:
        request()
        structlog.get_logger().warning("later")

        assert [event["event"] for event in events(log_stream)] == ["request", "later"]

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
    def test_a_query_shows_no_token(self, log_stream: io.BytesIO, query: str, shown: str) -> None:
        request(query=query.encode())

        assert events(log_stream)[0]["query"] == shown

    def test_can_be_left_out(self) -> None:
        stream = logged(shows_requests=False)

        request()
        structlog.get_logger().info("mail.sent")

        assert [event["event"] for event in events(stream)] == ["mail.sent"]

    def test_is_silent_without_logging_set_up(self, log_stream: io.BytesIO) -> None:
        logs.reset()

        request()
        logs.event("session.revoked", {}, is_warning=False)

        assert events(log_stream) == []
