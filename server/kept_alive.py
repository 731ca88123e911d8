"""A connection between two requests: it is closed when it has been quiet for too long."""

from server.standing import Standing


class KeptAlive(Standing):
    """No timer is set and cancelled for each request: one looks again in time."""

    _quiet_since: float | None = None
    """When (the loop's time) the last answer left, as long as nothing has come in since."""

    def timeout_keep_alive_handler(self) -> None:
        """Close a connection that has been quiet for as long as allowed; look again in time at any other."""
        self.timeout_keep_alive_task = None
        if self._quiet_since is not None:
            left = self._quiet_since + self.timeout_keep_alive - self.loop.time()
            if left > 0:
                self._watch(left)
            else:
                super().timeout_keep_alive_handler()

    def _begin_quiet(self) -> None:
        """Begin to wait for the next request."""
        self._quiet_since = self.loop.time()
        if self.timeout_keep_alive_task is None:
            self._watch(self.timeout_keep_alive)

    def _watch(self, seconds: float) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(seconds, self.timeout_keep_alive_handler)

    def _unset_keepalive_if_required(self) -> None:
        self._quiet_since = None
