"""Organizations, their members, invitations and teams."""
