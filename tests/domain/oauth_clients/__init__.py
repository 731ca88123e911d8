"""Rules about OAuth clients."""
