"""Calls Google's Gemini API with google-genai.

Reads one JSON object from stdin: {calls: [{url, key, method, parameters}]}, where the method is one of `client.models`, or
`chat` with {model, config, messages}, each message a part. Writes one JSON object to stdout for each call, in order:
{answer} or {error: {code, status, message}}. The answer of a stream and of a chat is a list.
"""

import json
import sys

from google import genai
from google.genai import errors, types


def plain(answer):
    told = answer.model_dump(mode="json", exclude_none=True)
    if isinstance(answer, types.GenerateContentResponse) and not answer.function_calls:
        told["text"] = answer.text
    return told


def chat(client, model, config, messages):
    talk = client.chats.create(model=model, config=config)
    return [plain(talk.send_message(types.Part.model_validate(message))) for message in messages]


def answer(client, method, parameters):
    if method == "chat":
        return chat(client, **parameters)
    given = getattr(client.models, method)(**parameters)
    return [plain(chunk) for chunk in given] if method.endswith("_stream") else plain(given)


def outcome(call):
    client = genai.Client(api_key=call["key"], http_options={"base_url": call["url"]})
    try:
        return {"answer": answer(client, call["method"], call["parameters"])}
    except errors.APIError as error:
        return {"error": {"code": error.code, "status": error.status, "message": error.message}}


def main():
    for call in json.load(sys.stdin)["calls"]:
        print(json.dumps(outcome(call)), flush=True)


main()
