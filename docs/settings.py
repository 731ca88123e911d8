"""Generate the reference of settings from the settings classes; it is committed: `python -m docs.settings
[--check]`."""

import sys
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from docs.markdown import code, one_line, page, table
from server.cli.settings import BY_CORES
from server.config.effective import anchor, shown
from server.config.settings import AllSettings
from server.config.sources import fields, table_of, variable

PAGE = Path(__file__).parent / "pages" / "reference" / "settings.md"
_ID = "<id>"

_INTRODUCTION = """
# Settings

A TOML file (`gatewright.toml`, or the file that `GATEWRIGHT_CONFIG` names) overrides the defaults, and environment
variables override both. The variable of `session.cookie_name` is `GATEWRIGHT_SESSION__COOKIE_NAME`. With the suffix
`_FILE`, a variable names a file from which the value is read. Durations are seconds or `90s`, `15m`, `24h`, `7d`. In
variables, lists are comma-separated and tables are JSON: `GATEWRIGHT_ADMIN__ROLES='{"editor": {}}'`. An invalid
setting stops startup with an error that names it. `gatewright check-config` checks the settings without starting the
service, and reports `GATEWRIGHT_` variables that name no setting. `gatewright settings` shows the values in force and
where each comes from.

The same two settings in a file and in the environment:

```toml
app_name = "Example"

[session]
expires_in = "30d"
```

```sh
export GATEWRIGHT_APP_NAME=Example
export GATEWRIGHT_SESSION__EXPIRES_IN=30d
```
"""


def text() -> str:
    """Return the page."""
    groups: dict[str, list[tuple[tuple[str, ...], FieldInfo]]] = {}
    for path, field in fields(AllSettings):
        groups.setdefault(".".join(path[:-1]), []).append((path, field))
    return page(
        "<!-- Written by `make reference` from the settings classes; do not edit. -->",
        _INTRODUCTION,
        *(_group(name, rows) for name, rows in groups.items()),
        *_tables(),
    )


def _group(name: str, rows: list[tuple[tuple[str, ...], FieldInfo]]) -> str:
    """Return the settings of a group under a common heading."""
    title = f"`{name}`" if name else "The service"
    id_ = anchor(tuple(name.split(".")) if name else ())
    lines = (_row(path, field) for path, field in rows)
    return page(f"## {title} {{ #{id_} }}", _meaning_of(name), table(_HEAD, lines))


_HEAD = ("Setting", "Default", "Meaning")


def _meaning_of(name: str) -> str:
    """Return the description of a group: the first paragraph of its class, without the prefix that the heading
    repeats."""
    model: type[BaseModel] = AllSettings
    for step in name.split(".") if name else ():
        annotation = next(
            field.annotation for key, field in model.model_fields.items() if step in (key, field.alias)
        )
        model = annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else model
    return _summary(model) if name else ""


def _summary(model: type[BaseModel]) -> str:
    said = (model.__doc__ or "").split("\n\n")[0].rpartition("`: ")[2]
    return said[:1].upper() + one_line(said)[1:]


def _row(path: tuple[str, ...], field: FieldInfo) -> tuple[str, str, str]:
    name = ".".join(path)
    default = BY_CORES.get(name) or ("required" if field.is_required() else shown(field.get_default()))
    return f"`{name}`<br>`{variable(path)}`", default, f"{one_line(field.description or '')}{_choices(field)}"


def _choices(field: FieldInfo) -> str:
    """Return the allowed values, if they are listed."""
    kinds = [
        type_ for type_ in (field.annotation, *get_args(field.annotation)) if get_origin(type_) is Literal
    ]
    values = [value for literal in kinds[:1] for value in get_args(literal) if value != ""]
    lead = "Allowed values:" if get_origin(field.annotation) is tuple else "One of"
    return f" {lead} {', '.join(code(str(value)) for value in values)}." if values else ""


def _tables() -> list[str]:
    """Return the groups that are named, such as the providers."""
    made: list[str] = []
    for name, field in AllSettings.model_fields.items():
        model: Any = table_of(field)
        if model is not None:
            rows = [_row((name, _ID, *path), one) for path, one in fields(model)]
            made.append(
                page(f"## `{name}.{_ID}` {{ #{anchor((name,))} }}", _summary(model), table(_HEAD, rows))
            )
    return made


def main() -> None:
    """Write the page; with --check, only return whether it is up to date, as the exit status."""
    if "--check" in sys.argv[1:]:
        if PAGE.read_text("utf-8") != text():
            sys.exit(f"{PAGE.name} is not what the settings classes say: run make reference")
        return
    PAGE.write_text(text(), "utf-8")


if __name__ == "__main__":
    main()
