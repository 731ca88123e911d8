"""`python -m tests.labs.bench.enumeration`: whether the time of an answer tells who is registered (V71).

Prints the medians, in milliseconds, of requests for a known and for an unknown address, taken in turn, their ratio, and
the time within which 95 % of each were answered: of wrong passwords and codes, and of requests for mails while the mail
server keeps everybody waiting. It asserts nothing; the 95 % are meant to be within 10 ms of each other (M13).
"""

import contextlib
import socket
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import httpx
import typer

from tests.live import serving
from tests.service import PASSWORD

KNOWN, UNKNOWN = "ada@example.com", "bob@example.com"
USERNAMES = {KNOWN: "ada_l", UNKNOWN: "bob_l"}
SETTINGS = {
    "limits.enabled": "false",
    "password.argon2_memory_kib": "19456",
    "password.argon2_time": "2",
    "mail.sender": "smtp",
    "mail.from": "no-reply@example.com",
    "mail.smtp.host": "127.0.0.1",
    "mail.smtp.tls": "none",
    "magic_links.enabled": "true",
    "magic_links.confirm": "false",
    "magic_links.sign_up": "false",
    "email_codes.enabled": "true",
    "email_codes.sign_up": "false",
}
"""Hashing at the cost of production; mail by a server that accepts connections and says nothing."""

Samples = Annotated[int, typer.Option(min=10, help="Requests of each kind.")]


def main(samples: Samples = 200) -> None:
    """Measure one worker on SQLite, started as an operator would start it."""
    with contextlib.ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gatewright-bench-")))
        port = str(stack.enter_context(_silence()))
        live = stack.enter_context(serving(directory, {**SETTINGS, "mail.smtp.port": port}))
        client = stack.enter_context(httpx.Client(base_url=live.url, trust_env=False, timeout=30))
        newcomer = {"name": "Ada", "email": KNOWN, "password": PASSWORD, "username": USERNAMES[KNOWN]}
        client.post("/sign-up/email", json=newcomer).raise_for_status()
        client.cookies.clear()
        print(f"{'median of ' + str(samples):30}{'known ms':>10}{'unknown ms':>12}{'ratio':>8}{'p95 ms':>18}")
        for name, requests in _cases().items():
            times = _times(client, *requests, samples)
            known, unknown = map(statistics.median, times)
            p95s = " and ".join(f"{statistics.quantiles(taken, n=20)[-1]:.2f}" for taken in times)
            print(f"{name:30}{known:10.2f}{unknown:12.2f}{unknown / known:8.3f}{p95s:>18}", flush=True)


Request = tuple[str, dict[str, str]]


def _cases() -> dict[str, tuple[Request, Request]]:
    """Return by name what is asked of the known and of the unknown."""
    wrong = {"password": "not the password"}
    return {
        "sign-in, wrong password": _pair("/sign-in/email", "email", **wrong),
        "sign-in by name, wrong": (
            ("/sign-in/username", {"username": USERNAMES[KNOWN], **wrong}),
            ("/sign-in/username", {"username": USERNAMES[UNKNOWN], **wrong}),
        ),
        "reset, mail server hangs": _pair("/request-password-reset", "email"),
        "verification, it hangs too": _pair("/send-verification-email", "email"),
        "sign-in link, it hangs too": _pair("/sign-in/magic-link", "email"),
        "sign-in code, it hangs too": _pair("/email-otp/send-verification-otp", "email", type="sign-in"),
        "sign-in code, wrong": _pair("/sign-in/email-otp", "email", otp="no code"),
    }


def _pair(path: str, key: str, **more: str) -> tuple[Request, Request]:
    return (path, {key: KNOWN, **more}), (path, {key: UNKNOWN, **more})


def _times(
    client: httpx.Client, known: Request, unknown: Request, samples: int
) -> tuple[list[float], list[float]]:
    """Ask in turn, so that whatever else the machine does falls on both; return the milliseconds of each."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(samples):
        for (path, body), taken in zip((known, unknown), times, strict=True):
            begun = time.perf_counter()
            client.post(path, json=body)
            taken.append((time.perf_counter() - begun) * 1000)
    return times


@contextlib.contextmanager
def _silence() -> Iterator[int]:
    """Lend a port that takes connections and never says a word."""
    held: list[socket.socket] = []

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                held.append(listener.accept()[0])

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
    for connection in held:
        connection.close()


if __name__ == "__main__":
    typer.run(main)
