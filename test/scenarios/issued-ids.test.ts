import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import { json, sse } from "../support/answers.ts";
import { configFor } from "../support/config.ts";
import { fixture } from "../support/fixtures.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";

/** A provider's ids belong to the key whose answer they came in: another key gets 404, and nothing goes up. */
let provider: ScriptedProvider;
let sluice: Sluice;
let alice: TestKey;
let bob: TestKey;

beforeAll(async () => {
  provider = startProvider();
  sluice = await startSluice({
    config: configFor({ url: provider.url, head: '[responses]\nstate = "provider"' }),
  });
  alice = await sluice.createKey();
  bob = await sluice.createKey();
  for (const key of [alice, bob]) {
    await waitFor(
      async () => (await sluice.request("/v1/models", { key })).status === 200,
      "the server to know a new key",
    );
  }
});
beforeEach(() => provider.reset());
afterAll(async () => {
  await sluice.dispose();
  provider.stop();
});

let lastId = 0;
function fresh(prefix: string): string {
  lastId += 1;
  return `${prefix}${String(lastId).padStart(48, "0")}`;
}

const responseFixture = JSON.parse(fixture("responses/text.json")) as JsonObject;

function responseWith(changes: JsonObject): JsonObject {
  return { ...responseFixture, ...changes };
}

/** A response stream whose id and items are one's own. */
function streamWith(responseId: string, itemId: string): string {
  return fixture("responses/text.sse")
    .replaceAll(/resp_[0-9a-f]+/g, responseId)
    .replaceAll(/msg_[0-9a-f]+/g, itemId);
}

const base = { model: "gpt-test", input: "Hello" };

async function ask(key: TestKey, body: JsonObject, path = "/v1/responses"): Promise<Response> {
  const response = await sluice.request(path, { key, body });
  await response.clone().text();
  return response;
}

async function expectNotFound(key: TestKey, body: JsonObject, param: string, path = "/v1/responses") {
  provider.reset();
  const response = await ask(key, body, path);
  const answer = (await response.json()) as { error: JsonObject };
  const isResponse = param.startsWith("previous_response_id");
  const expected = isResponse ? [400, "previous_response_not_found"] : [404, "not_found"];
  expect([response.status, answer.error["code"]]).toEqual(expected);
  expect(answer.error["message"]).toContain(param);
  if (path.startsWith("/v1/messages")) expect(answer.error["type"]).toBe("not_found_error");
  else expect(answer.error["param"]).toBe(param);
  expect(provider.requests).toEqual([]);
  const usage = await (await sluice.request("/v1/usage", { key })).json();
  expect(usage).toMatchObject({ credits: { reserved: 0 } });
}

async function expectPasses(key: TestKey, body: JsonObject, path = "/v1/responses"): Promise<void> {
  provider.reset();
  const response = await ask(key, body, path);
  expect(response.status).toBe(200);
  expect(provider.requests.length).toBe(1);
}

describe("an id that came in an answer", () => {
  for (const stream of [false, true]) {
    test(`works for its key and for no other, ${stream ? "streamed" : "whole"}`, async () => {
      const [response, item] = [fresh("resp_"), fresh("msg_")];
      const output = [{ ...(responseFixture["output"] as JsonObject[])[0], id: item }];
      provider.script(
        stream ? sse(streamWith(response, item)) : json(responseWith({ id: response, output })),
      );
      expect((await ask(alice, { ...base, stream })).status).toBe(200);
      await expectPasses(alice, { ...base, previous_response_id: response });
      await expectPasses(alice, { ...base, input: [{ type: "item_reference", id: item }] });
      await expectPasses(alice, { ...base, input: [{ id: item }] });
      await expectNotFound(bob, { ...base, previous_response_id: response }, "previous_response_id");
      const reference = { type: "item_reference", id: item };
      await expectNotFound(
        bob,
        { ...base, input: [{ role: "user", content: "x" }, reference] },
        "input[1].id",
      );
      await expectNotFound(bob, { ...base, input: [{ id: item }] }, "input[0].id");
    });
  }

  test("may be a conversation's, named by itself or as an object", async () => {
    const conversation = fresh("conv_");
    provider.script(json(responseWith({ id: fresh("resp_"), conversation: { id: conversation } })));
    await ask(alice, base);
    await expectPasses(alice, { ...base, conversation });
    await expectPasses(alice, { ...base, conversation: { id: conversation } });
    await expectNotFound(bob, { ...base, conversation }, "conversation");
    await expectNotFound(bob, { ...base, conversation: { id: conversation } }, "conversation.id");
  });

  test("is looked for in lists, too, and beside the conversation", async () => {
    const response = fresh("resp_");
    provider.script(json(responseWith({ id: response })));
    await ask(alice, base);
    for (const list of [{ previous_response_id: [response] }, { conversation: [fresh("conv_")] }]) {
      const refused = await ask(bob, { ...base, ...list });
      const [param] = Object.keys(list);
      expect(await refused.json()).toMatchObject({ error: { code: "invalid_request", param } });
    }
    await expectNotFound(bob, { ...base, file_ids: [fresh("file-")] }, "file_ids[0]");
    await expectNotFound(bob, { ...base, vector_store_ids: [fresh("vs_")] }, "vector_store_ids[0]");
    const chat = { model: "gpt-test", messages: [{ role: "user", content: "x" }], file_ids: ["file-1"] };
    await expectNotFound(bob, chat, "file_ids[0]", "/v1/chat/completions");
  });

  test("may be a file's that a tool has made", async () => {
    const file = fresh("cfile_");
    const annotations = [{ type: "container_file_citation", container_id: fresh("cntr_"), file_id: file }];
    const content = [{ type: "output_text", text: "see there", annotations }];
    const output = [{ type: "message", id: fresh("msg_"), role: "assistant", content }];
    provider.script(json(responseWith({ id: fresh("resp_"), output })));
    await ask(alice, base);
    const body = { ...base, input: [{ role: "user", content: [{ type: "input_file", file_id: file }] }] };
    await expectPasses(alice, body);
    await expectNotFound(bob, body, "input[0].content[0].file_id");
  });

  test("may be longer than the texts that are read of a long body", async () => {
    const file = fresh("file-").padEnd(200, "x");
    const output = [{ type: "code_interpreter_call", id: fresh("ci_"), outputs: [{ file_id: file }] }];
    provider.script(json(responseWith({ id: fresh("resp_"), output })));
    await ask(alice, base);
    const text = "a line of text\n".repeat(1000);
    const parts = [
      { type: "input_text", text },
      { type: "input_image", file_id: file },
    ];
    await expectPasses(alice, { ...base, input: [{ role: "user", content: parts }] });
    await expectNotFound(
      bob,
      { ...base, input: [{ role: "user", content: parts }] },
      "input[0].content[1].file_id",
    );
  });

  test("is known although the client left in the middle of the answer", async () => {
    const response = fresh("resp_");
    const events = streamWith(response, fresh("msg_"));
    const cut = events.indexOf("response.output_text.done");
    const begun = events.slice(0, events.lastIndexOf("\n\n", cut) + 2);
    provider.script({ ...sse(begun), steps: [{ write: begun }, { stall: true }] });
    const leaving = new AbortController();
    const answer = await sluice.request("/v1/responses", {
      key: alice,
      body: { ...base, stream: true },
      signal: leaving.signal,
    });
    await answer.body?.getReader().read();
    leaving.abort();
    await waitFor(async () => {
      const usage = await (await sluice.request("/v1/usage", { key: alice })).json();
      return (usage as { credits: { reserved: number } }).credits.reserved === 0;
    }, "the cancelled stream to be settled");
    // What was reserved is free in memory before the id is in the store.
    provider.reset();
    const continuing = { ...base, previous_response_id: response };
    await waitFor(async () => (await ask(alice, continuing, "/v1/responses")).status === 200, "the id");
    await expectPasses(alice, { ...base, previous_response_id: response });
    await expectNotFound(bob, { ...base, previous_response_id: response }, "previous_response_id");
  });

  test("is not one when nothing was stored", async () => {
    const response = fresh("resp_");
    provider.script(json(responseWith({ id: response, store: false })));
    await ask(alice, { ...base, store: false });
    expect(provider.requests[0]?.body["store"]).toBe(false);
    await expectNotFound(alice, { ...base, previous_response_id: response }, "previous_response_id");
  });

  test("goes to no other provider than the one that gave it", async () => {
    const response = fresh("resp_");
    provider.script(json(responseWith({ id: response })));
    await ask(alice, base);
    await expectNotFound(
      alice,
      { ...base, model: "claude-test", previous_response_id: response },
      "previous_response_id",
    );
  });

  test("is in a replayed answer as well", async () => {
    const response = fresh("resp_");
    provider.script(json(responseWith({ id: response })));
    const headers = { "idempotency-key": response };
    for (let time = 0; time < 2; time += 1) {
      const answer = await sluice.request("/v1/responses", { key: alice, body: base, headers });
      expect(await answer.json()).toMatchObject({ id: response });
    }
    expect(provider.requests.length).toBe(1);
    await expectPasses(alice, { ...base, previous_response_id: response });
  });

  test("stays its key's when the key is rotated, and when the gateway starts again", async () => {
    const response = fresh("resp_");
    const carol = await sluice.createKey();
    provider.script(json(responseWith({ id: response })));
    await waitFor(async () => (await ask(carol, base)).status === 200, "the server to know a new key");
    const rotated = await sluice.cliJson<TestKey>("keys", "rotate", carol.id, "--yes");
    const renewed = { ...carol, key: rotated.key };
    await sluice.kill9();
    await sluice.restart();
    await expectPasses(renewed, { ...base, previous_response_id: response });
    await expectNotFound(bob, { ...base, previous_response_id: response }, "previous_response_id");
  });
});

describe("in messages and chat", () => {
  const user = { role: "user", content: "Hello" };
  const claude = { model: "claude-test", max_tokens: 100, messages: [user] };

  test("containers and files are their key's", async () => {
    const [container, file] = [fresh("container_"), fresh("file_")];
    const answer = JSON.parse(fixture("messages/text.json")) as JsonObject;
    const made = { type: "code_execution_output", file_id: file };
    const result = { type: "code_execution_tool_result", content: { content: [made] } };
    const content = [result, ...(answer["content"] as JsonObject[])];
    provider.script(json({ ...answer, container: { id: container }, content }));
    await ask(alice, claude, "/v1/messages");
    await expectPasses(alice, { ...claude, container }, "/v1/messages");
    await expectNotFound(bob, { ...claude, container }, "container", "/v1/messages");
    await expectNotFound(bob, { ...claude, container: { id: container } }, "container.id", "/v1/messages");
    const document = { type: "document", source: { type: "file", file_id: file } };
    const asked = { ...claude, messages: [{ role: "user", content: [document] }] };
    await expectPasses(alice, asked, "/v1/messages");
    for (const path of ["/v1/messages", "/v1/messages/count_tokens"]) {
      await expectNotFound(bob, asked, "messages[0].content[0].source.file_id", path);
    }
  });

  test("spoken answers and files are their key's", async () => {
    const answer = JSON.parse(fixture("chat/text.json")) as JsonObject;
    const audio = fresh("audio_");
    const message = { role: "assistant", content: null, audio: { id: audio, data: "" } };
    provider.script(json({ ...answer, choices: [{ index: 0, message, finish_reason: "stop" }] }));
    const chat = { model: "gpt-test", messages: [user] };
    await ask(alice, chat, "/v1/chat/completions");
    const spoken = { ...chat, messages: [user, { role: "assistant", audio: { id: audio } }, user] };
    await expectPasses(alice, spoken, "/v1/chat/completions");
    await expectNotFound(bob, spoken, "messages[1].audio.id", "/v1/chat/completions");
    const file = { type: "file", file: { file_id: "file-of-somebody" } };
    const withFile = { ...chat, messages: [{ role: "user", content: [file] }] };
    await expectNotFound(alice, withFile, "messages[0].content[0].file.file_id", "/v1/chat/completions");
  });
});
