"""Tables of directories, which let nobody into an account."""

from models.scim_link import ScimLink
from models.scim_token import ScimToken

OTHER_TABLES = {
    ScimLink: "what a directory says of a user, encrypted; opens nothing, and is deleted with the user",
    ScimToken: "opens the directory of a company, and no account; those that a stranger has made end with their access",
}
