"""The deletion of an account by the owner of its address, who did not create it."""
