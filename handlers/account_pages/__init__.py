"""The operations of openapi/paths/account_pages.yaml: the pages of one's own account."""
