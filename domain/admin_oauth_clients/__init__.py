"""Administration of OAuth clients."""
