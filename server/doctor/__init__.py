"""What `gatewright doctor` looks at: each module judges one side of the service, and says how to mend what is wrong."""
