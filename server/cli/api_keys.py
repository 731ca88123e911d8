"""`gatewright api-keys`: Administer API keys."""

import sys
from typing import Annotated, Any

import typer

from domain import tokens
from domain.api_keys import operator
from domain.api_keys.verification import VerifiedKey
from handlers.api_keys import api_key_shape
from models.api_key import ApiKeyRow
from server.cli.options import AsJson, Yes, confirm, duration, given
from server.cli.output import print_json, print_list, print_secret, print_table
from server.cli.support import run

app = typer.Typer(help="Administer API keys.", no_args_is_help=True)

Organization = Annotated[
    str | None,
    typer.Option("--org", "--organization", metavar="ORG", help="Organization as owner: id or slug."),
]
KeyId = Annotated[str, typer.Argument(metavar="KEY_ID", help="Identifier of the key, as listed.")]
Name = Annotated[str | None, typer.Option(metavar="NAME", help="Name of the key.")]
Lasts = Annotated[
    str | None, typer.Option("--for", metavar="DURATION", help="Lifetime from now, such as 90d, or never.")
]
Permissions = Annotated[
    list[str] | None,
    typer.Option(metavar="RESOURCE=ACTIONS", help="Permissions, such as files=read,write; may be repeated."),
]
Remaining = Annotated[int | None, typer.Option(min=0, metavar="NUMBER", help="Number of uses.")]
Refill = Annotated[
    str | None, typer.Option(metavar="NUMBER/DURATION", help="Uses after each refill, such as 1000/1d.")
]
Rate = Annotated[
    str | None, typer.Option(metavar="NUMBER/DURATION", help="Rate limit, such as 600/1m, or none.")
]


@app.command()
def create(  # noqa: PLR0913 - one parameter per option
    user: Annotated[
        str | None, typer.Option(metavar="USER", help="Owner: email address, username or id.")
    ] = None,
    organization: Organization = None,
    kind: Annotated[str, typer.Option(metavar="KIND", help="Kind of the key.")] = "default",
    name: Name = None,
    prefix: Annotated[str | None, typer.Option(metavar="PREFIX", help="Beginning of the key.")] = None,
    lasts: Lasts = None,
    permissions: Permissions = None,
    remaining: Remaining = None,
    refill: Refill = None,
    rate: Rate = None,
) -> None:
    """Create an API key, and print it.

    The key is printed alone on standard output, and is shown only once.

    Example: gatewright api-keys create --user ada@example.com --name ci --for 90d --permissions files=read
    """
    requested = _fields(name, lasts, permissions, remaining, refill, rate)
    if prefix is not None:
        requested["prefix"] = prefix
    if (user is None) == (organization is None):
        raise typer.BadParameter("name the owner, either with --user or with --org")
    row, text = run(lambda ctx: operator.create(ctx, kind, requested, user=user, organization=organization))
    print_secret(text, f"Created the key {row.id} of {user or organization}; it is shown only here:")


@app.command("list")
def list_keys(
    user: Annotated[str | None, typer.Option(metavar="USER", help="Only keys of this user.")] = None,
    organization: Annotated[
        str | None,
        typer.Option(
            "--org", "--organization", metavar="ORG", help="Only keys of this organization: id or slug."
        ),
    ] = None,
    created_by: Annotated[
        str | None, typer.Option(metavar="USER", help="Only keys that this user has created.")
    ] = None,
    unused: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Only keys not used for so long, such as 90d.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List keys, newest first.

    Example: gatewright api-keys list --unused 90d
    """
    period = None if unused is None else duration(unused)
    keys = run(
        lambda ctx: operator.list_keys(
            ctx, user=user, organization=organization, created_by=created_by, unused=period
        )
    )
    titles = ("ID", "Owner", "Kind", "Name", "Begins with", "Created", "Last used", "Expires", "State")
    print_list(keys, "key", titles, _row, api_key_shape, as_json=as_json, colours={"disabled": "red"})


@app.command()
def show(key: KeyId, as_json: AsJson = False) -> None:
    """Show one key, without its secret text.

    Example: gatewright api-keys show pW2nX8cL5vB1mK7qR4tZ9yHf3GsJ6dAe
    """
    shape = api_key_shape(run(lambda ctx: operator.get(ctx, key)))
    if as_json:
        print_json(shape)
    else:
        print_table(("", ""), shape.items())


@app.command()
def update(
    key: KeyId,
    name: Name = None,
    lasts: Lasts = None,
    permissions: Permissions = None,
    remaining: Remaining = None,
    refill: Refill = None,
    rate: Rate = None,
) -> None:
    """Change a key.

    Example: gatewright api-keys update pW2nX8cL5vB1mK7qR4tZ9yHf3GsJ6dAe --rate 100/1m
    """
    requested = _fields(name, lasts, permissions, remaining, refill, rate)
    if not requested:
        raise typer.BadParameter("name what to change; gatewright api-keys update --help lists the options")
    run(lambda ctx: operator.update(ctx, key, requested))
    typer.echo(f"Changed {key}.")


@app.command()
def disable(key: KeyId) -> None:
    """Disable a key: it is refused until it is enabled again.

    Example: gatewright api-keys disable pW2nX8cL5vB1mK7qR4tZ9yHf3GsJ6dAe
    """
    _enable(key, enabled=False)


@app.command()
def enable(key: KeyId) -> None:
    """Enable a disabled key again.

    Example: gatewright api-keys enable pW2nX8cL5vB1mK7qR4tZ9yHf3GsJ6dAe
    """
    _enable(key, enabled=True)


@app.command()
def delete(key: KeyId, yes: Yes = False) -> None:
    """Delete a key.

    Example: gatewright api-keys delete pW2nX8cL5vB1mK7qR4tZ9yHf3GsJ6dAe
    """
    confirm(f"Delete the key {key}?", yes)
    run(lambda ctx: operator.delete(ctx, key))
    typer.echo(f"Deleted {key}.")


@app.command()
def find() -> None:
    """Show the owner of a key, such as one that was found in public.

    Asks for the key, or reads it from standard input if that is not a terminal.

    Example: gatewright api-keys find < found.txt
    """
    text = _read_key()
    _print_verified(run(lambda ctx: operator.find(ctx, text)))


@app.command()
def verify(permissions: Permissions = None) -> None:
    """Verify a key as services do, without counting a use.

    Asks for the key, or reads it from standard input if that is not a terminal.

    Example: gatewright api-keys verify --permissions files=read < key.txt
    """
    text, requested = _read_key(), _permissions(permissions or [])
    _print_verified(run(lambda ctx: operator.verify(ctx, text, requested)))


@app.command()
def verifier(name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the service.")]) -> None:
    """Create a token with which a service can verify API keys.

    Prints the token on standard output, and the entry for the settings on standard error. Nothing is stored.

    Example: gatewright api-keys verifier files
    """
    token = tokens.token(40)
    print_secret(token, f'Add to api_keys.verifiers: "{name}:{token}"')


def _enable(key: str, *, enabled: bool) -> None:
    run(lambda ctx: operator.update(ctx, key, {"enabled": enabled}))
    typer.echo(f"{key} is {'enabled' if enabled else 'disabled'}.")


def _print_verified(verified: VerifiedKey) -> None:
    row, user = verified
    shown = {
        "Key": row.id,
        "Owner": f"organization {row.owner_id}" if user is None else f"{user.email} ({user.id})",
        "Name": row.name,
        "Kind": row.kind,
        "State": "enabled" if row.enabled else "disabled",
        "Expires": row.expires_at,
        "Last used": row.last_request,
    }
    print_table(("", ""), shown.items())


def _row(row: ApiKeyRow) -> tuple[object, ...]:
    moments = (row.created_at, row.last_request, row.expires_at)
    return row.id, row.owner_id, row.kind, row.name, row.start, *moments, "" if row.enabled else "disabled"


def _read_key() -> str:
    """Read a key from the terminal without showing it, or from standard input; never from an argument."""
    if sys.stdin.isatty():
        return str(typer.prompt("Key", hide_input=True)).strip()
    return sys.stdin.readline().strip()


def _fields(
    name: str | None,
    lasts: str | None,
    permissions: list[str] | None,
    remaining: int | None,
    refill: str | None,
    rate: str | None,
) -> dict[str, Any]:
    """Return the options that were given as fields of a request."""
    values = given(name=name, remaining=remaining)
    if lasts is not None:
        values["expiresIn"] = None if lasts == "never" else int(duration(lasts).total_seconds())
    if permissions:
        values["permissions"] = _permissions(permissions)
    if refill is not None:
        values["refillAmount"], values["refillInterval"] = _quota(refill)
    if rate == "none":
        values["rateLimitEnabled"] = False
    elif rate is not None:
        values["rateLimitEnabled"] = True
        values["rateLimitMax"], values["rateLimitTimeWindow"] = _quota(rate)
    return values


def _permissions(written: list[str]) -> dict[str, list[str]]:
    actions_by_resource: dict[str, list[str]] = {}
    for entry in written:
        resource, equals, actions = entry.partition("=")
        if not equals or not all(actions.split(",")):
            raise typer.BadParameter(f"{entry} should be like files=read,write")
        actions_by_resource.setdefault(resource, []).extend(actions.split(","))
    return actions_by_resource


def _quota(written: str) -> tuple[int, int]:
    """Return a number, and a duration in milliseconds."""
    number, _, period = written.partition("/")
    if not number.isdecimal() or not int(number):
        raise typer.BadParameter(f"{written} should be like 1000/1d")
    return int(number), int(duration(period).total_seconds() * 1000)
