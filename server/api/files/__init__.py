"""Files served in addition to the operations: documents, and the static files of the hosted pages."""
