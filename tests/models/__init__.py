"""Tests of the tables and migrations."""
