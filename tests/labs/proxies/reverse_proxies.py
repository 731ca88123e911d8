"""nginx, HAProxy and Caddy with the configurations of the guide, in front of instances of the service."""

import os
import re
import shutil
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.certificates import Authority
from tests.docs.typing_in import PAGES, blocks, placed
from tests.ports import free_port

PAGE = (PAGES / "operations" / "reverse-proxy.md").read_text("utf-8")
FILES = {block.title: block.text for block in blocks(PAGE) if block.language != "sh"}
HOST = "auth.example.com"
TIME_LIMIT = 60.0
"""Seconds for a proxy to start, and for any request."""

_NGINX = """
{user}
daemon off;
pid nginx.pid;
events {{}}
http {{
    access_log off;
    client_body_temp_path body; proxy_temp_path proxy;
    fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
    include {file};
}}
"""


@dataclass(frozen=True, slots=True)
class Program:
    """A reverse proxy: its file on the page, and the command that runs it with this file in the working directory."""

    name: str
    file: str
    command: Sequence[str]
    prefixed: Callable[[], dict[str, str]]
    """Return its files for a service under a path."""


@dataclass(frozen=True, slots=True)
class Proxy:
    """A running reverse proxy, and the ports that stand for 443 and 80."""

    program: Program
    https: int
    http: int
    authority: Authority
    process: "subprocess.Popen[bytes]"

    def client(self, address: str = "127.0.0.9", host: str = HOST) -> httpx.Client:
        """Return a client of the public URL that comes from an address of the loopback."""
        trusting = ssl.create_default_context(cadata=self.authority.pem)
        transport = Resolving(self.https, verify=trusting, local_address=address)
        return httpx.Client(
            base_url=f"https://{host}", transport=transport, timeout=TIME_LIMIT, trust_env=False
        )

    def curl_settings(self, directory: Path) -> None:
        """Write a file in which curl finds the ports, the authority and the address of the client."""
        (directory / "authority.pem").write_text(self.authority.pem)
        lines = [f'connect-to = "{HOST}:{public}:127.0.0.1:{real}"' for public, real in self._ports().items()]
        lines += [f'cacert = "{directory / "authority.pem"}"', 'interface = "127.0.0.9"', 'noproxy = "*"']
        (directory / ".curlrc").write_text("\n".join(lines), "utf-8")

    def _ports(self) -> dict[int, int]:
        return {443: self.https, 80: self.http}


class Resolving(httpx.HTTPTransport):
    """A transport that finds every host on one port of this machine."""

    def __init__(self, port: int, **options: Any) -> None:
        super().__init__(**options)
        self._port = port

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request to the port, and name the host that it is for."""
        there = request.url.copy_with(host="127.0.0.1", port=self._port)
        extensions = {**request.extensions, "sni_hostname": request.url.host}
        sent = httpx.Request(
            request.method, there, headers=request.headers, stream=request.stream, extensions=extensions
        )
        return super().handle_request(sent)


def _nginx_prefixed() -> dict[str, str]:
    server, location = _cut(
        FILES["gatewright.conf"], r"    location / \{\n(.*?)\n    \}\n", FILES["prefix.conf"]
    )
    return {"gatewright.conf": server, "gatewright-proxy.conf": location}


def _haproxy_prefixed() -> dict[str, str]:
    text, _ = _cut(FILES["haproxy.cfg"], r"(    default_backend gatewright\n)", FILES["prefix.cfg"])
    return {"haproxy.cfg": text}


def _caddy_prefixed() -> dict[str, str]:
    site, directive = _cut(FILES["Caddyfile"], r"^(\treverse_proxy .*?^\t\}\n)", FILES["prefix.caddy"])
    head, line, rest = site.partition("auth.example.com {")
    return {"Caddyfile": f"{head}(gatewright) {{\n{directive}}}\n{line}{rest}"}


def _cut(text: str, pattern: str, replacement: str) -> tuple[str, str]:
    """Replace the only match of a pattern; return the text and the first group."""
    [found] = re.finditer(pattern, text, re.DOTALL | re.MULTILINE)
    return text[: found.start()] + replacement + text[found.end() :], found[1]


NGINX = Program(
    "nginx", "gatewright.conf", ("nginx", "-p", ".", "-e", "stderr", "-c", "nginx.conf"), _nginx_prefixed
)
HAPROXY = Program("haproxy", "haproxy.cfg", ("haproxy", "-db", "-f", "haproxy.cfg"), _haproxy_prefixed)
CADDY = Program(
    "caddy", "Caddyfile", ("caddy", "run", "--adapter", "caddyfile", "--config", "Caddyfile"), _caddy_prefixed
)
PROGRAMS = (NGINX, HAPROXY, CADDY)


@contextmanager
def proxying(
    directory: Path, program: Program, places: Mapping[str, str], files: Mapping[str, str] | None = None
) -> Iterator[Proxy]:
    """Run a proxy with its configuration on the page, or with other `files`, until the end of the block.

    `places` are what the files name and what stands for it, such as the ports of instances.
    """
    authority = Authority()
    https, http = free_port(), free_port()
    certificate = _certificate(directory, authority, places.get(HOST, HOST))
    ours = {
        f"/etc/ssl/{HOST}.pem": certificate, f"/etc/ssl/{HOST}.key": certificate,
        "listen 443": f"listen 127.0.0.1:{https}", "listen 80": f"listen 127.0.0.1:{http}",
        "bind :443": f"bind 127.0.0.1:{https}", "bind :80": f"bind 127.0.0.1:{http}",
        "{\n\tservers": f"{{\n\tadmin off\n\thttps_port {https}\n\thttp_port {http}\n\tservers",
    }  # fmt: skip
    for name, text in (files or {program.file: FILES[program.file]}).items():
        (directory / name).write_text(placed(text, {**ours, **places}), "utf-8")
    user = "user root;" if os.geteuid() == 0 else ""
    (directory / "nginx.conf").write_text(_NGINX.format(user=user, file=program.file), "utf-8")
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen(
            [_found(program.command[0]), *program.command[1:]], cwd=directory,
            env={**os.environ, "HOME": str(directory), "XDG_DATA_HOME": str(directory)},
            stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
        )  # fmt: skip
    proxy = Proxy(program, https, http, authority, process)
    try:
        _wait(proxy, directory / "log")
        yield proxy
    finally:
        process.terminate()
        try:
            process.wait(TIME_LIMIT)
        finally:
            process.kill()


def _certificate(directory: Path, authority: Authority, host: str) -> str:
    authority.server(directory, host)
    [found] = directory.glob("*.pem")
    return str(found)


def _wait(proxy: Proxy, log: Path) -> None:
    """Wait until the proxy accepts connections."""
    deadline = time.monotonic() + TIME_LIMIT
    with httpx.Client(trust_env=False, timeout=TIME_LIMIT) as client:
        while True:
            assert proxy.process.poll() is None, log.read_text("utf-8")
            assert time.monotonic() < deadline, log.read_text("utf-8")
            try:
                client.get(f"http://127.0.0.1:{proxy.http}/ready")
            except httpx.ConnectError:
                continue
            return


def _found(program: str) -> str:
    # Debian puts some of them where only the administrator's PATH leads.
    found = shutil.which(program) or shutil.which(program, path="/usr/sbin:/usr/local/sbin")
    if found is None:
        raise RuntimeError(f"the tests need {program} (on Debian: apt install {program})")
    return found
