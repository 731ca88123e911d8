"""Tables of users, and purposes of tokens, that let nobody in."""

from models import KnownNetwork, Outbox, Purpose

OTHER_TABLES = {
    KnownNetwork: "a network from which wrong passwords do not close the account; the password is still needed",
    Outbox: "an email on its way; the link or code in it is a row of its own, which decides",
}
OTHER_PURPOSES = {Purpose.SPENT: "a mark that an ID token was used, and of decoys: nothing accepts it"}
