"""Devices that skip the second factor."""
