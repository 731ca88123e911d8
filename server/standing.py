"""Where a connection stands: what of a request has come in, and what its client is owed."""

from server.beginning import Beginning


class Standing(Beginning):
    """uvicorn's protocol, which can be asked. `cycle` is the newest request whose head has come in completely."""

    def _is_between_requests(self) -> bool:
        """Whether the next byte begins a request."""
        cycle = self.cycle
        return self.scope is None or (cycle is not None and cycle.scope is self.scope and not cycle.more_body)

    def _is_in_head(self) -> bool:
        """Whether a request has begun and its head is not complete."""
        return self.scope is not None and (self.cycle is None or self.cycle.scope is not self.scope)

    def _is_received(self) -> bool:
        """Whether the newest request has come in completely and is being answered."""
        cycle = self.cycle
        if cycle is None or cycle.scope is not self.scope:
            return False
        return not cycle.more_body and not cycle.response_complete

    def _is_behind(self) -> bool:
        """Whether what cannot be read follows requests that came whole and are not answered yet."""
        cycle = self.cycle
        if cycle is None:
            return False
        return not cycle.response_complete if self._is_in_head() else cycle.more_body and bool(self.pipeline)

    def _is_owed(self) -> bool:
        """Whether the client expects an answer next, when nothing before this one is owed: none has gone out to this
        request. Every other would count for the wrong request."""
        cycle = self.cycle
        return cycle is None or self._is_in_head() or (cycle.more_body and not cycle.response_started)
