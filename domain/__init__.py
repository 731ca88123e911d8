"""The rules: no HTTP, no environment, no clock and no network of their own."""
