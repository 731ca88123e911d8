"""Verify requests of webhooks by standardwebhooks."""

import base64
import json
import sys

from standardwebhooks import Webhook, WebhookVerificationError

for line in sys.stdin:
    request = json.loads(line)
    try:
        event = Webhook(request["secret"]).verify(base64.b64decode(request["body"]), request["headers"])
        print("ok", event["type"], flush=True)
    # A malformed signature, or a body that is not UTF-8, is a ValueError.
    except (WebhookVerificationError, ValueError) as error:
        print("refused", error, flush=True)
