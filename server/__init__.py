"""The composition root: everything is wired together here."""
