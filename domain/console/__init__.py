"""The console of administrators."""
