"""The documentation: what it shows is run, and the site is built of it."""
