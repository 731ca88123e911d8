"""The handlers of requests: one module or package per tag of the OpenAPI contract, one async function per operation."""
