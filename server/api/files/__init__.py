"""What is served beside the operations: documents, and the static files of pages."""
