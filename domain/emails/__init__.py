"""Email addresses: verification and change."""
