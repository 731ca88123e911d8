"""HTTP below ASGI: the protocol, and uvicorn's server around it."""
