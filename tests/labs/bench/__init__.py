"""The whole service measured beside a bare ASGI application and Better Auth: `make bench`, never an assertion."""
