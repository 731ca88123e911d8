"""The operations with the tag `console`: pages for administrators.

A capability adds its pages in a module of its own here, and declares in it what the shared pages show of it:
`NAVIGATION`, `USER_SECTIONS`, `TILES`, `PANELS` and `SEARCHES` of `handlers.console.registry`, `ERROR_TEXTS` and
`FIELD_TEXTS` of `handlers.console.texts`, and `ERROR_FIELDS` of `handlers.pages.field_texts`.
"""
