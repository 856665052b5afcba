"""Calls the routes beside generation as Python's packages do, one call after the other.

Reads one JSON object from stdin: {url, key, calls: [{name, method, arguments, lenient}]}. Writes one JSON object to stdout for each call, in
order: {answer} or {error: {type, message}}. A method is one of the official package's client, or the name of a driver below.
An argument {"$of": ["first", "id"]} is a field of the answer to the call of that name, {"$file": "a.mp3"} is a file of that name. The answer
of a stream is the list of its events, that of a page the list of all items from there on.
"""

import asyncio
import json
import sys
import time
from functools import reduce

import openai
from openai._base_client import BaseSyncPage

ENDS = {"response.completed", "response.incomplete", "response.failed", "error"}


def socket(client, access, creates):
    """Each continues the one before it on the same WebSocket. Gives the last event of each."""
    ended = []
    with client.responses.connect() as connection:
        for create in creates:
            before = {"previous_response_id": ended[-1].response.id} if ended else {}
            connection.response.create(**create, **before)
            ended.append(next(event for event in connection if event.type in ENDS))
    return ended


def agents_session(client, access, model, asked):
    """A session of the Agents SDK that the server keeps. Gives the texts of its items, what it popped, and what is left once it is cleared."""
    from agents import Agent, OpenAIConversationsSession, OpenAIResponsesModel, Runner, set_tracing_disabled

    set_tracing_disabled(True)
    api = openai.AsyncOpenAI(base_url=f"{access['url']}/v1", api_key=access["key"], max_retries=0)
    session = OpenAIConversationsSession(openai_client=api)
    agent = Agent(name="Errands", model=OpenAIResponsesModel(model=model, openai_client=api))

    async def converse():
        for question in asked:
            await Runner.run(agent, question, session=session)
        kept = await session.get_items()
        popped = await session.pop_item()
        fewer = await session.get_items()
        await session.clear_session()
        return {"roles": [item["role"] for item in kept], "popped": popped["role"], "left": len(fewer)}

    return asyncio.run(converse())


def langchain_embeddings(client, access, model, texts):
    from langchain_openai import OpenAIEmbeddings

    # Else it asks for OpenAI's table of tokens, which is not on this machine.
    embeddings = OpenAIEmbeddings(
        model=model,
        api_key=access["key"],
        base_url=f"{access['url']}/v1",
        check_embedding_ctx_length=False,
        max_retries=0,
    )
    return [*embeddings.embed_documents(texts), embeddings.embed_query(texts[0])]


def llama_index_embeddings(client, access, model, texts):
    from llama_index.embeddings.openai import OpenAIEmbedding

    embeddings = OpenAIEmbedding(
        model_name=model, api_key=access["key"], api_base=f"{access['url']}/v1", max_retries=0
    )
    return [*embeddings.get_text_embedding_batch(texts), embeddings.get_query_embedding(texts[0])]


def until(retrieve, has_ended):
    for _ in range(600):
        found = retrieve()
        if has_ended(found):
            return found
        time.sleep(0.1)
    raise TimeoutError(f"still running: {found}")


def openai_batch(client, access, endpoint, bodies):
    """Uploads a line for each body, runs them and downloads the results. A repeated create gives the same batch."""
    lines = [
        {"custom_id": f"line-{place}", "method": "POST", "url": endpoint, "body": body}
        for place, body in enumerate(bodies)
    ]
    content = "\n".join(json.dumps(line) for line in lines).encode()
    expiry = {"anchor": "created_at", "seconds": 3600}
    input_file = client.files.create(
        file=("requests.jsonl", content), purpose="batch", expires_after=expiry
    )
    create = lambda: client.batches.create(
        input_file_id=input_file.id,
        endpoint=endpoint,
        completion_window="24h",
        metadata={"by": "python"},
        output_expires_after=expiry,
        extra_headers={"Idempotency-Key": input_file.id},
    )
    created = create()
    batch = until(
        lambda: client.batches.retrieve(created.id),
        lambda batch: batch.status in ("completed", "failed", "expired", "cancelled"),
    )
    results = [json.loads(line) for line in client.files.content(batch.output_file_id).text.splitlines()]
    output = client.files.retrieve(batch.output_file_id)
    return {
        "status": batch.status,
        "counts": batch.request_counts,
        "metadata": batch.metadata,
        "again": create().id == batch.id,
        "listed": batch.id in [each.id for each in client.batches.list(limit=1)],
        "same": client.files.content(input_file.id).read() == content,
        "names": [result["custom_id"] for result in results],
        "statuses": [result["response"]["status_code"] for result in results],
        "seconds": output.expires_at - output.created_at,
        "deleted": client.files.delete(input_file.id).deleted,
    }


def anthropic_batch(client, access, models):
    """A message batch with a request for each model. Gives what became of each."""
    import anthropic

    api = anthropic.Anthropic(base_url=access["url"], auth_token=access["key"], max_retries=0)
    requests = [
        {
            "custom_id": f"of-{place}",
            "params": {
                "model": model,
                "max_tokens": 50,
                "messages": [{"role": "user", "content": "Hello"}],
            },
        }
        for place, model in enumerate(models)
    ]
    created = api.messages.batches.create(requests=requests)
    batch = until(
        lambda: api.messages.batches.retrieve(created.id),
        lambda batch: batch.processing_status == "ended",
    )
    results = list(api.messages.batches.results(batch.id))
    return {
        "counts": batch.request_counts,
        "results": [result.result.type for result in results],
        "listed": batch.id in [each.id for each in api.messages.batches.list(limit=1)],
        "deleted": api.messages.batches.delete(batch.id).type,
    }


DRIVERS = {
    "openai.batch": openai_batch,
    "anthropic.batch": anthropic_batch,
    "socket": socket,
    "agents.session": agents_session,
    "langchain.embeddings": langchain_embeddings,
    "llama-index.embeddings": llama_index_embeddings,
}


def plain(value):
    """What the packages give, as JSON has it."""
    if isinstance(value, BaseSyncPage):
        return [plain(member) for member in value]
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", warnings=False)
    if isinstance(value, openai.HttpxBinaryResponseContent):
        return value.read().decode()
    if isinstance(value, (list, openai.Stream)):
        return [plain(member) for member in value]
    if isinstance(value, dict):
        return {name: plain(member) for name, member in value.items()}
    return value


def meant(value, answers):
    if isinstance(value, list):
        return [meant(member, answers) for member in value]
    if not isinstance(value, dict):
        return value
    if "$of" in value:
        return reduce(lambda answer, name: answer[name], value["$of"], answers)
    if "$file" in value:
        return (value["$file"], bytes(1000))
    return {name: meant(member, answers) for name, member in value.items()}


def outcome(client, access, call, answers):
    try:
        arguments = meant(call["arguments"], answers)
        driver = DRIVERS.get(call["method"])
        if driver is not None:
            return {"answer": plain(driver(client, access, **arguments))}
        method = reduce(getattr, call["method"].split("."), client)
        return {"answer": plain(method(**arguments))}
    except Exception as error:  # every failure is a result here, and the tests judge it
        return {"error": {"type": type(error).__name__, "message": str(error)[:2000]}}


def main():
    task = json.load(sys.stdin)
    lenient = openai.OpenAI(base_url=f"{task['url']}/v1", api_key=task["key"], max_retries=0)
    # As in the package's own generated tests: an answer that is not of the declared type is an error.
    strict = lenient.copy(_extra_kwargs={"_strict_response_validation": True})
    answers = {}
    for call in task["calls"]:
        result = outcome(lenient if "lenient" in call else strict, task, call, answers)
        answers[call["name"]] = result.get("answer")
        print(json.dumps(result), flush=True)


main()
