"""Reads the list of models with the official Anthropic package, page by page until the package sees no more.

Reads one JSON object from stdin, {url, key}, and writes one to stdout, {ids}.
"""

import json
import sys
from itertools import islice

import anthropic

# A package that never sees the end must not run for ever.
MOST_MODELS = 1000

task = json.load(sys.stdin)
client = anthropic.Anthropic(base_url=task["url"], auth_token=task["key"], max_retries=0)
models = islice(client.models.list(limit=2), MOST_MODELS)
print(json.dumps({"ids": [model.id for model in models]}))
