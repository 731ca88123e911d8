"""A TCP proxy that can fall silent, keep the ends of streams back, and lead to another server: what a hanging server, a
dead network or a failover looks like from this side."""

import asyncio
import contextlib


class Proxy:
    """Passes bytes between whoever connects and a server."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._ending = asyncio.Event()
        self._ending.set()
        self.ends = 0
        """Streams that have ended so far, whether or not that was passed on."""
        self._pumps: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._server: asyncio.Server | None = None

    async def start(self) -> int:
        """Listen; give the port."""
        self._server = await asyncio.start_server(self._connect, "127.0.0.1", 0)
        return int(self._server.sockets[0].getsockname()[1])

    def freeze(self) -> None:
        """Pass nothing on from now; connections stay open, new ones are taken."""
        self._flowing.clear()

    def thaw(self) -> None:
        """Pass everything on again, what was held back first."""
        self._flowing.set()

    def hold_ends(self) -> None:
        """Pass on what is sent, but not that a stream has ended."""
        self._ending.clear()

    def lead_to(self, host: str, port: int) -> None:
        """Connect whoever comes from now on with another server; connections stay open."""
        self._target = (host, port)

    async def cut(self) -> None:
        """Close every connection; new ones are taken."""
        sinks = list(self._pumps.values())
        for pump in self._pumps:
            pump.cancel()
        await asyncio.gather(*self._pumps, return_exceptions=True)
        await asyncio.gather(*(sink.wait_closed() for sink in sinks), return_exceptions=True)

    async def stop(self) -> None:
        """Close every connection, and take no more."""
        assert self._server is not None
        self._server.close()
        await self.cut()
        await self._server.wait_closed()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, back = await asyncio.open_connection(*self._target)
        except OSError:
            writer.close()
            return
        for source, sink in ((reader, back), (there, writer)):
            pump = asyncio.create_task(self._pump(source, sink))
            self._pumps[pump] = sink
            pump.add_done_callback(self._end)

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while piece := await source.read(65536):
                await self._flowing.wait()
                sink.write(piece)
                await sink.drain()
            self.ends += 1
            await self._ending.wait()

    def _end(self, pump: asyncio.Task[None]) -> None:
        """Close where a pump has written to, even if it was cancelled before it began."""
        self._pumps.pop(pump).close()
