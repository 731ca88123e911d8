"""Domains whose users must sign in through the connection of their organization."""
