"""Moving in: users read from other programs' databases and files, checked, and stored batch by batch."""
