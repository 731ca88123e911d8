"""Send emails, webhooks and logout tokens after the commit of the transaction that queued them as rows.

An instance claims a row with a lease before it processes the row.
"""
