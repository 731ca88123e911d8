"""`gatewright mail`: try the mail settings."""

import asyncio
from typing import Annotated

import typer
from jinja2 import TemplateError

from domain import identifiers, tokens
from domain.mail.outbox import LeasedMail
from server.cli import check_config
from server.clock import system_clock
from server.config.settings import Settings
from server.config.sources import ConfigurationError
from server.mail.backends import renderer, senders

app = typer.Typer(help="Try the mail settings.", no_args_is_help=True)


@app.callback()
def mail() -> None:
    """Try the mail settings."""


@app.command()
def test(address: Annotated[str, typer.Argument(help="Whom to send a test mail to.")]) -> None:
    """Send a test mail the way mail.sender says, and wait for the outcome."""
    settings = check_config.read()
    asyncio.run(deliver(settings, address))
    typer.echo(f"The mail {check_config.mail_route(settings)}.")


async def deliver(settings: Settings, address: str) -> None:
    """Send a test mail.

    Raises ConfigurationError when there is no sender or a template cannot be used, DeliveryError, and InvalidEmail.
    """
    kind = settings.mail.sender
    if kind == "none":
        raise ConfigurationError("mail.sender: is none, so no mail is sent")
    now = system_clock()
    row = LeasedMail(
        id=tokens.token(),
        template="test",
        sender=kind,
        attempts=0,
        created_at=now,
        expires_at=now,
        payload={"to": identifiers.email(address)},
    )
    try:
        message = renderer(settings).render(row, now)
    except TemplateError as fault:
        raise ConfigurationError(f"mail.templates_dir: {fault}") from fault
    await senders(settings)[kind].send(message)
