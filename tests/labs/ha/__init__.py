"""The service on a cluster that loses its parts: `make test-ha`. No part of the tests; it takes minutes."""
