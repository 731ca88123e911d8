"""SQLAlchemy's INSERT with ON CONFLICT, which each database has in a form of its own."""

from importlib import import_module
from typing import Any

from sqlmodel import SQLModel

from server.database import Database


def insert(database: Database, table: type[SQLModel]) -> Any:
    """Give the INSERT of the database's own dialect, the only one that is loaded."""
    return import_module(f"sqlalchemy.dialects.{database.dialect}").insert(table)
