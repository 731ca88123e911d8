"""Tests of the compiled pipeline."""
