"""SQLAlchemy's INSERT with ON CONFLICT, which each database has in a form of its own."""

from importlib import import_module
from typing import Any

from sqlmodel import SQLModel

from models import metadata


def insert(dialect: str, model: type[SQLModel]) -> Any:
    """Give the INSERT of the database's own dialect, the only one that is loaded; it goes without the ORM."""
    table = metadata.tables[str(model.__tablename__)]
    return import_module(f"sqlalchemy.dialects.{dialect}").insert(table)
