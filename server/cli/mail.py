"""`gatewright mail`: try the mail settings."""

import asyncio
from typing import Annotated

import typer

from server.cli import check_config

app = typer.Typer(help="Send a test email.", no_args_is_help=True)


@app.callback()
def mail() -> None:
    """Send a test email."""


@app.command()
def test(
    email: Annotated[str, typer.Argument(metavar="EMAIL", help="Recipient of the test email.")],
) -> None:
    """Send a test email as mail.sender says, and wait for the result.

    Example: gatewright mail test ada@example.com
    """
    from server.mail.backends import deliver_test

    settings = check_config.read()
    asyncio.run(deliver_test(settings, email))
    typer.echo(f"Sent a test email to {email} (mail.sender: {check_config.mail_route(settings)}).")
