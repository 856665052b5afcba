"""Drives agent frameworks through an errand: tools are called by the model, run here, and their results sent back.

Reads one JSON object from stdin: {url, key, runs: [{framework, dialect, model, stream}]}. Writes one JSON object to
stdout for each run, in order: {text, calls} or {error: {type, message}, calls}. Only the frameworks of these runs are
imported, because not all of them can be installed side by side.
"""

import asyncio
import contextvars
import importlib
import json
import sys
from functools import partial

QUESTION = "What are the weather and the time in Paris, and the weather in Oslo?"
SYSTEM = "Answer briefly."

calls = contextvars.ContextVar("calls")


def get_weather(city: str) -> str:
    """The weather of a city, now."""
    calls.get().append(f"get_weather {city}")
    return f"18 degrees in {city}"


def get_time(city: str) -> str:
    """The local time of a city."""
    calls.get().append(f"get_time {city}")
    return f"{city}: 14:05"


async def openai_agents(access, dialect, model, stream, on_socket=False, chained=False, compacted=False):
    from agents import (
        Agent,
        OpenAIChatCompletionsModel,
        OpenAIResponsesCompactionSession,
        OpenAIResponsesModel,
        OpenAIResponsesWSModel,
        Runner,
        SQLiteSession,
        function_tool,
        set_tracing_disabled,
    )
    from openai import AsyncOpenAI

    set_tracing_disabled(True)
    kind = {"chat": OpenAIChatCompletionsModel, "responses": OpenAIResponsesModel}[dialect]
    if on_socket:
        kind = OpenAIResponsesWSModel
    async with AsyncOpenAI(base_url=f"{access['url']}/v1", api_key=access["key"], max_retries=0) as client:
        agent = Agent(
            name="Errands",
            instructions=SYSTEM,
            model=kind(model=model, openai_client=client),
            tools=[function_tool(get_weather), function_tool(get_time)],
        )
        options = {"auto_previous_response_id": chained}
        if compacted:
            options["session"] = OpenAIResponsesCompactionSession(
                "errands",
                SQLiteSession("errands"),
                client=client,
                model=model,
                should_trigger_compaction=lambda _: True,
            )
        if stream:
            result = Runner.run_streamed(agent, QUESTION, **options)
            async for _ in result.stream_events():
                pass
        else:
            result = await Runner.run(agent, QUESTION, **options)
        if chained:
            assert await chain_length(client, result.last_response_id) == 3, "the turns were not chained"
        if compacted:
            kept = [item.get("type") for item in await options["session"].get_items()]
            assert "compaction" in kept, f"nothing was compacted: {kept}"
            # The errand is in the summary, so that a model which may call tools would be sent on it again.
            again = await Runner.run(agent.clone(tools=[]), "Go on", **options)
            assert again.final_output == "An errand", again.final_output
        if on_socket:
            await agent.model.close()
        return result.final_output


async def chain_length(client, response_id):
    """How many stored responses lead to this one."""
    length = 0
    while response_id is not None:
        response_id = (await client.responses.retrieve(response_id)).previous_response_id
        length += 1
    return length


def langchain_model(access, dialect, model):
    from langchain_anthropic import ChatAnthropic
    from langchain_openai import ChatOpenAI

    if dialect == "messages":
        return ChatAnthropic(model=model, api_key=access["key"], base_url=access["url"], max_retries=0)
    return ChatOpenAI(
        model=model,
        api_key=access["key"],
        base_url=f"{access['url']}/v1",
        use_responses_api=dialect == "responses",
        max_retries=0,
    )


async def langgraph(access, dialect, model, stream):
    from langchain.agents import create_agent

    agent = create_agent(
        langchain_model(access, dialect, model), tools=[get_weather, get_time], system_prompt=SYSTEM
    )
    asked = {"messages": [{"role": "user", "content": QUESTION}]}
    if not stream:
        return (await agent.ainvoke(asked))["messages"][-1].text
    texts = {}
    async for piece, _ in agent.astream(asked, stream_mode="messages"):
        if piece.type == "AIMessageChunk":
            texts[piece.id] = texts.get(piece.id, "") + piece.text
    return list(texts.values())[-1]


async def pydantic_ai(access, dialect, model, stream):
    from pydantic_ai import Agent
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.anthropic import AnthropicProvider
    from pydantic_ai.providers.openai import OpenAIProvider

    if dialect == "messages":
        provider = AnthropicProvider(api_key=access["key"], base_url=access["url"])
        chosen = AnthropicModel(model, provider=provider)
    else:
        provider = OpenAIProvider(api_key=access["key"], base_url=f"{access['url']}/v1")
        chosen = (OpenAIChatModel if dialect == "chat" else OpenAIResponsesModel)(model, provider=provider)
    agent = Agent(chosen, instructions=SYSTEM, tools=[get_weather, get_time])

    # Not `run_stream`: it takes the first text for the result, and leaves the tools that follow it uncalled.
    async def watch(_, events):
        async for _ in events:
            pass

    return (await agent.run(QUESTION, event_stream_handler=watch if stream else None)).output


async def llama_index(access, dialect, model, stream):
    from llama_index.core.agent.workflow import FunctionAgent
    from llama_index.llms.anthropic import Anthropic
    from llama_index.llms.openai import OpenAIResponses
    from llama_index.llms.openai_like import OpenAILike

    if dialect == "messages":
        llm = Anthropic(model=model, api_key=access["key"], base_url=access["url"], max_retries=0)
    elif dialect == "responses":
        llm = OpenAIResponses(
            model=model,
            api_key=access["key"],
            api_base=f"{access['url']}/v1",
            context_window=100000,
            max_retries=0,
        )
    else:
        llm = OpenAILike(
            model=model,
            api_key=access["key"],
            api_base=f"{access['url']}/v1",
            is_chat_model=True,
            is_function_calling_model=True,
            context_window=100000,
            max_retries=0,
        )
    agent = FunctionAgent(tools=[get_weather, get_time], llm=llm, system_prompt=SYSTEM, streaming=stream)
    return str(await agent.run(QUESTION))


async def instructor(access, dialect, model, stream):
    """No errand: one answer that has to be an object of a class, which it asks for as a tool or a schema."""
    import anthropic
    import instructor
    import openai
    from pydantic import BaseModel

    class Place(BaseModel):
        city: str
        degrees: int

    if dialect == "messages":
        native = anthropic.AsyncAnthropic(
            auth_token=access["key"], api_key=None, base_url=access["url"], max_retries=0
        )
        client = instructor.from_anthropic(native)
    else:
        native = openai.AsyncOpenAI(api_key=access["key"], base_url=f"{access['url']}/v1", max_retries=0)
        mode = instructor.Mode.TOOLS if dialect == "chat" else instructor.Mode.RESPONSES_TOOLS
        client = instructor.from_openai(native, mode=mode)
    asked = {
        "model": model,
        "response_model": Place,
        "messages": [{"role": "user", "content": "How warm is it in Paris?"}],
        "max_retries": 0,
    }
    if dialect == "messages":
        asked["max_tokens"] = 500
    place = None
    if stream:
        async for place in client.chat.completions.create_partial(**asked):
            pass
    else:
        place = await client.chat.completions.create(**asked)
    return f"{place.city}: {place.degrees}"


# What the drivers import. It is loaded before the first run: on a busy machine an import takes longer than the five seconds
# that the openai package gives a connection, and nothing else moves meanwhile.
MODULES = {
    "openai-agents": ["agents", "openai", "websockets"],
    "langgraph": ["langchain.agents", "langchain_anthropic", "langchain_openai"],
    "pydantic-ai": ["pydantic_ai.models.anthropic", "pydantic_ai.models.openai"],
    "llama-index": [
        "llama_index.core.agent.workflow",
        "llama_index.llms.anthropic",
        "llama_index.llms.openai_like",
    ],
    "instructor": ["anthropic", "instructor", "openai"],
}

DRIVERS = {
    "openai-agents": openai_agents,
    "openai-agents, chained": partial(openai_agents, chained=True),
    "openai-agents, over WebSocket": partial(openai_agents, on_socket=True),
    "openai-agents, chained over WebSocket": partial(openai_agents, on_socket=True, chained=True),
    "openai-agents, compacted": partial(openai_agents, compacted=True),
    "langgraph": langgraph,
    "pydantic-ai": pydantic_ai,
    "llama-index": llama_index,
    "instructor": instructor,
}


async def outcome_of(access, run):
    made = []
    calls.set(made)
    try:
        text = await DRIVERS[run["framework"]](access, run["dialect"], run["model"], run["stream"])
        return {"text": text, "calls": made}
    except Exception as error:  # every failure is a result here, and the tests judge it
        return {"error": {"type": type(error).__name__, "message": str(error)[:2000]}, "calls": made}


# Enough to use the time in which one of them waits for the gateway.
AT_ONCE = 4


async def main():
    task = json.load(sys.stdin)
    for framework in {run["framework"] for run in task["runs"]}:
        for module in MODULES[framework.split(",")[0]]:
            importlib.import_module(module)
    places = asyncio.Semaphore(AT_ONCE)

    async def in_place(run):
        async with places:
            return await outcome_of(task, run)

    # A task for each run, so that it has its own calls.
    for outcome in await asyncio.gather(*(in_place(run) for run in task["runs"])):
        print(json.dumps(outcome))


asyncio.run(main())
