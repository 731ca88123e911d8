"""What a sign-in through a connection gives its user once they have passed every factor."""
