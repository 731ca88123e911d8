"""The checks of `gatewright doctor`: each module checks one part of the service, and says how to fix problems."""
