"""Hand-written additions to the generated client: calls with retries, and the protection of an application.

`calls` is for programs that call the service. `service`, `tokens`, `webhooks` and `sign_in` are for applications
without a framework; `fastapi`, `flask` and `django` adapt them.
"""
