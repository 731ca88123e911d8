"""The sources of `gatewright import`. Each is a function with the decorator `@source` in a module of this package."""
