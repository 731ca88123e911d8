"""The command `gatewright`."""

from typing import Any

import typer
from jinja2 import TemplateError
from typer.core import TyperGroup

from domain.errors import Refusal
from server.commands import (
    audit,
    configuration,
    contract,
    database,
    doctor,
    exporting,
    importing,
    mail,
    providers,
    reference,
    serving,
    users,
)
from server.database import DatabaseAbsent
from server.importing.sources import SourceRefused
from server.mail import DeliveryError
from server.migrations import SchemaRefused
from server.reads.plans import is_storable
from server.sources import ConfigurationError

EXPECTED = (
    ConfigurationError,
    DatabaseAbsent,
    SchemaRefused,
    SourceRefused,
    DeliveryError,
    TemplateError,
    Refusal,
)
"""What an operator can mend: told in plain lines, without a trace."""


class Commands(TyperGroup):
    """The commands, with one way to report what went wrong."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take the words of the command line; no command has a use for one that cannot be stored."""
        if not all(map(is_storable, args)):
            typer.echo("gatewright: the arguments must be text in UTF-8 without NUL", err=True)
            raise typer.Exit(2)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run a command; an expected fault becomes lines on standard error and the exit status 1."""
        try:
            return super().invoke(ctx)
        except EXPECTED as fault:
            for line in (str(fault) or type(fault).__name__).splitlines():
                typer.echo(f"gatewright: {line}", err=True)
            raise typer.Exit(1) from None


app = typer.Typer(
    name="gatewright",
    cls=Commands,
    help="An authentication server.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(serving.serve)
app.command()(database.migrate)
app.command()(contract.openapi)
app.command("check-config")(configuration.check_config)
app.command()(doctor.doctor)
app.command()(reference.settings)
app.command()(audit.audit)
app.add_typer(exporting.app, name="export")
app.add_typer(importing.app, name="import")
app.add_typer(mail.app, name="mail")
app.add_typer(providers.app, name="providers")
app.add_typer(users.app, name="users")
