"""Figures of the service: how many users, sessions, sign-ins and emails there are."""
