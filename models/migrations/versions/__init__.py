"""One module per migration, numbered; none of them imports `models`."""
