"""The documentation site: its pages in docs/pages, and what makes more of settings, refusals and contract."""
