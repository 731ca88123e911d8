"""Administration of users, shared by the command line and the administration API."""
