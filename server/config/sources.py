"""The sources of settings: a TOML file and GATEWRIGHT_* variables, converted to tables of typed values.

pydantic-settings would replace ten lines: its sources have no origins, suggestions, deprecated names or strict types.
"""

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

PREFIX = "GATEWRIGHT_"
CONFIG = "GATEWRIGHT_CONFIG"
"""The variable that names the TOML file. It is not a setting."""
FILE_SUFFIX = "_FILE"
"""The suffix of a variable that names a file with the value of the setting."""
_WORDS = {
    **dict.fromkeys(("true", "1", "yes", "on"), True),
    **dict.fromkeys(("false", "0", "no", "off"), False),
}


class ConfigurationError(Exception):
    """The service cannot start as it is configured; one line per problem, each with the key's name."""


def variable(path: tuple[str, ...]) -> str:
    """Return the variable for a setting: `session.cookie_name` is GATEWRIGHT_SESSION__COOKIE_NAME."""
    return PREFIX + "__".join(path).upper()


def fields(
    model: type[BaseModel], above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], FieldInfo]]:
    """Yield every setting of a model and its submodels, with its path; omit top-level tables whose keys are names."""
    for name, field in model.model_fields.items():
        path = (*above, field.alias or name)
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from fields(field.annotation, path)
        elif above or table_of(field) is None:
            yield path, field


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return the end of a sentence that suggests the known name nearest to an unknown one; empty if none is near."""
    prefix = PREFIX if name.startswith(PREFIX) else ""  # It would make all names similar.
    nearest = get_close_matches(name.removeprefix(prefix), [one.removeprefix(prefix) for one in known], n=1)
    return f"; did you mean {prefix}{nearest[0]}?" if nearest else ""


def values(model: BaseModel, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], FieldInfo, Any]]:
    """Yield every setting with its path, field and value, including tables whose keys are names."""
    for name, field in type(model).model_fields.items():
        path, value = (*above, field.alias or name), getattr(model, name)
        if isinstance(value, BaseModel):
            yield from values(value, path)
        elif table_of(field) is not None:
            for key, entry in value.items():
                yield from values(entry, (*path, key))
        else:
            yield path, field, value


def value_of(settings: BaseModel, key: str) -> Any:
    """Return the value of a setting by its dotted key, such as `audit.retention`. Raises ValueError if unknown."""
    *groups, name = key.split(".")
    group: Any = settings
    for one in groups:
        group = getattr(group, one, None)
    field = type(group).model_fields.get(name) if isinstance(group, BaseModel) else None
    if field is None or isinstance(getattr(group, name), BaseModel):
        raise ValueError(f"there is no setting {key}")
    return getattr(group, name)


def table_of(field: FieldInfo) -> type[BaseModel] | None:
    """Return the model of a table whose keys are names (`providers.<id>`), or None for any other field."""
    kinds = get_args(field.annotation) if get_origin(field.annotation) is dict else ()
    return kinds[1] if kinds and isinstance(kinds[1], type) and issubclass(kinds[1], BaseModel) else None


def read_file(path: Path, *, required: bool) -> dict[str, Any]:
    """Return the values of the settings file; empty if an optional file is missing. Raises ConfigurationError."""
    with file_errors(str(path)):
        if path.exists():
            return tomllib.loads(path.read_text("utf-8"))
    if required:
        raise ConfigurationError(f"{CONFIG}: there is no file {path}")
    return {}


def line_numbers(path: Path, former: "FormerKeys") -> dict[tuple[str, ...], int]:
    """Return the line of each key and table in the settings file, deprecated keys by their new name.

    Raises ConfigurationError.
    """
    lines: dict[tuple[str, ...], int] = {}
    if not read_file(path, required=False):
        return lines
    header, statement, begin = "", "", 0
    for number, line in enumerate(path.read_text("utf-8").split("\n"), 1):
        if statement:
            statement += f"\n{line}"
        else:
            begin, statement = number, line
        if begin == number and line.lstrip().startswith("["):
            header, statement = line, ""
        try:
            table = tomllib.loads(f"{header}\n{statement}")
        except ValueError:  # The value continues on the next line.
            continue
        lines = dict.fromkeys(nodes(table), begin) | lines
        statement = ""
    return {former.get(key, key): number for key, number in lines.items()}


def nodes(table: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the path of every table and value in nested tables, each path beginning with `above`."""
    for key, value in table.items():
        yield (*above, key)
        if isinstance(value, dict):
            yield from nodes(value, (*above, key))


def merged(lower: Mapping[str, Any], higher: Mapping[str, Any]) -> dict[str, Any]:
    """Return both tables merged, nested tables too; a value in `higher` replaces that in `lower`."""
    both = {
        key: merged(lower[key], value)
        for key, value in higher.items()
        if isinstance(value, dict) and isinstance(lower.get(key), dict)
    }
    return {**lower, **higher, **both}


FormerKeys = Mapping[tuple[str, ...], tuple[str, ...]]
"""Deprecated keys, each with the key that replaced it."""


def in_table(values: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return the table `name` of `values`; an empty one if it is missing or not a table."""
    table = values.get(name)
    return table if isinstance(table, dict) else {}


def renamed(values: Mapping[str, Any], former: FormerKeys) -> dict[str, Any]:
    """Return the values of a settings file with deprecated keys replaced. Raises ConfigurationError if both are set."""
    tables = {name: dict(value) if isinstance(value, dict) else value for name, value in values.items()}
    for (group, name), (new_group, new_name) in former.items():
        if name not in in_table(tables, group):
            continue
        if new_name in in_table(tables, new_group):
            raise ConfigurationError(f"{new_group}.{new_name}: both it and {group}.{name} are set")
        value = tables[group].pop(name)
        tables[new_group] = {**in_table(tables, new_group), new_name: value}
        if not tables[group]:
            del tables[group]
    return tables


class Environment:
    """The GATEWRIGHT_* variables, converted to the types of their settings."""

    def __init__(self, settings: type[BaseModel], environ: Mapping[str, str], former: FormerKeys) -> None:
        """Read the variables; `former` holds the deprecated keys, whose variables still work."""
        known = {variable(path): (path, field) for path, field in fields(settings)}
        known |= {variable(old): known[variable(key)] for old, key in former.items()}
        known |= _named_tables(settings, environ)
        self.values: dict[str, Any] = {}
        self.origins: dict[tuple[str, ...], str] = {}
        """The variable of each value, by the path of the setting."""
        self.unknown: dict[str, str] = {}
        """Variables with the prefix that name no setting, each with a message; they only cause a warning."""
        for name in sorted(name for name in environ if name.startswith(PREFIX) and name != CONFIG):
            self._take(name, environ[name], known)

    def _take(self, name: str, text: str, known: Mapping[str, tuple[tuple[str, ...], FieldInfo]]) -> None:
        if name not in known and name.removesuffix(FILE_SUFFIX) in known:
            path, field = known[name.removesuffix(FILE_SUFFIX)]
            with file_errors(f"{name}: {text}"):
                text = Path(text).read_text("utf-8").strip()
        elif name in known:
            path, field = known[name]
        else:
            self.unknown[name] = f"names no setting{suggestion(name, known)}"
            return
        if path in self.origins:
            raise ConfigurationError(f"{'.'.join(path)}: both {self.origins[path]} and {name} are set")
        self.origins[path] = name
        *above, last = path
        table = self.values
        for key in above:
            table = table.setdefault(key, {})
        table[last] = _typed(field.annotation, text)

    def origin(self, path: tuple[str, ...]) -> str | None:
        """Return the variable that sets a value, or the table with the value; None if there is none."""
        parts = (path[:length] for length in range(len(path), 0, -1))
        return next((self.origins[part] for part in parts if part in self.origins), None)


def _named_tables(
    settings: type[BaseModel], environ: Mapping[str, str]
) -> dict[str, tuple[tuple[str, ...], FieldInfo]]:
    """Return the settings for GATEWRIGHT_PROVIDERS__<ID>__<KEY>; `_` in an id means `-`, which shells refuse."""
    known: dict[str, tuple[tuple[str, ...], FieldInfo]] = {}
    for name, field in settings.model_fields.items():
        table, begin = table_of(field), variable((name,)) + "__"
        if table is None:
            continue
        for entry in {key[len(begin) :].partition("__")[0] for key in environ if key.startswith(begin)}:
            path = (name, entry.lower().replace("_", "-"))
            known |= {f"{begin}{entry}__{key[-1].upper()}": (key, kind) for key, kind in fields(table, path)}
    return known


@contextmanager
def file_errors(name: str) -> Iterator[None]:
    """Raise ConfigurationError, with a line that begins with `name`, if the block cannot read or write a file."""
    try:
        yield
    except (OSError, ValueError) as fault:
        raise ConfigurationError(f"{name}: {reason(fault)}") from None


def reason(fault: OSError | ValueError) -> str:
    """Return the problem of a file in one line."""
    return (
        (fault.strerror or "cannot be read") if isinstance(fault, OSError) else " ".join(str(fault).split())
    )


def _typed(annotation: Any, text: str) -> Any:
    """Convert text to the boolean, number, list or table that the setting requires; leave invalid text unchanged."""
    kind = _kind(annotation)
    if kind is bool:
        return _WORDS.get(text.strip().lower(), text)
    if kind is int:
        return int(text) if re.fullmatch(r"-?[0-9]{1,300}", text.strip(), re.ASCII) else text
    if kind is tuple:
        return _from_json(text) if text.lstrip().startswith("[") else _split(text)
    return _from_json(text) if kind is dict else text


def _kind(annotation: Any) -> Any:
    """Return the type of a field without generics; of a union the first."""
    origin = get_origin(annotation)
    if origin in {Union, UnionType}:
        return _kind(get_args(annotation)[0])
    return origin or annotation


def _split(text: str) -> list[str]:
    return [item.strip() for item in re.split(r"[,\n]", text) if item.strip()]


def _from_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
