"""`gatewright registration-tokens`: Administer the tokens that let programs register OAuth clients."""

from typing import Annotated

import typer

from domain.oauth_clients import initial_tokens
from models.initial_access_token import InitialTokenRow
from server.cli import check_config
from server.cli.options import AsJson, Yes, confirm, duration
from server.cli.output import print_list, print_secret
from server.cli.support import run
from server.config.groups.oauth import OAuthSettings
from server.config.sources import ConfigurationError

app = typer.Typer(
    help="Administer the tokens that let programs register OAuth clients.", no_args_is_help=True
)


@app.command()
def create(
    label: Annotated[str, typer.Argument(metavar="LABEL", help="What the token is for.")],
    uses: Annotated[int, typer.Option(min=1, max=10_000, metavar="NUMBER", help="Clients it registers.")] = 1,
    expires_in: Annotated[
        str, typer.Option(metavar="DURATION", help="Lifetime, such as 12h or 30d.")
    ] = "24h",
) -> None:
    """Create a token, and print it.

    The token is printed alone on standard output, and is shown only once. It is accepted while oauth.registration is
    "token".

    Example: gatewright registration-tokens create ci --uses 5 --expires-in 7d
    """
    if not 0 < len(label) <= 64 or not label.isprintable():
        raise typer.BadParameter("LABEL must have 1 to 64 printable characters")
    lifetime = duration(expires_in)
    row, token = run(lambda ctx: initial_tokens.create(ctx, label, uses=uses, expires_in=lifetime))
    print_secret(token, f"Created the token {row.id}; it is shown only here:")
    if check_config.read()[OAuthSettings].registration != "token":
        typer.echo('It is not accepted now; set oauth.registration to "token".', err=True)


@app.command("list")
def list_tokens(as_json: AsJson = False) -> None:
    """List the tokens that can still be used, oldest first.

    Example: gatewright registration-tokens list
    """
    titles = ("ID", "Label", "Uses left", "Created", "Expires")
    print_list(run(initial_tokens.list_all), "token", titles, _row, _shape, as_json=as_json)


@app.command()
def revoke(
    token: Annotated[str, typer.Argument(metavar="TOKEN_ID", help="Identifier of the token, as listed.")],
    yes: Yes = False,
) -> None:
    """Revoke a token; clients that were registered with it are kept.

    Example: gatewright registration-tokens revoke Tz4Xc7Vb1Nm8Ad5Sf2Gh9Jk6Pl3Oi0Uy
    """
    confirm(f"Revoke the token {token}?", yes)
    if not run(lambda ctx: initial_tokens.revoke(ctx, token)):
        raise ConfigurationError(f"{token}: no such token")
    typer.echo(f"Revoked {token}.")


def _shape(row: InitialTokenRow) -> dict[str, object]:
    return {
        "id": row.id,
        "label": row.label,
        "usesLeft": row.uses_left,
        "createdAt": row.created_at,
        "expiresAt": row.expires_at,
    }


def _row(row: InitialTokenRow) -> tuple[object, ...]:
    return row.id, row.label, row.uses_left, row.created_at, row.expires_at
