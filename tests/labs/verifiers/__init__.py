"""Verifiers of other people, which know nothing of a running service but the address of its keys."""
