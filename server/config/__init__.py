"""Settings: reading them from their sources, checking their values, and creating policies from them."""
