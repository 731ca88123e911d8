"""Write the profile, membership and roles of the user of a sign-in through a connection, after the last factor."""
