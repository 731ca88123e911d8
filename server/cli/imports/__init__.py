"""The sources of `gatewright import`. Their modules declare them by `@source`; no list names them."""
