"""Requests to URLs that users and clients choose: where they may go, and what a response may cost."""
