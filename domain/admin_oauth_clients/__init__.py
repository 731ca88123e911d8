"""Administration of clients."""
