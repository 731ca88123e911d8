"""The transport that gathers writes."""

import asyncio
from typing import Any

from server.gathering import Gathered


class Recorder(asyncio.Transport):
    """A transport that keeps what it is given."""

    def __init__(self) -> None:
        super().__init__({"peername": ("192.0.2.1", 5000)})
        self.written: list[bytes] = []
        self.closed = 0

    def write(self, data: Any) -> None:
        self.written.append(bytes(data))

    def is_closing(self) -> bool:
        return bool(self.closed)

    def close(self) -> None:
        self.closed += 1


def gathered() -> tuple[Gathered, Recorder]:
    recorder = Recorder()
    return Gathered(recorder, asyncio.get_running_loop(), Recorder.close), recorder  # type: ignore[arg-type]


class TestGathered:
    async def test_one_turn_is_one_write(self) -> None:
        transport, recorder = gathered()

        transport.write(b"head ")
        transport.write(b"body")
        assert recorder.written == []
        await turn()
        transport.write(b"more")
        await turn()

        assert recorder.written == [b"head body", b"more"]

    async def test_closing_hands_on_what_is_left_first(self) -> None:
        transport, recorder = gathered()

        transport.write(b"last")
        transport.close()
        transport.close()
        transport.write(b"too late")
        await turn()

        assert (recorder.written, recorder.closed, transport.is_closing()) == ([b"last"], 1, True)

    async def test_what_is_written_after_the_end_is_dropped_while_the_other_side_is_still_read(self) -> None:
        recorder = Recorder()
        transport = Gathered(recorder, asyncio.get_running_loop(), lambda transport: None)

        transport.close()
        transport.write(b"too late")
        await turn()

        assert (recorder.written, recorder.closed) == ([], 0)

    async def test_everything_else_is_the_transports(self) -> None:
        transport, _ = gathered()

        assert transport.get_extra_info("peername") == ("192.0.2.1", 5000)


async def turn() -> None:
    """Let the event loop go round once."""
    done = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(done.set_result, None)
    await done
