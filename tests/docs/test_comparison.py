"""The comparison with other products names a source in every cell, or says that there is none."""

import re

from tests.docs.typing_in import PAGES

PAGE = (PAGES / "comparison.md").read_text("utf-8")
SOURCES = dict(re.findall(r"^\[([\w-]+)\]: (https://\S+)$", PAGE, re.MULTILINE))
FUNCTIONS = PAGE.partition("\n## Form\n")[2].partition("\n## Measurements\n")[0]
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in FUNCTIONS.splitlines()
    if re.match(r"\| \w", line)
]


def test_every_cell_about_another_product_has_a_source() -> None:
    cells = [cell for row in ROWS for cell in row[2:]]

    assert len(ROWS) > 20
    assert {len(row) for row in ROWS} == {8}
    assert [cell for cell in cells if cell != "not found" and "](" not in cell and "][" not in cell] == []


def test_every_source_is_defined_and_listed() -> None:
    used = set(re.findall(r"\]\[([\w-]+)\]", PAGE))

    assert used == SOURCES.keys()
    assert [url for url in SOURCES.values() if f"| <{url}> |" not in PAGE] == []
