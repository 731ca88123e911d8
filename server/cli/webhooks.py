"""`gatewright webhooks`: Administer webhook endpoints; verify signatures."""

import sys
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from domain.admin_webhooks import operator, operator_deliveries
from domain.context import Context
from domain.errors import Refusal
from handlers.webhooks import delivery_shape, endpoint_shape
from models.delivery import DeliveryState, ListedDelivery
from models.webhook_endpoint import EndpointRow, EndpointSource
from server.cli import check_config
from server.cli.options import AsJson, Yes, confirm, given, repeated
from server.cli.output import cell, print_json, print_list, print_secret, print_table
from server.cli.support import run
from server.clock import system_clock
from server.config.groups.webhooks import WebhookSettings
from server.config.sources import ConfigurationError, file_errors
from server.webhooks import signature

app = typer.Typer(help="Administer webhook endpoints; verify signatures.", no_args_is_help=True)

Result = TypeVar("Result")

Endpoint = Annotated[str, typer.Argument(metavar="ENDPOINT", help="Identifier or name of the endpoint.")]
Events = Annotated[list[str] | None, repeated("--event", "EVENT", "Event, group such as user.*, or *")]
Description = Annotated[str | None, typer.Option(metavar="TEXT", help="Text for administrators.")]
OwnSecret = Annotated[
    str | None,
    typer.Option(
        "--secret-file", metavar="FILE", help="File with a secret of your own; by default a new one."
    ),
]


@app.command("list")
def list_endpoints(as_json: AsJson = False) -> None:
    """List endpoints, the oldest first.

    Example: gatewright webhooks list
    """
    print_list(
        run(_listed),
        "endpoint",
        ("ID", "Name", "URL", "Events", "Source", "State", "Pending"),
        _cells_of_endpoint,
        lambda found: endpoint_shape(*found),
        as_json=as_json,
        colours={"disabled": "red", "failing": "red"},
    )


async def _listed(ctx: Context) -> list[tuple[EndpointRow, int]]:
    """Return the endpoints with the numbers of their pending deliveries."""
    rows = await operator.list_endpoints(ctx)
    pending = await operator_deliveries.count_pending(ctx, [row.id for row in rows])
    return [(row, pending.get(row.id, 0)) for row in rows]


def _cells_of_endpoint(found: tuple[EndpointRow, int]) -> tuple[object, ...]:
    row, pending = found
    state = "failing" if row.is_active and row.failing_since is not None else row.state
    return row.id, row.name, row.url, row.subscriptions, row.source, state, pending


@app.command()
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the endpoint.")],
    url: Annotated[str, typer.Argument(metavar="URL", help="URL of the receiver.")],
    event: Events = None,
    description: Description = None,
    secret_file: OwnSecret = None,
) -> None:
    """Create an endpoint, and print its secret.

    The secret is printed alone on standard output, and is shown only once.

    Example: gatewright webhooks create crm https://crm.example.com/hooks --event user.created
    """
    if not event:
        raise typer.BadParameter("name what it receives, with --event; --event '*' is everything")
    sent = {"name": name, "url": url, "events": event, "description": description}
    secret = _read_secret(secret_file)
    row, text = run(lambda ctx: operator.create(ctx, sent, secret, EndpointSource.CLI))
    print_secret(text, f"Created the endpoint {row.id}; its secret is shown only here:")
    if not _are_enabled():
        typer.echo("Webhooks are off; set webhooks.enabled to send events.", err=True)


@app.command()
def update(
    endpoint: Endpoint,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="New name.")] = None,
    url: Annotated[str | None, typer.Option(metavar="URL", help="New URL.")] = None,
    event: Events = None,
    description: Description = None,
    state: Annotated[
        str | None,
        typer.Option(metavar="STATE", help="active, also for one that fails or is disabled, or paused."),
    ] = None,
) -> None:
    """Change an endpoint.

    Example: gatewright webhooks update crm --state paused
    """
    sent = given(name=name, url=url, events=event, description=description, state=state)
    if not sent:
        raise typer.BadParameter("name what to change; gatewright webhooks update --help lists the options")
    row = run(lambda ctx: _found(ctx, endpoint, lambda own, id_: operator.update(own, id_, sent)))
    typer.echo(f"Changed {row.id}; it is {row.state}.")


@app.command()
def delete(endpoint: Endpoint, yes: Yes = False) -> None:
    """Delete an endpoint, and cancel its pending deliveries.

    Example: gatewright webhooks delete crm
    """
    confirm(f"Delete the endpoint {endpoint}?", yes)
    row = run(lambda ctx: _found(ctx, endpoint, operator.remove))
    typer.echo(f"Deleted {row.id}.")


@app.command()
def rotate_secret(endpoint: Endpoint, secret_file: OwnSecret = None) -> None:
    """Replace the secret of an endpoint, and print the new secret.

    The new secret is printed alone on standard output, and is shown only once. For webhooks.secret_overlap, the
    previous secret signs, too.

    Example: gatewright webhooks rotate-secret crm
    """
    secret = _read_secret(secret_file)
    text, until = run(
        lambda ctx: _found(ctx, endpoint, lambda own, id_: operator.rotate_secret(own, id_, secret))
    )
    ends = "has ended" if until is None else f"signs until {cell(until)} UTC, too"
    print_secret(text, f"The previous secret {ends}. The new one is shown only here:")


@app.command()
def test(endpoint: Endpoint) -> None:
    """Send the event webhook.test to an endpoint.

    A running service sends it within a minute.

    Example: gatewright webhooks test crm
    """
    _require_enabled()
    delivery = run(lambda ctx: _found(ctx, endpoint, operator_deliveries.send_test))
    typer.echo(f"Queued the delivery {delivery}.")


@app.command()
def deliveries(
    endpoint: Endpoint,
    state: Annotated[
        DeliveryState | None, typer.Option(metavar="STATE", help="pending, delivered, failed or cancelled.")
    ] = None,
    before: Annotated[
        str | None, typer.Option(metavar="ID", help="Only older ones than this delivery of the endpoint.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, metavar="NUMBER", help="Deliveries at most.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List the deliveries of an endpoint, newest first.

    Example: gatewright webhooks deliveries crm --state failed
    """

    async def job(ctx: Context) -> Sequence[ListedDelivery]:
        row = await operator.find(ctx, endpoint)
        return await operator_deliveries.list_deliveries(ctx, row.id, state=state, before=before, limit=limit)

    found = run(job)
    if as_json:
        print_json([delivery_shape(row) for row in found])
        return
    if found:
        titles = ("ID", "Type", "State", "Attempts", "Status", "Error", "Created", "Next attempt")
        print_table(titles, map(_row, found), {"failed": "red"})
    typer.echo("1 delivery" if len(found) == 1 else f"{len(found)} deliveries")


@app.command()
def redeliver(
    delivery: Annotated[
        list[str], typer.Argument(metavar="DELIVERY", help="Identifiers of deliveries, as listed.")
    ],
) -> None:
    """Send the events of deliveries again.

    Each event keeps its webhook-id. A running service sends the events within a minute. If a delivery cannot be
    repeated, the others are repeated nevertheless.

    Example: gatewright webhooks redeliver Tz4Xc7Vb1Nm8Ad5Sf2Gh9Jk6Pl3Oi0Uy
    """
    _require_enabled()

    async def job(ctx: Context) -> int:
        queued = 0
        for past in delivery:
            try:
                new = await ctx.in_new_transaction(partial(operator_deliveries.redeliver, delivery_id=past))
            except Refusal as refusal:
                typer.echo(f"gatewright: {past}: {refusal.message}", err=True)
            else:
                typer.echo(f"Queued the delivery {new}.")
                queued += 1
        return queued

    if run(job) < len(delivery):
        raise typer.Exit(1)


@app.command()
def verify(
    secret_file: Annotated[str, typer.Option(metavar="FILE", help="File with the secret of the endpoint.")],
) -> None:
    """Verify the signature of a captured request.

    The request is read from standard input: the headers, one per line, an empty line, and the body exactly as it was
    received.

    Example: gatewright webhooks verify --secret-file secret.txt < request.txt
    """
    secret = _read_secret(secret_file) or ""
    try:
        sent_at = signature.verify(sys.stdin.buffer.read(), secret)
    except ValueError as error:
        typer.echo(f"The signature is wrong: {error}", err=True)
        raise typer.Exit(1) from None
    typer.echo("The signature is right.")
    if abs(system_clock() - sent_at) > signature.TOLERANCE:
        typer.echo(
            f"Receivers refuse the request now, because it was sent at {sent_at:%Y-%m-%d %H:%M:%S} UTC:"
            f" they accept a difference of {signature.TOLERANCE.total_seconds() / 60:.0f} minutes."
        )


async def _found(ctx: Context, endpoint: str, rule: Callable[[Context, str], Awaitable[Result]]) -> Result:
    """Run a rule on the endpoint with this id or name, in a transaction of its own."""
    row = await ctx.in_new_transaction(lambda own: operator.find(own, endpoint))
    return await rule(ctx, row.id)


def _read_secret(path: str | None) -> str | None:
    if path is None:
        return None
    with file_errors(f"--secret-file: {path}"):
        return Path(path).read_text("utf-8").strip()


def _are_enabled() -> bool:
    return check_config.read()[WebhookSettings].enabled


def _require_enabled() -> None:
    if not _are_enabled():
        raise ConfigurationError("webhooks.enabled: is false, so nothing is sent")


def _row(row: ListedDelivery) -> tuple[object, ...]:
    shape: Any = delivery_shape(row)
    attempts = (row.attempts, row.last_status, row.last_error)
    return row.id, row.type, row.state, *attempts, row.created_at, shape["nextAttempt"] and row.next_attempt
