"""Tables of directories, which let nobody into an account."""

from models.scim_link import ScimLink

OTHER_TABLES = {
    ScimLink: "what a directory says of a user, encrypted; opens nothing, and is deleted with the user",
}
