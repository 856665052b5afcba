"""Calls Amazon Bedrock with boto3.

Reads one JSON object from stdin: {region, calls: [{url, credentials: {key, secret, session}, operation, parameters}]}.
Writes one JSON object to stdout for each call, in order: {answer} or {error: {type, code, message}}, with a stream's events
as a list. All calls are signed: boto3 sends a bearer's key over HTTPS alone.
"""

import json
import os
import sys

# Nothing of the machine's own account gets in.
os.environ["AWS_CONFIG_FILE"] = os.environ["AWS_SHARED_CREDENTIALS_FILE"] = os.devnull

import boto3
from botocore.config import Config
from botocore.eventstream import EventStreamError
from botocore.exceptions import ClientError
from botocore.response import StreamingBody

ONCE = Config(retries={"total_max_attempts": 1}, proxies={})


class Clients:
    """One for each address and key, as it takes a while to make one."""

    def __init__(self, region):
        self.region = region
        self.made = {}

    def of(self, url, credentials):
        name = (url, json.dumps(credentials))
        if name not in self.made:
            self.made[name] = boto3.client(
                "bedrock-runtime",
                region_name=self.region,
                endpoint_url=url,
                config=ONCE,
                aws_access_key_id=credentials["key"],
                aws_secret_access_key=credentials["secret"],
                aws_session_token=credentials["session"],
            )
        return self.made[name]


def plain(value):
    """What boto3 gives, as JSON has it: streams are read, and bytes are texts."""
    if isinstance(value, dict):
        return {name: plain(member) for name, member in value.items() if name != "ResponseMetadata"}
    if isinstance(value, StreamingBody):
        return value.read().decode()
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, (str, int, float)) or value is None:
        return value
    return [plain(member) for member in value]


def outcome(clients, call):
    try:
        client = clients.of(call["url"], call["credentials"])
        return {"answer": plain(getattr(client, call["operation"])(**call["parameters"]))}
    except ClientError as error:
        kind = "stream" if isinstance(error, EventStreamError) else "answer"
        return {"error": {"type": kind, "code": error.response["Error"]["Code"], "message": str(error)}}


def main():
    task = json.load(sys.stdin)
    clients = Clients(task["region"])
    for call in task["calls"]:
        print(json.dumps(outcome(clients, call)), flush=True)


main()
