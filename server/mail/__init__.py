"""Mail: senders, templates, the worker that delivers queued emails."""
