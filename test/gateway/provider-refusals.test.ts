import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { Json, JsonObject } from "../../src/base/json.ts";
import { wrapReasoning, wrapSignature } from "../../src/dialects/reasoning/reasoning-envelope.ts";
import { json } from "../support/answers.ts";
import { usualResponse } from "../support/fixtures.ts";
import type { SeenRequest } from "../support/provider.ts";
import { type Caller, World } from "./world.ts";

let world: World;
let caller: Caller;

const tail = `
[[models]]
id = "chat-test"
provider = "local"
upstream_model = "local-upstream"
price = { input = 1.0, output = 2.0 }
`;

beforeAll(async () => {
  world = await World.start({ tail });
});
afterAll(() => world[Symbol.asyncDispose]());

beforeEach(async () => {
  world.provider.reset();
  caller = await world.creditCaller();
});

const said = [{ role: "user", content: "Hi" }];
const requests: Readonly<Record<string, { readonly path: string; readonly body: JsonObject }>> = {
  chat: { path: "/v1/chat/completions", body: { messages: said, temperature: 1 } },
  responses: { path: "/v1/responses", body: { input: "Hi", temperature: 1 } },
  messages: { path: "/v1/messages", body: { max_tokens: 100, messages: said, temperature: 1 } },
};

function openAi(fields: JsonObject, status = 400) {
  return json({ error: { message: "No.", type: "invalid_request_error", ...fields } }, { status });
}

function anthropic(fields: JsonObject, status = 400) {
  const error = { type: "invalid_request_error", message: "No.", ...fields };
  return json({ type: "error", error, request_id: "req_1" }, { status });
}

async function refusal(client: string, model: string, fields: JsonObject = {}): Promise<JsonObject> {
  const { path, body } = requests[client] ?? { path: "", body: {} };
  const answer = await world.ask(caller, { path, body: { model, ...body, ...fields } });
  expect(answer.status).toBe(400);
  const { error } = (await answer.json()) as { error: JsonObject };
  return error;
}

describe("what a client's SDK acts on in a provider's 400 is kept", () => {
  test.each([
    ["chat", "gpt-test", openAi({ code: "unsupported_value", param: "temperature" })],
    ["responses", "gpt-test", openAi({ code: "unsupported_value", param: "temperature" })],
    ["chat", "chat-test", openAi({ code: "unsupported_value", param: "temperature" })],
  ] as const)("%s on %s: code and param", async (client, model, answer) => {
    world.provider.script(answer);
    const error = await refusal(client, model);
    expect(error).toMatchObject({ message: "No.", code: "unsupported_value", param: "temperature" });
    expect(error).not.toHaveProperty("details");
  });

  test("messages: details, as Anthropic sends them", async () => {
    const details = { error_code: "tool_name_conflict", names: ["a", "b"], nested: { index: 3 } };
    world.provider.script(anthropic({ details }));
    expect(await refusal("messages", "claude-test")).toMatchObject({
      type: "invalid_request_error",
      message: "No.",
      code: "invalid_request",
      details,
    });
  });

  test("an overflow keeps its code and its param", async () => {
    world.provider.script(openAi({ code: "context_length_exceeded", param: "messages" }));
    expect(await refusal("chat", "gpt-test")).toMatchObject({
      code: "context_length_exceeded",
      param: "messages",
    });
  });

  test("secrets are taken out of it", async () => {
    const secret = "sk-upstream-anthropic-canary";
    world.provider.script(
      anthropic({ details: { error_code: "x_y_z", hint: `use ${secret}`, deep: [{ secret, [secret]: 1 }] } }),
    );
    const error = await refusal("messages", "claude-test");
    expect(error["details"]).toHaveProperty("error_code", "x_y_z");
    expect(JSON.stringify(error)).not.toContain("canary");
    world.provider.script(openAi({ code: "unsupported_value", param: `headers.${secret}` }));
    expect(JSON.stringify(await refusal("chat", "gpt-test"))).not.toContain("canary");
    world.provider.script(openAi({ code: secret, type: secret }));
    expect(JSON.stringify(await refusal("chat", "gpt-test"))).not.toContain("canary");
  });

  test.each<[string, Json]>([
    ["a status", 400],
    ["about the operator's account", "invalid_api_key"],
    ["no code", "What is this?"],
    ["nothing", null],
  ])("a code that is %s (%p) is not passed on", async (_what, code) => {
    world.provider.script(openAi({ code }));
    expect(await refusal("chat", "chat-test")).toMatchObject({ code: "invalid_request", message: "No." });
  });

  test("details of an absurd size are not passed on", async () => {
    world.provider.script(anthropic({ details: { error_code: "x_y_z", all: "x".repeat(10_000) } }));
    expect(await refusal("messages", "claude-test")).not.toHaveProperty("details");
  });
});

describe("between dialects, what both have a term for is translated", () => {
  test.each([
    ["messages", "gpt-test", openAi({ code: "x_invalid", param: "max_output_tokens" }), "max_tokens"],
    ["messages", "gpt-test", openAi({ code: "x_invalid", param: "input[0].content" }), undefined],
    ["responses", "chat-test", openAi({ code: "x_invalid", param: "messages[3].content" }), "input"],
    ["responses", "chat-test", openAi({ code: "x_invalid", param: "response_format.json_schema" }), "text"],
    ["responses", "chat-test", openAi({ code: "x_invalid", param: "temperature" }), "temperature"],
    ["responses", "chat-test", openAi({ code: "x_invalid", param: "something_else" }), null],
  ] as const)("%s on %s: the field", async (client, model, answer, param) => {
    world.provider.script(answer);
    const error = await refusal(client, model);
    expect(error["code"]).toBe("x_invalid");
    // Anthropic's envelope has no param.
    if (client !== "messages") expect(error["param"]).toBe(param as string);
  });

  test("a signature that Anthropic does not know is ciphertext that OpenAI does not know", async () => {
    world.provider.script(
      anthropic({ message: "messages.1.content.0: Invalid `signature` in `thinking` block" }),
    );
    expect(await refusal("responses", "claude-test")).toHaveProperty("code", "invalid_encrypted_content");
    world.provider.script(openAi({ message: "Could not verify it.", code: "invalid_encrypted_content" }));
    const error = await refusal("messages", "gpt-test");
    expect(error["message"]).toContain("Invalid `signature` in `thinking` block");
  });

  test("Anthropic's details mean nothing to a client of OpenAI's dialects", async () => {
    world.provider.script(anthropic({ details: { error_code: "tool_name_conflict" } }));
    const error = await refusal("chat", "claude-test");
    expect(error).toMatchObject({ code: "invalid_request", message: "No." });
    expect(error).not.toHaveProperty("details");
  });
});

/** Conversations whose reasoning the provider has made, or so it seems; and what is left of them without it. */
const ciphertext = "gAAAAABothers";
const call = { type: "function_call", id: "fc_1", call_id: "call_1", name: "look", arguments: "{}" };
const output = { type: "function_call_output", call_id: "call_1", output: "fog" };
const look = { type: "tool_use", id: "toolu_1", name: "look", input: {} };
const result = { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "fog" }] };

function responsesWith(encrypted: string): JsonObject {
  const reasoning = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: encrypted };
  return { input: [{ role: "user", content: "Fog?" }, reasoning, call, output] };
}

function messagesWith(signature: string): JsonObject {
  const thinking = { type: "thinking", thinking: "hm", signature };
  const tools = [{ name: "look", input_schema: { type: "object" } }];
  const turns = [{ role: "user", content: "Fog?" }, { role: "assistant", content: [thinking, look] }, result];
  return { max_tokens: 3000, tools, messages: turns };
}

const openAiProof = { maker: "openai", id: "rs_1", encryptedContent: ciphertext, raw: false } as const;
const anthropicProof = { maker: "anthropic", signature: ciphertext } as const;

const unreadable: readonly [string, string, string, JsonObject][] = [
  ["responses", "gpt-test", "/v1/responses", responsesWith(ciphertext)],
  ["messages", "claude-test", "/v1/messages", messagesWith(ciphertext)],
  ["messages", "gpt-test", "/v1/messages", messagesWith(wrapSignature(openAiProof, [2]))],
  ["responses", "claude-test", "/v1/responses", responsesWith(wrapReasoning(anthropicProof, ["hm"]))],
];

function refusesCiphertext(request: SeenRequest) {
  if (!request.text.includes(ciphertext)) return usualResponse(request);
  return request.path.endsWith("/messages")
    ? anthropic({ message: "messages.1.content.0: Invalid `signature` in `thinking` block" })
    : openAi({ message: "The encrypted content could not be verified.", code: "invalid_encrypted_content" });
}

describe.each(unreadable)(
  "C48 reasoning that the provider cannot read, %s on %s",
  (_client, model, path, fields) => {
    test.each([false, true])(
      "is asked again without it, once, and charged once; streamed: %p",
      async (stream) => {
        world.provider.script(refusesCiphertext);
        const answer = await world.ask(caller, { path, body: { model, ...fields, stream } });
        expect(answer.status).toBe(200);
        await answer.text();
        const { requests: seen } = world.provider;
        expect(seen.map(({ text }) => text.includes(ciphertext))).toEqual([true, false]);
        expect(seen[1]?.text).toContain("Fog?");
        expect(seen[1]?.text).toContain("look");
        expect(seen[1]?.text).not.toContain("fc_1");
        expect(answer.headers.get("x-sluice-dropped")).toMatch(/^(reasoning|thinking)$/);
        expect(await world.chargesOf(caller)).toHaveLength(1);
      },
    );

    test("a provider that refuses that, too, is believed, and nothing is charged", async () => {
      world.provider.script((request) => refusesCiphertext({ ...request, text: ciphertext }));
      const answer = await world.ask(caller, { path, body: { model, ...fields } });
      expect(answer.status).toBe(400);
      expect(world.provider.requests).toHaveLength(2);
      expect(await world.chargesOf(caller)).toEqual([]);
    });

    test("a large body, too", async () => {
      world.provider.script(refusesCiphertext);
      const data = "A".repeat(1_100_000);
      const picture = path.endsWith("/messages")
        ? { type: "image", source: { type: "base64", media_type: "image/png", data } }
        : { type: "input_image", image_url: `data:image/png;base64,${data}` };
      const more = { role: "user", content: [picture] };
      const list = path.endsWith("/messages") ? "messages" : "input";
      const turns = [...(fields[list] as JsonObject[]), more];
      const answer = await world.ask(caller, { path, body: { model, ...fields, [list]: turns } });
      expect(answer.status).toBe(200);
      expect(world.provider.requests.map(({ text }) => text.includes(ciphertext))).toEqual([true, false]);
    });
  },
);

test("a request without reasoning is not asked again, whatever the provider says (C48)", async () => {
  world.provider.script(openAi({ code: "invalid_encrypted_content" }));
  expect(await refusal("responses", "gpt-test")).toHaveProperty("code", "invalid_encrypted_content");
  expect(world.provider.requests).toHaveLength(1);
});

test("a turn that another model began without thinking goes on without it, where Claude would answer 400", async () => {
  const tools = [{ name: "look", input_schema: { type: "object" } }];
  const said = { role: "user", content: "Go on." };
  const turns = [
    { role: "user", content: "Fog?" },
    { role: "assistant", content: [look] },
    result,
    said,
    said,
  ];
  const thinking = { type: "enabled", budget_tokens: 1024 };
  const body = { model: "claude-test", max_tokens: 3000, tools, thinking };
  const answer = await world.ask(caller, { path: "/v1/messages", body: { ...body, messages: turns } });
  expect(answer.status).toBe(200);
  expect(answer.headers.get("x-sluice-dropped")).toBe("thinking");
  expect(world.provider.requests.at(-1)?.body["thinking"]).toEqual({ type: "disabled" });
  const own = { type: "thinking", thinking: "hm", signature: "EqQB" };
  const thought = turns.with(1, { role: "assistant", content: [own, look] } as never);
  const kept = await world.ask(caller, { path: "/v1/messages", body: { ...body, messages: thought } });
  expect(kept.headers.get("x-sluice-dropped")).toBeNull();
  expect(world.provider.requests.at(-1)?.body["thinking"]).toEqual(thinking);
});
