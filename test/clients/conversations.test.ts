import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { createOpenAI } from "@ai-sdk/openai";
import { OpenAIConversationsSession, Runner } from "@openai/agents";
import { generateText } from "ai";
import OpenAI from "openai";
import { frameworkErrand } from "./agents/framework-errand.ts";
import { type AgentProvider, startAgentProvider } from "./agents/provider.ts";
import { type SpeakerName, speakerNames } from "./conversation/speakers.ts";
import { expectedCalls, question } from "./frameworks/framework.ts";
import { agentFor, clientOf } from "./frameworks/openai-agents.ts";
import { startWorld, type World } from "./world.ts";

/** Clients that name their conversations, on a provider of every dialect. */
let world: World<AgentProvider>;

beforeAll(async () => {
  world = await startWorld(startAgentProvider(), { tail: "[routes]\nconversations = true\n" });
}, 120_000);
beforeEach(() => world.provider.send(frameworkErrand));
afterAll(() => world.dispose());

function clientFor(dialect: SpeakerName) {
  const access = world.access(dialect);
  return { client: clientOf(access), model: access.model };
}

async function typesOf(client: OpenAI, conversationId: string): Promise<readonly string[]> {
  const types: string[] = [];
  for await (const { type } of client.conversations.items.list(conversationId, { order: "asc", limit: 2 })) {
    types.push(type);
  }
  return types;
}

function errandOn(dialect: SpeakerName, calls: string[]) {
  return { access: world.access(dialect), dialect: "responses" as const, stream: false, calls };
}

describe.each(speakerNames)("on a provider of %s", (dialect) => {
  test("the official SDK converses, and changes what was said", async () => {
    const { client, model } = clientFor(dialect);
    const { id } = await client.conversations.create({
      metadata: { topic: "canals" },
      items: [{ type: "message", role: "user", content: "My name is Ada." }],
    });
    const first = await client.responses.create({ model, conversation: id, input: "Hello" });
    const stream = client.responses.stream({ model, conversation: { id }, input: "Once more" });
    const second = await stream.finalResponse();
    for (const { conversation } of [first, second]) expect(conversation).toEqual({ id });
    expect(await typesOf(client, id)).toEqual(Array(5).fill("message"));
    const { data: added } = await client.conversations.items.create(id, {
      items: [{ role: "user", content: [{ type: "input_text", text: "Not this" }] }],
    });
    const itemId = (added[0] as { id: string }).id;
    const item = await client.conversations.items.retrieve(itemId, { conversation_id: id });
    expect(item).toMatchObject({ type: "message", role: "user", content: [{ text: "Not this" }] });
    const kept = await client.conversations.items.delete(itemId, { conversation_id: id });
    expect(kept).toEqual(await client.conversations.retrieve(id));
    const updated = await client.conversations.update(id, { metadata: { topic: "locks" } });
    expect(updated).toEqual({ ...kept, metadata: { topic: "locks" } });
    expect(await client.conversations.delete(id)).toEqual({
      id,
      object: "conversation.deleted",
      deleted: true,
    });
    const gone = client.responses.create({ model, conversation: id, input: "And?" });
    expect(await gone.catch((error) => error instanceof OpenAI.NotFoundError)).toBe(true);
  });

  test("the Agents SDK runs its tools in a session that is kept here", async () => {
    const calls: string[] = [];
    const { client } = clientFor(dialect);
    const session = new OpenAIConversationsSession({ client });
    const run = await new Runner().run(agentFor(errandOn(dialect, calls)), question, { session });
    expect(String(run.finalOutput)).toBe(frameworkErrand.farewell);
    expect(calls).toEqual(expectedCalls);
    expect(world.provider.complaints).toEqual([]);
    const items = await session.getItems();
    expect(items[0]).toMatchObject({ role: "user" });
    expect(items.filter(({ type }) => type === "function_call")).toHaveLength(expectedCalls.length);
    const latest = await session.popItem();
    expect(latest).toMatchObject({ type: "message", role: "assistant" });
    expect(await session.getItems()).toHaveLength(items.length - 1);
    const sessionId = await session.getSessionId();
    await session.clearSession();
    const gone = client.conversations.retrieve(sessionId);
    expect(await gone.catch((error) => error instanceof OpenAI.NotFoundError)).toBe(true);
  });

  test("the Agents SDK runs its tools in a conversation of the server's", async () => {
    const calls: string[] = [];
    const { client } = clientFor(dialect);
    const { id: conversationId } = await client.conversations.create();
    const run = await new Runner().run(agentFor(errandOn(dialect, calls)), question, { conversationId });
    expect(String(run.finalOutput)).toBe(frameworkErrand.farewell);
    expect(calls).toEqual(expectedCalls);
    expect(world.provider.complaints).toEqual([]);
    expect(world.provider.steps).toEqual([0, 1, 2]);
    const types = await typesOf(client, conversationId);
    expect(types.filter((type) => type === "function_call_output")).toHaveLength(expectedCalls.length);
  });

  test("the AI SDK goes on in a conversation", async () => {
    const { client } = clientFor(dialect);
    const { url, key, model } = world.access(dialect);
    const { id: conversation } = await client.conversations.create({});
    const openai = createOpenAI({ baseURL: `${url}/v1`, apiKey: key });
    const providerOptions = { openai: { conversation } };
    const first = await generateText({ model: openai.responses(model), prompt: "Hello", providerOptions });
    const messages = [
      { role: "user" as const, content: "Hello" },
      ...first.response.messages,
      { role: "user" as const, content: "Go on" },
    ];
    const second = await generateText({ model: openai.responses(model), messages, providerOptions });
    expect(second.text).not.toBe("");
    expect(world.provider.complaints).toEqual([]);
  });
});

/** Its node calls the address itself, with `json: true`: as its create, get, update and remove operations do. */
test("n8n creates, gets, updates and removes a conversation, and converses in it", async () => {
  const { url, key, model } = world.access("chat");
  const request = async (method: string, endpoint: string, body?: object) => {
    const headers = {
      accept: "application/json",
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
    };
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(`${url}/v1${endpoint}`, { method, headers, ...sent });
    return { status: response.status, json: (await response.json()) as { id: string; metadata: object } };
  };
  const items = [{ role: "user", content: [{ type: "input_text", text: "Hello" }] }];
  const created = await request("POST", "/conversations", { items, metadata: { a: "b" } });
  expect(created).toMatchObject({ status: 200, json: { metadata: { a: "b" } } });
  const { id } = created.json;
  const answered = await request("POST", "/responses", {
    model,
    input: items,
    parallel_tool_calls: true,
    store: true,
    background: false,
    conversation: id,
  });
  expect(answered).toMatchObject({ status: 200, json: { conversation: { id } } });
  const updated = await request("POST", `/conversations/${id}`, { metadata: { a: "c" } });
  expect(updated.json.metadata).toEqual({ a: "c" });
  expect(await request("GET", `/conversations/${id}`)).toEqual(updated);
  expect(await request("DELETE", `/conversations/${id}`)).toMatchObject({
    status: 200,
    json: { id, object: "conversation.deleted", deleted: true },
  });
  expect((await request("GET", `/conversations/${id}`)).status).toBe(404);
});
