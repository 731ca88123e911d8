"""Files served in addition to the operations: the OpenAPI document, Swagger UI, and static files of hosted pages."""
