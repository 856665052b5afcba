import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import { clientDialect } from "../../src/dialects/registry.ts";
import { json } from "../support/answers.ts";
import { waitFor } from "../support/wait.ts";
import { hello, paths, usageOf, wholeAnswer } from "./wire-answers.ts";
import { World } from "./world.ts";

let world: World;
beforeAll(async () => {
  world = await World.start({ head: '[responses]\nstate = "provider"' });
});
afterEach(() => world.provider.reset());
afterAll(() => world[Symbol.asyncDispose]());

const body = hello("chat", "gpt-test", { max_tokens: 10 }) as JsonObject;
/** By the tokenizer; the upper bound is many times as much. */
const counted = 5;
const ask = { path: paths.chat, body };

async function codeOf(response: Response): Promise<string> {
  return ((await response.json()) as { error: { code: string } }).error.code;
}

describe("a hold that only the cheap estimate refuses", () => {
  // On a busy machine the tokenizer takes longer to load than a request waits for it.
  beforeAll(() =>
    waitFor(
      async () =>
        (await world.gateway.tokens.of("key").request(new TextEncoder().encode(JSON.stringify(body)))) ===
        counted,
      "the tokenizer",
    ),
  );

  test("is given when a count of the input fits the budget, to the token", async () => {
    world.provider.script(wholeAnswer("chat", { text: "Hi", usage: usageOf("chat", counted, 10) }));
    const exact = await world.tokenCaller(counted + 10);
    const response = await world.ask(exact, ask);
    expect(response.status).toBe(200);
    await response.text();
    expect(await world.chargesOf(exact)).toEqual([{ amount: -15, basis: "measured", outcome: "completed" }]);

    const lacking = await world.tokenCaller(counted + 9);
    const refused = await world.ask(lacking, ask);
    expect(refused.status).toBe(402);
    expect(await refused.json()).toMatchObject({
      error: { code: "insufficient_credit", message: expect.stringContaining("up to 15 tokens") },
    });
    expect(await world.chargesOf(lacking)).toEqual([]);
    expect(world.provider.requests).toHaveLength(1);
  });

  test("is given when a count fits the credit, to the nano-credit", async () => {
    world.provider.script(wholeAnswer("chat", { text: "Hi", usage: usageOf("chat", counted, 10) }));
    // Input is held at its highest rate, 1.25 USD per million tokens, and output at 2.
    const held = counted * 1_250 + 10 * 2_000;
    const exact = await world.creditCaller(held / 1e9);
    const response = await world.ask(exact, ask);
    expect(response.status).toBe(200);
    await response.text();
    const lacking = await world.creditCaller((held - 1) / 1e9);
    const refused = await world.ask(lacking, ask);
    expect(refused.status).toBe(402);
    expect(await codeOf(refused)).toBe("insufficient_credit");
    expect(world.provider.requests).toHaveLength(1);
  });

  test("is refused by the count, too, where a large attachment or schema does not fit", async () => {
    const data = "JVBERi0x".repeat(5_000);
    const schema = { type: "object", description: "a long story ".repeat(3_000) };
    const file = { type: "file", file: { file_data: `data:text/plain;base64,${data}` } };
    for (const more of [
      { messages: [{ role: "user", content: [file] }] },
      { response_format: { type: "json_schema", json_schema: { name: "x", schema } } },
      { functions: [{ name: "f", parameters: schema }] },
      { documents: [{ text: schema.description }] },
    ]) {
      const poor = await world.tokenCaller(3_100);
      const refused = await world.ask(poor, { path: paths.chat, body: { ...body, ...more } as never });
      expect([refused.status, await codeOf(refused)]).toEqual([402, "insufficient_credit"]);
    }
    expect(world.provider.requests).toHaveLength(0);
  });

  test("is refused by the count where a tool's input or schema is all names and nulls", async () => {
    const names = Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`qzjq${index}`, null]));
    const call = (type: string) => [
      { role: "user", content: "a" },
      { role: "assistant", content: [{ type, id: "a", name: "b", server_name: "c", input: names }] },
    ];
    const tool = { type: "function", name: "f", parameters: names };
    const found = { type: "tool_search_output", call_id: "a", tools: [tool] };
    for (const [path, more] of [
      [paths.messages, { ...hello("messages", "claude-test"), messages: call("tool_use") }],
      [paths.messages, { ...hello("messages", "claude-test"), messages: call("mcp_tool_use") }],
      [paths.messages, { ...hello("messages", "claude-test"), messages: call("server_tool_use") }],
      [paths.responses, { ...hello("responses", "gpt-test"), input: [found], max_output_tokens: 10 }],
    ] as const) {
      const refused = await world.ask(await world.tokenCaller(5_000), { path, body: more as never });
      expect(refused.status).toBe(402);
    }
    expect(world.provider.requests).toHaveLength(0);
  });

  test("is refused by the count where another vendor's tokenizer may find many times as many tokens", async () => {
    // 4,000 tokens of OpenAI's newest encoding, and 124,000 of the one before.
    const content = " հնարավորություն".repeat(4_000);
    const claude = {
      ...hello("messages", "claude-test"),
      messages: [{ role: "user", content }],
      max_tokens: 10,
    };
    const refused = await world.ask(await world.tokenCaller(10_000), { path: paths.messages, body: claude });
    expect(refused.status).toBe(402);
    expect(world.provider.requests).toHaveLength(0);
  });

  test("beside another hold is given by the count, or refused for the time being", async () => {
    const gate = Promise.withResolvers<void>();
    const answer = wholeAnswer("chat", { text: "Hi", usage: usageOf("chat", counted, 10) });
    world.provider.script({ ...answer, before: [{ until: gate.promise }] });
    const caller = await world.tokenCaller(2 * (counted + 10));
    const asking = [world.ask(caller, ask)];
    await waitFor(() => world.provider.requests.length === 1, "the first to be asked");
    asking.push(world.ask(caller, ask));
    await waitFor(() => world.provider.requests.length === 2, "the second to be asked");
    const third = await world.ask(caller, ask);
    expect(third.status).toBe(429);
    expect(await codeOf(third)).toBe("balance_temporarily_reserved");
    gate.resolve();
    for (const response of await Promise.all(asking)) expect(response.status).toBe(200);
  });

  test("is what an estimated charge is bounded by", async () => {
    world.provider.script(wholeAnswer("chat", { text: "word ".repeat(500) }));
    const caller = await world.tokenCaller(counted + 10);
    const response = await world.ask(caller, ask);
    expect(response.status).toBe(200);
    await response.text();
    expect(await world.chargesOf(caller)).toEqual([
      { amount: -(counted + 10), basis: "estimated", outcome: "completed" },
    ]);
  });

  test("is not counted where even an empty input would not fit", async () => {
    const { tokens } = world.gateway;
    let counts = 0;
    const of = tokens.of.bind(tokens);
    Object.assign(tokens, {
      of: (keyId: string) => ({
        ...of(keyId),
        requestAtMost: (bytes: Uint8Array) => {
          counts += 1;
          return of(keyId).requestAtMost(bytes);
        },
      }),
    });
    expect((await world.ask(await world.tokenCaller(9), ask)).status).toBe(402);
    expect((await world.ask(await world.creditCaller(0), ask)).status).toBe(402);
    expect(counts).toBe(0);
    expect((await world.ask(await world.tokenCaller(100_000), ask)).status).toBe(200);
    expect(counts).toBe(0);
    expect((await world.ask(await world.tokenCaller(counted + 10), ask)).status).toBe(200);
    expect(counts).toBe(1);
    Object.assign(tokens, { of });
    await world.settled();
  });
});

test("a hold that is counted takes the place of the first in one step, so that no other call gets in between", async () => {
  const { accounts } = world.gateway;
  const steps: string[] = [];
  const counted = world.gateway.tokens.of("key");
  const tokens = { of: () => ({ ...counted, requestAtMost: async () => 5 }) };
  const watching: Partial<typeof accounts> = {
    hold: (...asked: Parameters<typeof accounts.hold>) => {
      steps.push("hold");
      return accounts.hold(...asked);
    },
    release: (...asked: Parameters<typeof accounts.release>) => {
      steps.push("release");
      // The next microtask could be another call's.
      queueMicrotask(() => steps.push("others"));
      return accounts.release(...asked);
    },
  };
  const watched = new Proxy(accounts, {
    get: (target, name: keyof typeof accounts) => {
      const found: unknown = watching[name] ?? target[name];
      return typeof found === "function" ? found.bind(target) : found;
    },
  });
  const before = { accounts, tokens: world.gateway.tokens };
  Object.assign(world.gateway, { accounts: watched, tokens });
  const response = await world.ask(await world.tokenCaller(200), ask);
  Object.assign(world.gateway, before);
  expect(response.status).toBe(200);
  await response.text();
  expect(steps.slice(0, 4)).toEqual(["hold", "release", "hold", "others"]);
});

test("a conversation that the provider has stored is held with the request that continues it", async () => {
  const continued = (fields: JsonObject) => ({
    path: paths.responses,
    body: hello("responses", "gpt-test", { max_output_tokens: 10, ...fields }),
  });
  const scripted = wholeAnswer("responses", { text: "Hi", usage: usageOf("responses", 1000, 10) });
  for (const continuation of [
    { previous_response_id: "resp_up" },
    { input: [{ type: "item_reference", id: "m" }] },
  ]) {
    world.provider.reset();
    world.provider.script(scripted);
    const caller = await world.tokenCaller(1010 + 1000);
    expect((await world.ask(caller, continued({}))).status).toBe(200);
    const refused = await world.ask(caller, continued(continuation));
    expect([refused.status, await codeOf(refused)]).toEqual([402, "insufficient_credit"]);
    expect(world.provider.requests).toHaveLength(1);
    expect((await world.ask(caller, continued({}))).status).toBe(200);
  }

  world.provider.reset();
  world.provider.script(scripted);
  const rich = await world.tokenCaller(1010 + 1010 + 10 + counted);
  expect((await world.ask(rich, continued({}))).status).toBe(200);
  const fits = await world.ask(rich, continued({ previous_response_id: "resp_up" }));
  expect(fits.status, await fits.text()).toBe(200);
  expect(world.provider.requests).toHaveLength(2);
  await world.settled();
});

test("files and containers of an earlier answer do not stand for its conversation, which is in the request itself", async () => {
  const said = { id: "msg", type: "message", role: "assistant", model: "up", stop_reason: "end_turn" };
  const content = [
    { type: "text", text: "Hi" },
    {
      type: "code_execution_tool_result",
      tool_use_id: "srvtoolu_up",
      content: {
        type: "code_execution_result",
        content: [{ type: "code_execution_output", file_id: "file_up" }],
      },
    },
  ];
  const container = { id: "container_up", expires_at: "2027-01-01T00:00:00Z" };
  for (const more of [
    { container: "container_up" },
    { messages: [{ role: "user", content: [{ type: "container_upload", file_id: "file_up" }] }] },
  ]) {
    world.provider.reset();
    world.provider.script(
      json({
        ...said,
        stop_sequence: null,
        content,
        container,
        usage: { input_tokens: 1000, output_tokens: 10 },
      }),
    );
    const caller = await world.tokenCaller(1010 + 500);
    const asked = (fields: object) => ({
      path: paths.messages,
      body: hello("messages", "claude-test", { max_tokens: 10, ...fields }),
    });
    expect((await world.ask(caller, asked({}))).status).toBe(200);
    const fits = await world.ask(caller, asked(more));
    expect(fits.status, await fits.text()).toBe(200);
    expect(world.provider.requests).toHaveLength(2);
  }
  await world.settled();
});

test("the highest of several limits is held, whichever the provider reads, and every choice that is produced", () => {
  const model = world.gateway.configured.catalog.find("gpt-test");
  if (model === undefined) throw new Error("the model is configured");
  const held = (fields: JsonObject) => clientDialect("chat").limitOutput(fields, model).maxOutputTokens;
  expect(held({ max_tokens: 1000, max_completion_tokens: 1 })).toBe(1000);
  expect(held({ max_tokens: 1, max_completion_tokens: 1000 })).toBe(1000);
  expect(held({ max_tokens: 1, n_predict: 1000 })).toBe(1000);
  expect(held({ max_tokens: 1000, n_predict: 1 })).toBe(1000);
  expect(held({ max_tokens: 1, n_predict: -1 })).toBe(4096);
  expect(held({ n_predict: 10 })).toBe(4096);
  expect(() => held({ max_tokens: 1, n_predict: 4097 })).toThrow("`n_predict` is 4097");
  for (const n_predict of ["1000", "-1", "", 1.5, [1000], {}, true]) {
    expect(() => held({ max_tokens: 1, n_predict })).toThrow("`n_predict` must be a whole number");
  }
  expect(held({ max_tokens: 1, n_predict: null })).toBe(1);
  expect(held({ max_tokens: 10, best_of: 5 })).toBe(50);
  expect(held({ max_tokens: 10, best_of: 5, n: 8 })).toBe(80);
  expect(() => held({ max_tokens: 10, best_of: 129 })).toThrow("`best_of` must be");
  const { limitOutput } = clientDialect("responses");
  expect(limitOutput({ max_output_tokens: 1, n_predict: 1000 }, model).maxOutputTokens).toBe(1000);
  // llama.cpp makes a chat request of it, and leaves the names of chat as they are.
  expect(limitOutput({ max_output_tokens: 1, max_completion_tokens: 1000 }, model).maxOutputTokens).toBe(
    1000,
  );
  expect(limitOutput({ max_output_tokens: 1, max_completion_tokens: -1 }, model).maxOutputTokens).toBe(4096);
  expect(limitOutput({ max_completion_tokens: 10 }, model).maxOutputTokens).toBe(4096);
  expect(() => limitOutput({ max_output_tokens: 1, max_tokens: "9" }, model)).toThrow("`max_tokens` must be");
});

test("every choice that a provider may read from a request is held", () => {
  const model = world.gateway.configured.catalog.find("gpt-test");
  if (model === undefined) throw new Error("the model is configured");
  const choices = (n: unknown) =>
    clientDialect("chat").limitOutput({ n, max_tokens: 10 } as never, model).maxOutputTokens;
  expect([choices(1), choices(3), choices(128), choices(null)]).toEqual([10, 30, 1280, 10]);
  expect(clientDialect("chat").limitOutput({ n: 3 }, model).maxOutputTokens).toBe(3 * 4096);
  for (const field of ["n", "n_cmpl"]) {
    const asked = { [field]: 3, max_tokens: 10, max_output_tokens: 10 };
    expect(clientDialect("chat").limitOutput(asked, model).maxOutputTokens).toBe(30);
    expect(clientDialect("responses").limitOutput(asked, model).maxOutputTokens).toBe(30);
  }
  expect(clientDialect("messages").limitOutput({ n: 3, max_tokens: 10 }, model).maxOutputTokens).toBe(10);
});
