"""Tables whose rows let a user in say so, as `__access__` on their class."""

import re
from collections.abc import Iterator

from sqlalchemy import Column, ForeignKey, LargeBinary, MetaData, String, Table

from models.base import metadata, tables
from tests.security.matrix.matrix import other_tables

NAMED = re.compile("secret|digest|key|token|code|password|hash|credential")
HARMLESS = {str(table.__tablename__) for table in other_tables()}
"""Tables with a user and a secret that let nobody in; the reasons are in tests/security/matrix/ways."""
WITHOUT_A_SECRET = {"oauth_consent", "oauth_grant"}
"""Tables that let somebody in without a secret of their own: that of a session, or of a token."""
OF_A_COMPANY = {"scim_token"}
"""Tables with secrets of a company, which name who made a row without a foreign key: the row outlives that user."""
PREPARED = {"oauth_client", "oauth_consent", "scim_token"}
"""Tables that let nobody in by themselves, but whose rows a stranger may have prepared in the account of another."""


def with_secret_of_a_user(known: MetaData) -> Iterator[str]:
    """Yield the tables that refer to a user and have a column for a secret, digest or key."""
    for table in known.sorted_tables:
        of_user = any(key.target_fullname == "user.id" for key in table.foreign_keys)
        own = [column for column in table.columns if not column.foreign_keys]
        if of_user and any(isinstance(one.type, LargeBinary) or NAMED.search(one.name) for one in own):
            yield table.name


def declaring() -> set[str]:
    return {str(table.__tablename__) for table in tables() if hasattr(table, "__access__")}


def test_tables_that_let_a_user_in_say_so() -> None:
    known = set(with_secret_of_a_user(metadata))
    assert known == (declaring() | HARMLESS) - WITHOUT_A_SECRET - OF_A_COMPANY
    assert declaring() & HARMLESS == PREPARED


def test_a_table_that_does_not_say_so_is_found() -> None:
    known = MetaData()
    Table("user", known, Column("id", String, primary_key=True))
    Table("consent", known, Column("user_id", ForeignKey("user.id")), Column("refresh_token", String))
    Table("device", known, Column("owner", ForeignKey("user.id")), Column("proof", LargeBinary))
    Table("label", known, Column("user_id", ForeignKey("user.id")), Column("text", String))

    assert list(with_secret_of_a_user(known)) == ["consent", "device"]


def test_every_declaration_fits_its_table() -> None:
    names = []
    for model in tables():
        columns = metadata.tables[str(model.__tablename__)].c
        for access in getattr(model, "__access__", ()):
            names.append(access.name)
            assert access.owner in columns
            assert access.expiry is None or access.expiry in columns
    assert len(names) == len(set(names))
