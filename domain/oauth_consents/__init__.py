"""What users have allowed clients."""
