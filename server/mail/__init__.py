"""Mail: senders, templates, the worker that delivers what is queued."""
