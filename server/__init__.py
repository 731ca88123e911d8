"""The server: adapters of the ports of `domain`, the HTTP pipeline and the command line, wired together here."""
