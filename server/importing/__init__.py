"""Moving in: users read from other programs' databases and files, judged, and stored batch by batch."""
