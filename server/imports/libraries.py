"""The libraries that everything is built on, without what they load for uses that a service has not.

To be imported before anything else that imports them: whoever comes first decides what a library gets.
"""

from server.imports import without


def _unknown(distribution: str) -> str:
    return f"{distribution}, of some version"


# What passwords are hashed with stands in the settings, not in a file of passlib's. With the first hash, passlib would
# look up which version hashes for it, to tell a log that nobody keeps: a megabyte, and 25 ms of somebody's sign-in.
with without(hollow={"importlib.metadata": {"version": _unknown}}, late={"configparser": ("ConfigParser",)}):
    import passlib.context
    import passlib.handlers.argon2

# Archives and words that were mistyped are for commands; nobody unpacks what those two compress.
with without("bz2", "lzma", late={"difflib": ("get_close_matches",)}):
    import typer

# Which plugins and versions are installed is of interest only to who asks for a database or a plugin of somebody else.
# The session of each thread is what this service has none of: it has one for each transaction.
with without(
    hollow={
        "sqlalchemy.ext.asyncio.scoping": ("async_scoped_session",),
        "sqlalchemy.orm.scoping": ("QueryPropertyDescriptor", "scoped_session"),
    },
    late={"importlib.metadata": ("entry_points", "version")},
):
    import pydantic.networks
    import pydantic.root_model
    import sqlalchemy.ext.asyncio

__all__ = ["passlib", "pydantic", "sqlalchemy", "typer"]
