"""States of pages of the console, one module for each capability that has some of its own.

A module has `add`, which adds rows as installations have them, and `states` and `odd_states`, which yield the name of
each state while the page shows it: with these rows, and with names and texts that break pages.
"""

DAY = 86_400_000
"""Milliseconds, in which the database has times."""
ODD = (
    "a-name-without-a-space" * 500,
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "{{ 7 * 7 }} {% raw %}",
    "\u202egnp.tnemucod\u202c \u2067right to left\u2069",
    "عائشة بنت محمد",
    "=HYPERLINK(\"https://example.com\")",
    "",
    " ",
    "👩‍👩‍👧‍👦" * 40,
    "Z̸̢̛a̷l̵g̶o̴ " * 20,
    "line\nfeed\ttab",
)  # fmt: skip
"""Names that break pages: long, with markup, with direction marks, without anything to be seen."""
