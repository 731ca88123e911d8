"""The commands of the program `gatewright`, one module per subject."""
