"""Laboratories: long experiments, and the peers, browsers and generated clients that they need."""
