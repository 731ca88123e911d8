"""`gatewright providers`: what is configured, and whether it agrees with what the providers publish."""

import asyncio
from typing import Annotated

import typer

from server.commands import configuration
from server.providers import inspecting
from server.providers.clients import calls_of
from server.providers.configuration import Configuration, configurations
from server.settings import Settings
from server.sources import ConfigurationError

app = typer.Typer(help="Look at the identity providers.", no_args_is_help=True)


@app.callback()
def providers() -> None:
    """Look at the identity providers."""


@app.command("list")
def list_() -> None:
    """List the configured providers with their kind, and what to register with each."""
    settings = configuration.read()
    for one in configurations(settings).values():
        typer.echo(f"{one.habits.id:20}{_kind(one):20}{redirect_uri(settings, one.habits.id)}")


@app.command()
def check(
    provider_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="All of them unless named.")
    ] = None,
) -> None:
    """Ask each provider what it publishes, and say what does not agree with its settings and how to mend it."""
    settings = configuration.read()
    chosen = _chosen(configurations(settings), provider_id)
    problems = asyncio.run(_inspect(settings, chosen))
    for one in chosen:
        typer.echo(f"{one.habits.id}: {_kind(one)}")
        typer.echo(f"  redirect URI to register: {redirect_uri(settings, one.habits.id)}")
        for problem in problems[one.habits.id]:
            typer.echo(f"  problem: {problem}")
        if not problems[one.habits.id]:
            typer.echo(f"  {_verdict(one)}")
    if not chosen:
        typer.echo("No provider is configured.")
    if any(problems.values()):
        raise typer.Exit(1)


def redirect_uri(settings: Settings, provider_id: str) -> str:
    """Give the address that users come back to, as the provider has to know it (behaviour 7.2)."""
    return f"{settings.base_url}{settings.base_path}/callback/{provider_id}"


def _chosen(configured: dict[str, Configuration], provider_id: str | None) -> list[Configuration]:
    if provider_id is None:
        return list(configured.values())
    if provider_id not in configured:
        raise ConfigurationError(f"providers.{provider_id}: is not configured")
    return [configured[provider_id]]


async def _inspect(settings: Settings, chosen: list[Configuration]) -> dict[str, list[str]]:
    """Give the problems of each provider by its id, asking all of them at once."""
    async with calls_of(settings) as calls:
        found = await asyncio.gather(*(inspecting.problems(calls, one) for one in chosen))
    return {one.habits.id: problems for one, problems in zip(chosen, found, strict=True)}


def _kind(one: Configuration) -> str:
    return "OpenID Connect" if one.habits.is_openid else "OAuth 2.0"


def _verdict(one: Configuration) -> str:
    if one.habits.is_openid:
        return "what it publishes agrees with the settings"
    return "publishes nothing to compare with; the settings are complete"
