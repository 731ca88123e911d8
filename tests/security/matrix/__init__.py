"""The matrix: every way into an account, against every event that may have to end it.

A capability brings its ways in as a module of `ways` and its events as a module of `events`; both are discovered.
"""
