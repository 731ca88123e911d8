"""Checks of dependencies over the network: mail server, providers, limit store, the public URL."""

import asyncio
import os
import ssl
from pathlib import Path

import aiosmtplib
import httpx
from redis.asyncio import Redis
from redis.exceptions import RedisError

from server.config.base import Settings
from server.config.groups.limits import LimitSettings
from server.config.groups.mail import MailSettings
from server.config.groups.password import PasswordResetSettings
from server.config.profiles import is_local
from server.doctor.findings import Finding, ok, skipped, warning, wrong
from server.identity_providers import inspection
from server.identity_providers.configuration import configurations
from server.identity_providers.http_client import calls_of
from server.mail.smtp import SmtpSender
from server.observability.logs import causes
from server.rate_limit import DATABASE
from server.rate_limit.redis_connection import connection_pool

TIMEOUT = 5.0
"""Seconds to wait for a response of the public URL or the limit store."""


async def mail(chosen: Settings) -> list[Finding]:
    """Check each configured way to send mail, and return the findings; no email is sent."""
    kinds = {chosen[MailSettings].sender, chosen[PasswordResetSettings].effective_sender(chosen)}
    found: list[Finding] = []
    if "none" in kinds:
        found.append(_unsent(chosen))
    if "smtp" in kinds:
        found.append(await smtp(chosen))
    if "file" in kinds:
        found.append(_file(chosen[MailSettings].file_path))
    if "console" in kinds:
        found.append(ok("mail", "printed to the terminal of the service"))
    return found


async def smtp(chosen: Settings, context: ssl.SSLContext | None = None) -> Finding:
    """Check that the mail server accepts a connection, its encryption and the sign-in; no email is sent.

    `context` None trusts the certificate authorities of the system.
    """
    settings = chosen[MailSettings]
    options = settings.smtp
    host = options.host or ""
    place = f"{host}:{options.port}"
    try:
        await SmtpSender(settings, context).greet()
    except (aiosmtplib.SMTPException, OSError, TimeoutError) as fault:
        return wrong("mail", f"{place}: {_reason(fault)}", _fix(fault))
    if options.tls == "none" and options.password is not None and not is_local(host):
        return warning(
            "mail", f"{place} receives the password unencrypted", "set mail.smtp.tls to starttls or tls"
        )
    how = "" if options.username is None else f", signed in as {options.username}"
    return ok("mail", f"{place} responds ({options.tls}{how})")


def _unsent(chosen: Settings) -> Finding:
    if chosen[MailSettings].sender != "none":
        return warning(
            "mail",
            "password_reset.sender is none: users cannot reset a forgotten password",
            "set it to mail unless this is intended",
        )
    resets = chosen[PasswordResetSettings].effective_sender(chosen) != "none"
    also = "" if resets else ", and users cannot reset a forgotten password"
    return warning(
        "mail",
        f"mail.sender is none: email addresses are never verified{also}",
        "set it to smtp unless this is intended",
    )


def _file(path: Path) -> Finding:
    if not path.absolute().parent.is_dir():
        return wrong("mail", f"the folder of {path} does not exist", f"mkdir -p {path.parent}")
    if not os.access(path if path.exists() else path.absolute().parent, os.W_OK):
        return wrong("mail", f"{path} is not writable", "let the user of the service own the file")
    return ok("mail", f"appended to {path}")


def _reason(fault: BaseException) -> str:
    for cause in causes(fault):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"its certificate is not accepted ({cause.verify_message})"
        if isinstance(cause, ssl.SSLError):
            return "TLS negotiation failed"
        if isinstance(cause, aiosmtplib.SMTPAuthenticationError):
            return f"user name or password refused ({cause.code})"
        if isinstance(cause, ConnectionRefusedError):
            return "connection refused"
    if isinstance(fault, TimeoutError | aiosmtplib.SMTPTimeoutError):
        return "no response in time"
    return type(fault).__name__


def _fix(fault: BaseException) -> str:
    for cause in causes(fault):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return (
                "set mail.smtp.host to the name in its certificate, or install its authority on this machine"
            )
        if isinstance(cause, ssl.SSLError):
            return "set mail.smtp.tls to what the port expects: starttls (587) or tls (465)"
        if isinstance(cause, aiosmtplib.SMTPAuthenticationError):
            return "check mail.smtp.username and mail.smtp.password"
    if isinstance(fault, aiosmtplib.SMTPException) and "STARTTLS" in str(fault):
        return "set mail.smtp.tls to what the server offers: tls (465), or none in a private network"
    return (
        "check mail.smtp.host, mail.smtp.port and mail.smtp.tls, and that this machine can reach the server"
    )


async def providers(chosen: Settings) -> list[Finding]:
    """Compare the settings of each identity provider with what it publishes, and return the findings."""
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
            found.append(ok(name, "matches what it publishes" if one.traits.is_openid else "complete"))
    return found


def _split(problem: str) -> tuple[str, str]:
    """Split a problem into what is wrong and how to fix it."""
    what, _, how = problem.partition("; ")
    return what, how


async def limits(chosen: Settings) -> Finding:
    """Check the server that counts for the rate limits, if any, and return the finding."""
    address = chosen[LimitSettings].store.get_secret_value()
    if not chosen[LimitSettings].enabled:
        return warning(
            "limits", "limits.enabled is false: passwords can be guessed without limit", "set it to true"
        )
    if address == DATABASE:
        return ok("limits", "counted in the database")
    pool, sentinel = connection_pool(address, TIMEOUT)
    client = Redis(connection_pool=pool)
    try:
        async with asyncio.timeout(TIMEOUT):
            # Under any other policy a full server evicts counters, and with them the failures of an attacker.
            policy = (await client.info("memory")).get("maxmemory_policy", "noeviction")
    except (RedisError, OSError, TimeoutError) as fault:
        return wrong(
            "limits",
            f"the store does not respond ({type(fault).__name__}): sign-ins get 503",
            "start it, or check limits.store",
        )
    finally:
        await client.aclose()
        await pool.aclose()
        if sentinel is not None:
            await sentinel.aclose()
    if policy != "noeviction":
        return warning(
            "limits",
            f"the store may drop counts when it is full (maxmemory-policy {policy})",
            "set its maxmemory-policy to noeviction",
        )
    return ok("limits", "the store responds")


async def public_address(chosen: Settings) -> Finding:
    """Request `/ok` at the public URL, and return the finding whether this service responds there."""
    address = f"{chosen.base_url}{chosen.base_path}/ok"
    try:
        # Without the proxies of HTTP_PROXY: users do not come through them.
        async with httpx.AsyncClient(timeout=TIMEOUT, trust_env=False) as client:
            answer = await client.get(address)
    except httpx.HTTPError as fault:
        untrusted = [cause for cause in causes(fault) if isinstance(cause, ssl.SSLCertVerificationError)]
        if untrusted or "CERTIFICATE_VERIFY_FAILED" in str(fault):
            return wrong(
                "public address",
                f"{address}: its certificate is not accepted",
                "install a certificate for this name, with its chain, where https is terminated",
            )
        return skipped(
            "public address", f"{address} does not respond: not started yet, or not reachable from here"
        )
    if answer.status_code != 200 or answer.headers.get("content-type") != "application/json":
        return wrong(
            "public address",
            f"{address} responds with {answer.status_code}, unlike this service",
            "check base_url and base_path, and the target of the proxy in front",
        )
    return ok("public address", f"{address} responds")
