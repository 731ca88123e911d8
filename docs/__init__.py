"""The documentation site: the pages in docs/pages, and generators for pages about settings, errors and the contract."""
