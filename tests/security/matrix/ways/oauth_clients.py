"""What clients of the OAuth provider authenticate by lets no one in: they act for a user only under a grant."""

from models.oauth_client import OauthClient
from models.oauth_code import OauthCode

OTHER_TABLES = {
    OauthClient: "the digest of a secret of an application, which acts for a user only under a grant",
    OauthCode: "a code that its client redeems within a minute, and that ends with its session",
}
