"""The import of users from other programs' databases and files: read, checked, and stored batch by batch."""
