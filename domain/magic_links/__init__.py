"""Sign-in by mail: magic links and mailed codes."""
