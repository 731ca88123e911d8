"""Clients of the OAuth provider: none of what happens to them changes how users get in.

The end of their grants is tested with their operations.
"""

OTHER_AUDIT_EVENTS = {
    "oauth.client_auth_failed": "a refusal",
    "oauth_client.created": "lets an application in only with the consent of users",
    "oauth_client.updated": "changes an application",
    "oauth_client.disabled": "ends the access of an application",
    "oauth_client.deleted": "ends the access of an application",
    "oauth_client.secret_rotated": "changes how an application authenticates",
    "oauth_client.registered": "lets an application in only with the consent of users",
    "oauth_client.document_fetched": "lets an application in only with the consent of users",
    "oauth_client.document_refused": "a refusal",
    "oauth_client.grants_revoked": "ends the access of applications",
}
