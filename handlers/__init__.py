"""One module per tag of the contract, one async function per operation."""
