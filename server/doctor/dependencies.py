"""Who the service depends on, asked as it would ask them: mail server, providers, limit store, its public address."""

import asyncio
import os
import ssl
from pathlib import Path

import aiosmtplib
import httpx
from redis.asyncio import Redis
from redis.exceptions import RedisError

from server.config.settings import Settings
from server.doctor.configuration import is_local
from server.doctor.findings import Finding, odd, ok, skipped, wrong
from server.identity_providers import inspection
from server.identity_providers.configuration import configurations
from server.identity_providers.http_client import calls_of
from server.mail.backends import smtp_options
from server.mail.smtp import SmtpSender
from server.observability.logs import causes
from server.rate_limit import DATABASE
from server.rate_limit.redis import redis_address

PATIENCE = 5.0
"""Seconds for an answer of the service's own public address, and of the limit store."""


async def mail(chosen: Settings) -> list[Finding]:
    """Look at each way mails go out; nothing is sent."""
    kinds = {chosen.mail.sender, chosen.password_reset.sender}
    found: list[Finding] = []
    if "none" in kinds:
        found.append(_unsent(chosen))
    if "smtp" in kinds:
        found.append(await smtp(chosen))
    if "file" in kinds:
        found.append(_file(chosen.mail.file_path))
    if "console" in kinds:
        found.append(ok("mail", "is printed by the service"))
    return found


async def smtp(chosen: Settings, context: ssl.SSLContext | None = None) -> Finding:
    """Connect, encrypt and sign in as for a mail. `context` says who is trusted; by default whom the system trusts."""
    options = smtp_options(chosen, context)
    place = f"{options.host}:{options.port}"
    try:
        await SmtpSender(options).greet()
    except (aiosmtplib.SMTPException, OSError, TimeoutError) as fault:
        return wrong("mail", f"{place}: {_reason(fault)}", _mend(fault))
    if options.tls == "none" and options.password is not None and not is_local(options.host):
        return odd("mail", f"{place} gets the password unencrypted", "set mail.smtp.tls to starttls or tls")
    how = "" if options.username is None else f", signed in as {options.username}"
    return ok("mail", f"{place} answers ({options.tls}{how})")


def _unsent(chosen: Settings) -> Finding:
    lacking = [
        name
        for name, sender in (
            (
                "password_reset.sender: who forgets the password needs the operator",
                chosen.password_reset.sender,
            ),
            ("mail.sender: no address is ever verified", chosen.mail.sender),
        )
        if sender == "none"
    ]
    return odd("mail", "none is set for " + "; ".join(lacking), "set them to smtp if that is not meant")


def _file(path: Path) -> Finding:
    if not path.absolute().parent.is_dir():
        return wrong("mail", f"there is no folder for {path}", f"mkdir -p {path.parent}")
    if not os.access(path if path.exists() else path.absolute().parent, os.W_OK):
        return wrong("mail", f"{path} cannot be written", "give the user of the service the file")
    return ok("mail", f"is appended to {path}")


def _reason(fault: BaseException) -> str:
    for cause in causes(fault):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"its certificate is not accepted ({cause.verify_message})"
        if isinstance(cause, ssl.SSLError):
            return "no encryption can be agreed on"
        if isinstance(cause, aiosmtplib.SMTPAuthenticationError):
            return f"refuses user name or password ({cause.code})"
        if isinstance(cause, ConnectionRefusedError):
            return "nobody listens there"
    if isinstance(fault, TimeoutError | aiosmtplib.SMTPTimeoutError):
        return "no answer in time"
    return type(fault).__name__


def _mend(fault: BaseException) -> str:
    for cause in causes(fault):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return (
                "set mail.smtp.host to the name in its certificate, or let this machine trust its authority"
            )
        if isinstance(cause, ssl.SSLError):
            return "set mail.smtp.tls to what the port expects: starttls (587), tls (465)"
        if isinstance(cause, aiosmtplib.SMTPAuthenticationError):
            return "check mail.smtp.username and mail.smtp.password"
    if isinstance(fault, aiosmtplib.SMTPException) and "STARTTLS" in str(fault):
        return "set mail.smtp.tls to what the server offers: tls (465), or none in a network of your own"
    return "check mail.smtp.host, mail.smtp.port and mail.smtp.tls, and that this machine reaches the server"


async def providers(chosen: Settings) -> list[Finding]:
    """Ask each provider what it publishes, all at once."""
    configured = list(configurations(chosen).values())
    async with calls_of(chosen) as calls:
        told = await asyncio.gather(*(inspection.problems(calls, one) for one in configured))
    found: list[Finding] = []
    for one, problems in zip(configured, told, strict=True):
        name = f"provider {one.traits.id}"
        found += [
            wrong(name, what, how or "see gatewright providers check") for what, how in map(_split, problems)
        ]
        if not problems:
            found.append(
                ok(name, "publishes what the settings say" if one.traits.is_openid else "is complete")
            )
    return found


def _split(problem: str) -> tuple[str, str]:
    """Part what is wrong from how to mend it."""
    what, _, how = problem.partition("; ")
    return what, how


async def limits(chosen: Settings) -> Finding:
    """Ask the store that limits are counted in."""
    address = chosen.limits.store.get_secret_value()
    if not chosen.limits.enabled:
        return odd(
            "limits", "limits.enabled is false: passwords can be guessed without end", "set it to true"
        )
    if address == DATABASE:
        return ok("limits", "are counted in the database")
    client = Redis.from_url(
        redis_address(address), socket_timeout=PATIENCE, socket_connect_timeout=PATIENCE, retry=None
    )
    try:
        async with asyncio.timeout(PATIENCE):
            policy = (await client.info("memory")).get("maxmemory_policy", "noeviction")
    except (RedisError, OSError, TimeoutError) as fault:
        return wrong(
            "limits",
            f"the store does not answer ({type(fault).__name__}): who signs in gets 503",
            "start it, or check limits.store",
        )
    finally:
        await client.aclose()
    if policy != "noeviction":
        return odd(
            "limits",
            f"the store may forget counts when it is full (maxmemory-policy {policy})",
            "set its maxmemory-policy to noeviction",
        )
    return ok("limits", "the store answers")


async def public_address(chosen: Settings) -> Finding:
    """Ask the service itself by the address that users see."""
    address = f"{chosen.base_url}{chosen.base_path}/ok"
    try:
        async with httpx.AsyncClient(timeout=PATIENCE, trust_env=False) as client:
            answer = await client.get(address)
    except httpx.HTTPError as fault:
        untrusted = [cause for cause in causes(fault) if isinstance(cause, ssl.SSLCertVerificationError)]
        if untrusted or "CERTIFICATE_VERIFY_FAILED" in str(fault):
            return wrong(
                "public address",
                f"{address}: its certificate is not accepted",
                "give what ends https a certificate of this name, and the chain with it",
            )
        return skipped(
            "public address", f"{address} does not answer: not started yet, or not reached from here"
        )
    if answer.status_code != 200 or answer.headers.get("content-type") != "application/json":
        return wrong(
            "public address",
            f"{address} answers {answer.status_code}, and not as this service does",
            "check base_url and base_path, and where the proxy in front leads",
        )
    return ok("public address", f"{address} answers")
