"""`gatewright passkeys`: List and remove the passkeys of users."""

from typing import Annotated

import typer

from domain.passkeys import passkeys
from handlers.passkeys import passkey_shape
from models.passkey import PasskeyRow
from server.cli.options import AsJson, Yes, confirm
from server.cli.output import count, print_list
from server.cli.support import run

app = typer.Typer(help="List and remove the passkeys of users.", no_args_is_help=True)

User = Annotated[str, typer.Option(metavar="USER", help="Owner: email address, username or id.")]


@app.command("list")
def list_passkeys(user: User, as_json: AsJson = False) -> None:
    """List the passkeys of a user, oldest first.

    Example: gatewright passkeys list --user ada@example.com
    """
    titles = ("ID", "Name", "Domain", "Device", "Copied", "Added", "Last used")
    rows = run(lambda ctx: passkeys.list_of(ctx, user))
    print_list(rows, "passkey", titles, _row, passkey_shape, as_json=as_json)


@app.command()
def remove(
    user: User,
    passkey: Annotated[
        str | None, typer.Option(metavar="PASSKEY_ID", help="Identifier of the passkey, as listed.")
    ] = None,
    remove_all: Annotated[bool, typer.Option("--all", help="Remove all passkeys of the user.")] = False,
    yes: Yes = False,
) -> None:
    """Remove one or all passkeys of a user; sessions are kept.

    Example: gatewright passkeys remove --user ada@example.com --all
    """
    if (passkey is None) != remove_all:
        raise typer.BadParameter("give either --passkey or --all")
    confirm(f"Remove {'all passkeys' if remove_all else 'the passkey'} of {user}?", yes)
    number = run(lambda ctx: passkeys.remove_of(ctx, user, passkey))
    typer.echo(f"Removed {count(number, 'passkey')} of {user}.")


def _row(row: PasskeyRow) -> tuple[object, ...]:
    moments = (row.created_at, row.last_used_at)
    return row.id, row.name, row.rp_id, row.device_type, row.backed_up, *moments
