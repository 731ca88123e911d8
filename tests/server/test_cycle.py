"""What a cycle makes only when it is wanted, and what it keeps only as long as it holds."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest
from uvicorn.protocols.http.flow_control import FlowControl

from server.cycle import Cycle
from server.gathering import Gathered
from server.pipeline import answers


@dataclass
class Sink(asyncio.Transport):
    """A transport that keeps what is written."""

    written: list[Any] = field(default_factory=list)

    def write(self, data: Any) -> None:
        self.written.append(data)

    def is_closing(self) -> bool:
        return False


async def answered(default_headers: list[tuple[bytes, bytes]], request_id: bytes = b"1" * 32) -> bytes:
    """Give an answer as it is written."""
    sink = Sink()
    transport = Gathered(sink, asyncio.get_running_loop(), lambda _: None)
    cycle = Cycle({"method": "GET"}, transport, FlowControl(sink), default_headers, False, True, lambda: None)
    await cycle.send(
        {
            "type": answers.WHOLE,
            "status": 200,
            "always": answers.ALWAYS,
            "request_id": request_id,
            "headers": answers.JSON,
            "body": b"{}",
        }
    )
    return b"".join(sink.written)


class TestWhatAnswersHaveInCommon:
    async def test_is_of_the_second_in_which_they_are_sent(self) -> None:
        dates = [[(b"date", b"one")], [(b"date", b"two")]]

        heads = [await answered(date) for date in (*dates, dates[0])]

        assert [head.split(b"\r\n")[1] for head in heads] == [b"date: one", b"date: two", b"date: one"]

    async def test_is_on_every_answer(self) -> None:
        head = await answered([])

        lines = head.split(b"\r\n")
        assert {b"%s: %s" % header for header in (*answers.ALWAYS, *answers.JSON)} <= set(lines)
        assert b"x-request-id: " + b"1" * 32 in lines

    @pytest.mark.parametrize("request_id", [b"", b"1\r\nx: y", b"1 2"])
    async def test_a_request_id_that_would_break_an_answer_is_refused(self, request_id: bytes) -> None:
        with pytest.raises(RuntimeError):
            await answered([], request_id)


def begun() -> Cycle:
    """Give a cycle that nobody has answered yet."""
    sink = Sink()
    transport = Gathered(sink, asyncio.get_running_loop(), lambda _: None)
    return Cycle({"method": "POST"}, transport, FlowControl(sink), [], False, True, lambda: None)


class TestMessages:
    async def test_let_pass_who_waits_and_who_comes_later(self) -> None:
        cycle = begun()
        waiting = asyncio.create_task(cycle.message_event.wait())
        await asyncio.sleep(0)
        was_waiting = not waiting.done()

        cycle.notify()

        await waiting
        await cycle.message_event.wait()
        assert was_waiting

    async def test_let_pass_who_comes_after_the_first(self) -> None:
        cycle = begun()

        cycle.notify()

        await cycle.message_event.wait()

    @pytest.mark.parametrize("has_waited", [False, True])
    async def test_let_nobody_pass_once_they_are_taken(self, has_waited: bool) -> None:
        cycle = begun()
        if has_waited:
            asyncio.get_running_loop().call_soon(cycle.notify)
            await cycle.message_event.wait()
        cycle.notify()

        cycle.message_event.clear()

        waiting = asyncio.create_task(cycle.message_event.wait())
        await asyncio.sleep(0)
        assert not waiting.done()
        cycle.notify()
        await waiting
