"""`gatewright signing-keys`: Administer the keys that sign tokens."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import Annotated

import typer

from domain.context import Context
from domain.errors import BadRequest, Unavailable
from domain.jwt import rotation
from domain.jwt.rotation import KeyPair, Rule
from models.signing_key import SigningKeyRow
from server.cli.options import Yes, confirm
from server.cli.output import print_table
from server.cli.support import run, run_services
from server.components.jwt import SigningKeyStore
from server.config.groups.jwt import JwtSettings
from server.services import Services

app = typer.Typer(help="Administer the keys that sign tokens.", no_args_is_help=True)

ATTEMPTS, PAUSE = 350, 0.1
"""How often, and at intervals of how many seconds, a command tries to get the lease. A crashed instance holds it for
30 s.
"""


@app.command("list")
def list_keys() -> None:
    """List the keys, newest first, with their states and times.

    Example: gatewright signing-keys list
    """
    titles = ("Key", "Algorithm", "State", "Created", "Signs from", "Signs until", "Published until")
    rows = [
        (row.kid, row.algorithm, state, row.created_at, row.signs_from, row.signs_until, row.published_until)
        for row, state in run(rotation.list_keys)
    ]
    print_table(titles, rows, {"signing": "green", "revoked": "red"})


@app.command()
def rotate(
    algorithm: Annotated[
        str | None, typer.Option(metavar="ALGORITHM", help="Only the key of this algorithm, such as ES256.")
    ] = None,
    now: Annotated[bool, typer.Option("--now", help="Sign with the new key at once.")] = False,
) -> None:
    """Create new keys, which begin to sign after jwt.publish_ahead.

    With --now they sign at once: services that verify tokens must then fetch the new keys first.

    Example: gatewright signing-keys rotate --algorithm ES256
    """
    run_services(partial(_rotate, algorithm=algorithm, now=now))
    typer.echo("The new keys sign from now on." if now else "The new keys are published.")


@app.command()
def revoke(
    kid: Annotated[str, typer.Argument(metavar="KEY", help="The key, as listed.")], yes: Yes = False
) -> None:
    """Revoke a key, and replace it by another one at once.

    After at most 30 seconds no instance publishes the revoked key or signs with it. Services refuse tokens that it has
    signed as soon as they fetch the keys again.

    Example: gatewright signing-keys revoke oKIywvGUpTVTyxMQ3bwIIeQUudfr_CkLMjCE19ECD-U
    """
    confirm(f"Revoke {kid}, and with it every token it has signed?", yes)
    run_services(partial(_revoke, kid=kid))
    typer.echo(f"Revoked {kid}.")


@app.command()
def export_public() -> None:
    """Print the published keys as a JSON Web Key Set.

    Example: gatewright signing-keys export-public > jwks.json
    """

    async def job(services: Services) -> bytes:
        await _keys(services).reload()
        return _keys(services).document.body

    typer.echo(run_services(job))


def _keys(services: Services) -> SigningKeyStore:
    return services.port[SigningKeyStore]


async def _rotate(services: Services, *, algorithm: str | None, now: bool) -> None:
    settings = services.settings[JwtSettings]
    if not settings.enabled:
        raise BadRequest("jwt.enabled is false: no keys are used")
    if algorithm is not None and algorithm not in settings.algorithms:
        raise BadRequest(f"{algorithm} is none of jwt.algorithms: {', '.join(settings.algorithms)}")
    algorithms = settings.algorithms if algorithm is None else (algorithm,)
    holder = _keys(services).holder

    def rule(pairs: Mapping[str, KeyPair]) -> Callable[[Context], Awaitable[None]]:
        return partial(rotation.rotate, pairs=pairs.values(), holder=holder, at_once=now)

    await _change(services, algorithms, rule)


async def _revoke(services: Services, *, kid: str) -> None:
    async def find(ctx: Context) -> SigningKeyRow:
        return await rotation.find(ctx, kid)

    row = await services.unit_of_work.run(find)
    holder = _keys(services).holder
    await _change(
        services,
        (row.algorithm,),
        lambda pairs: partial(rotation.revoke, kid=kid, pairs=pairs, holder=holder),
    )


async def _change(services: Services, algorithms: Iterable[str], rule: Rule) -> None:
    """Change keys when no instance of the service does. Raises Unavailable."""
    for _ in range(ATTEMPTS):
        if await _keys(services).change(algorithms, rule):
            return
        await asyncio.sleep(PAUSE)
    raise Unavailable("Another instance is changing signing keys; try again later")
