"""A journey through every operation of the contract."""

OF_UNDELIVERED_MAIL = frozenset({"mail.send_again", "mail.give_up"})
"""Operations that are refused on this journey, because every email is delivered at once."""
