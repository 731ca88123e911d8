"""The documentation site: its pages in docs/pages, and what makes further pages of the settings, refusals and contract."""
