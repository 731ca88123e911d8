"""Tests of the clients of identity providers, against a real one."""
