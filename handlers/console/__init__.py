"""The operations with the tag `console`: pages for administrators.

A feature adds its pages in a module of its own in this package. What the shared pages show of the feature, the module
declares in `NAVIGATION`, `USER_SECTIONS`, `TILES`, `PANELS` and `SEARCHES` (see `handlers.console.registry`),
`ERROR_TEXTS` and `FIELD_TEXTS` (see `handlers.console.texts`), and `ERROR_FIELDS` (see `handlers.pages.field_texts`).
"""
