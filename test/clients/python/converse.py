"""Drives the official Python packages through conversations, as the TypeScript drivers beside it do.

Reads one JSON object from stdin: {url, key, conversations: [{client, model, stream, ask}], requests: [{client, body}]}.
Writes one JSON object to stdout for each conversation and then for each request, in order: {answers: [...]},
{answered: true} or {error: {type, message}}. With {lists_models: true}, the last is {ids} of all models, read page by page.
"""

import json
import sys
from itertools import islice

import anthropic
import openai

MOST_TURNS = 4
# A package that never sees the end of a list must not run for ever.
MOST_MODELS = 1000

# As in the packages' own generated tests: an answer that is not of the declared type is an error.
STRICT = {"_strict_response_validation": True}


class Chat:
    """openai, chat.completions"""

    finishes = {"stop": "stop", "tool_calls": "tool_calls", "length": "length", "content_filter": "refusal"}

    def __init__(self, url, key):
        self.client = openai.OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0, **STRICT)

    def open(self, ask):
        return [
            {"role": "developer", "content": ask["system"]},
            {"role": "user", "content": [self.part(part) for part in ask["user"]]},
        ]

    def part(self, part):
        if isinstance(part, str):
            return {"type": "text", "text": part}
        return {"type": "image_url", "image_url": {"url": data_url(part)}}

    def body(self, model, ask, messages):
        body = {"model": model, "messages": messages}
        if ask["tools"]:
            body["tools"] = [
                {
                    "type": "function",
                    "function": {
                        "name": tool["name"],
                        "description": tool["description"],
                        "parameters": tool["schema"],
                    },
                }
                for tool in ask["tools"]
            ]
        if ask["effort"]:
            body["reasoning_effort"] = ask["effort"]
        return body

    def request(self, body, stream):
        if not stream:
            answer = self.client.chat.completions.create(**body)
            return answer, self.reasoning(answer.choices[0].message)
        thoughts = []
        with self.client.chat.completions.stream(**body, stream_options={"include_usage": True}) as events:
            for event in events:
                if event.type == "chunk" and event.chunk.choices:
                    thoughts.append(self.reasoning(event.chunk.choices[0].delta))
            return events.get_final_completion(), "".join(thoughts)

    def reasoning(self, message):
        return (message.model_extra or {}).get("reasoning_content") or ""

    def understand(self, received):
        answer, reasoning = received
        choice = answer.choices[0]
        refusal = choice.message.refusal or ""
        details = answer.usage.prompt_tokens_details
        return {
            "text": choice.message.content or "",
            "thinking": reasoning,
            "refusal": refusal,
            "calls": [
                {"id": call.id, "name": call.function.name, "input": json.loads(call.function.arguments)}
                for call in choice.message.tool_calls or []
            ],
            "finish": "refusal" if refusal else self.finishes.get(choice.finish_reason, "other"),
            "usage": {
                "input": answer.usage.prompt_tokens,
                "cached": (details and details.cached_tokens) or 0,
                "output": answer.usage.completion_tokens,
            },
        }

    def go_on(self, messages, received, results):
        answer, reasoning = received
        message = answer.choices[0].message
        history = {
            "role": "assistant",
            "content": message.content,
            "tool_calls": [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.function.name, "arguments": call.function.arguments},
                }
                for call in message.tool_calls
            ],
        }
        if reasoning:
            history["reasoning_content"] = reasoning
        tools = [{"role": "tool", "tool_call_id": id, "content": text} for id, text in results]
        return [*messages, history, *tools]


class Responses:
    """openai, responses"""

    def __init__(self, url, key):
        self.client = openai.OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0, **STRICT)

    def open(self, ask):
        return [{"role": "user", "content": [self.part(part) for part in ask["user"]]}]

    def part(self, part):
        if isinstance(part, str):
            return {"type": "input_text", "text": part}
        return {"type": "input_image", "detail": "auto", "image_url": data_url(part)}

    def body(self, model, ask, items):
        body = {
            "model": model,
            "input": items,
            "instructions": ask["system"],
            "store": False,
            "include": ["reasoning.encrypted_content"],
        }
        if ask["tools"]:
            body["tools"] = [
                {
                    "type": "function",
                    "name": tool["name"],
                    "description": tool["description"],
                    "parameters": tool["schema"],
                    "strict": False,
                }
                for tool in ask["tools"]
            ]
        if ask["effort"]:
            body["reasoning"] = {"effort": ask["effort"], "summary": "auto"}
        return body

    def request(self, body, stream):
        if stream:
            with self.client.responses.stream(**body) as events:
                for event in events:
                    if event.type == "response.failed":
                        raise RuntimeError(event.response.error.message)
                answer = events.get_final_response()
        else:
            answer = self.client.responses.create(**body)
        if answer.status == "failed":
            raise RuntimeError(answer.error.message)
        return answer

    def understand(self, answer):
        said = [part for item in answer.output if item.type == "message" for part in item.content]
        refusal = "".join(part.refusal for part in said if part.type == "refusal")
        calls = [
            {"id": item.call_id, "name": item.name, "input": json.loads(item.arguments)}
            for item in answer.output
            if item.type == "function_call"
        ]
        if refusal:
            finish = "refusal"
        elif answer.status == "incomplete":
            finish = "length" if answer.incomplete_details.reason == "max_output_tokens" else "other"
        else:
            finish = "tool_calls" if calls else "stop"
        return {
            "text": answer.output_text,
            "thinking": "".join(
                part.text for item in answer.output if item.type == "reasoning" for part in item.summary
            ),
            "refusal": refusal,
            "calls": calls,
            "finish": finish,
            "usage": {
                "input": answer.usage.input_tokens,
                "cached": answer.usage.input_tokens_details.cached_tokens,
                "output": answer.usage.output_tokens,
            },
        }

    def go_on(self, items, answer, results):
        said = [item.to_dict(exclude_none=True) for item in answer.output]
        for item in said:
            item.pop("parsed_arguments", None)
        outputs = [{"type": "function_call_output", "call_id": id, "output": text} for id, text in results]
        return [*items, *said, *outputs]


class Messages:
    """anthropic, messages"""

    finishes = {"end_turn": "stop", "tool_use": "tool_calls", "max_tokens": "length", "refusal": "refusal"}

    def __init__(self, url, key):
        self.client = anthropic.Anthropic(
            base_url=url, auth_token=key, api_key=None, max_retries=0, **STRICT
        )

    def open(self, ask):
        return [{"role": "user", "content": [self.block(part) for part in ask["user"]]}]

    def block(self, part):
        if isinstance(part, str):
            return {"type": "text", "text": part}
        source = {"type": "base64", "media_type": part["mediaType"], "data": part["data"]}
        return {"type": "image", "source": source}

    def body(self, model, ask, messages):
        body = {"model": model, "max_tokens": 4000, "system": ask["system"], "messages": messages}
        if ask["tools"]:
            body["tools"] = [
                {"name": tool["name"], "description": tool["description"], "input_schema": tool["schema"]}
                for tool in ask["tools"]
            ]
        if ask["effort"]:
            body["thinking"] = {"type": "adaptive", "display": "summarized"}
            body["output_config"] = {"effort": ask["effort"]}
        return body

    def request(self, body, stream):
        if not stream:
            return self.client.messages.create(**body)
        with self.client.messages.stream(**body) as events:
            return events.get_final_message()

    def understand(self, answer):
        refused = answer.stop_reason == "refusal"
        text = "".join(block.text for block in answer.content if block.type == "text")
        usage = answer.usage
        cached = usage.cache_read_input_tokens or 0
        return {
            "text": "" if refused else text,
            "thinking": "".join(block.thinking for block in answer.content if block.type == "thinking"),
            "refusal": text if refused else "",
            "calls": [
                {"id": block.id, "name": block.name, "input": block.input}
                for block in answer.content
                if block.type == "tool_use"
            ],
            "finish": self.finishes.get(answer.stop_reason, "other"),
            "usage": {
                "input": usage.input_tokens + cached + (usage.cache_creation_input_tokens or 0),
                "cached": cached,
                "output": usage.output_tokens,
            },
        }

    def go_on(self, messages, answer, results):
        said = [block.to_dict(exclude_none=True) for block in answer.content]
        blocks = [{"type": "tool_result", "tool_use_id": id, "content": text} for id, text in results]
        return [*messages, {"role": "assistant", "content": said}, {"role": "user", "content": blocks}]


def data_url(picture):
    return f"data:{picture['mediaType']};base64,{picture['data']}"


def converse(client, conversation):
    ask = conversation["ask"]
    history = client.open(ask)
    answers = []
    while len(answers) < MOST_TURNS:
        received = client.request(client.body(conversation["model"], ask, history), conversation["stream"])
        understood = client.understand(received)
        answers.append(understood)
        if not understood["calls"]:
            break
        results = [(call["id"], ask["results"][call["name"]]) for call in understood["calls"]]
        history = client.go_on(history, received, results)
    return answers


def main():
    task = json.load(sys.stdin)
    kinds = {"chat": Chat, "responses": Responses, "messages": Messages}
    clients = {name: kind(task["url"], task["key"]) for name, kind in kinds.items()}
    for conversation in task["conversations"]:
        client = clients[conversation["client"]]
        report(lambda: {"answers": converse(client, conversation)})
    for request in task["requests"]:
        client = clients[request["client"]]
        report(lambda: {"answered": client.request(request["body"], False) is not None})
    if task.get("lists_models"):
        lenient = anthropic.Anthropic(base_url=task["url"], auth_token=task["key"], max_retries=0)
        report(lambda: {"ids": [model.id for model in islice(lenient.models.list(limit=2), MOST_MODELS)]})


def report(work):
    try:
        outcome = work()
    except Exception as error:  # every failure is a result here, and the tests judge it
        outcome = {"error": {"type": type(error).__name__, "message": str(error)}}
    print(json.dumps(outcome), flush=True)


main()
