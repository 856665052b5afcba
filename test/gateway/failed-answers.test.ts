import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import type { Json } from "../../src/base/json.ts";
import type { ProviderDialectName } from "../../src/dialects/registry.ts";
import { openingMs } from "../../src/upstream/call/inspect.ts";
import { type Answer, json, sse } from "../support/answers.ts";
import { bodyDialectNames } from "../support/body-dialects.ts";
import { hello, paths } from "./wire-answers.ts";
import { type Caller, World } from "./world.ts";

const speakers: Readonly<Record<ProviderDialectName, string>> = {
  chat: 'kind = "openai-compatible"\nbase_url = "PROVIDER_URL/v1"\ndialects = ["chat"]',
  responses: 'kind = "openai-compatible"\nbase_url = "PROVIDER_URL/v1"\ndialects = ["responses"]',
  messages: 'kind = "anthropic"\nbase_url = "PROVIDER_URL"\napi_key = "env:TEST_ANTHROPIC_KEY"',
  gemini: 'kind = "gemini"\nbase_url = "PROVIDER_URL"\napi_key = "env:TEST_GEMINI_KEY"',
  converse:
    'kind = "bedrock"\nregion = "eu-canary-1"\nbase_url = "PROVIDER_URL"\napi_key = "env:TEST_BEDROCK_KEY"',
};
const providers = Object.keys(speakers) as ProviderDialectName[];

/** Every model has two deployments, so that a second attempt would be seen. */
const tail = providers
  .map(
    (name) => `
[providers.of-${name}]
${speakers[name]}
[[models]]
id = "from-${name}"
context_window = 8192
max_output_tokens = 1024
price = { input = 1.0, output = 2.0, cached_input = 0.1, web_search = 10.0, tiers.priority = { input = 3.0, output = 6.0 } }
[[models.deployments]]
provider = "of-${name}"
upstream_model = "first"
priority = 1
[[models.deployments]]
provider = "of-${name}"
upstream_model = "second"
priority = 2
`,
  )
  .join("");

let world: World;
/** One for all: failures of several keys would open breakers. */
let caller: Caller;
let chargesBefore = 0;
beforeAll(async () => {
  world = await World.start({ tail });
  caller = await world.creditCaller();
});
afterEach(async () => {
  world.provider.reset();
  chargesBefore = (await world.chargesOf(caller)).length;
});
afterAll(() => world[Symbol.asyncDispose]());

function usageIn(provider: ProviderDialectName, input: number, output: number): { [name: string]: Json } {
  switch (provider) {
    case "chat":
      return { usage: { prompt_tokens: input, completion_tokens: output } };
    case "gemini":
      return { usageMetadata: { promptTokenCount: input, candidatesTokenCount: output } };
    case "converse":
      return { usage: { inputTokens: input, outputTokens: output } };
    default:
      return { usage: { input_tokens: input, output_tokens: output } };
  }
}

type UsageFields = { [name: string]: Json };

/** A whole answer, or a stream's event, that says that it has failed. */
function failed(provider: ProviderDialectName, figures: UsageFields): { [name: string]: Json } {
  const error = { code: "server_error", type: "server_error", message: "It broke." };
  if (provider === "messages") return { type: "error", error, ...figures };
  if (provider !== "responses") return { error, ...figures };
  return { id: "resp_1", object: "response", created_at: 1, status: "failed", output: [], error, ...figures };
}

function good(provider: ProviderDialectName): { [name: string]: Json } {
  const figures = usageIn(provider, 7, 3);
  switch (provider) {
    case "chat":
      return {
        choices: [{ index: 0, message: { role: "assistant", content: "Well." }, finish_reason: "stop" }],
        ...figures,
      };
    case "responses":
      return {
        ...{ id: "resp_1", object: "response", created_at: 1, status: "completed" },
        output: [
          {
            ...{ type: "message", id: "m", role: "assistant", status: "completed" },
            content: [{ type: "output_text", text: "Well.", annotations: [] }],
          },
        ],
        ...figures,
      };
    case "messages":
      return {
        ...{ id: "msg", type: "message", role: "assistant", model: "up", stop_reason: "end_turn" },
        content: [{ type: "text", text: "Well." }],
        ...figures,
      };
    case "gemini":
      return {
        candidates: [{ content: { parts: [{ text: "Well." }] }, finishReason: "STOP" }],
        ...figures,
      };
    case "converse":
      return {
        output: { message: { role: "assistant", content: [{ text: "Well." }] } },
        stopReason: "end_turn",
        ...figures,
      };
  }
}

const event = (data: { [name: string]: Json }) =>
  `${typeof data["type"] === "string" ? `event: ${data["type"]}\n` : ""}data: ${JSON.stringify(data)}\n\n`;

function failedEvent(provider: ProviderDialectName, figures: UsageFields): string {
  const body = failed(provider, figures);
  if (provider !== "responses") return event(body);
  return event({ type: "response.failed", sequence_number: 9, response: body });
}

/** What a stream begins with. Bedrock's failures within a stream are exceptions, which have no figures. */
const begun: Readonly<Partial<Record<ProviderDialectName, string>>> = {
  chat: event({ choices: [{ index: 0, delta: { role: "assistant", content: "Canals" } }] }),
  responses:
    event({
      type: "response.created",
      sequence_number: 0,
      response: { id: "resp_1", status: "in_progress" },
    }) + event({ type: "response.output_text.delta", sequence_number: 1, output_index: 0, delta: "Canals" }),
  messages:
    event({ type: "message_start", message: { usage: { input_tokens: 2, output_tokens: 1 } } }) +
    event({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }) +
    event({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Canals" } }),
  gemini: event({ candidates: [{ content: { parts: [{ text: "Canals" }] } }] }),
};

/** So many values in so few bytes that the answer is read on another thread. */
const large = { x: Array.from({ length: 40_000 }, () => 0) };

interface Form {
  readonly name: string;
  readonly stream: boolean;
  /** Null if the dialect does not have this failure. */
  answer(provider: ProviderDialectName, figures: UsageFields): Answer | null;
}

const wholes: readonly Form[] = [
  { name: "whole", stream: false, answer: (provider, figures) => json(failed(provider, figures)) },
  {
    name: "whole, asked for as a stream",
    stream: true,
    answer: (provider, figures) => json(failed(provider, figures)),
  },
];
const larges: readonly Form[] = wholes.map(({ name, stream }) => ({
  name: `large and ${name}`,
  stream,
  answer: (provider, figures) => json({ ...large, ...failed(provider, figures) }),
}));
const firstFrame: Form = {
  name: "the first event of a stream",
  stream: true,
  answer: (provider, figures) => (begun[provider] === undefined ? null : sse(failedEvent(provider, figures))),
};
const collected: Form = {
  name: "a stream that was not asked for",
  stream: false,
  answer: (provider, figures) =>
    begun[provider] === undefined ? null : sse(begun[provider] + failedEvent(provider, figures)),
};
const afterText: Form = { ...collected, name: "a stream after its first text", stream: true };

interface Asked {
  readonly client: (typeof bodyDialectNames)[number];
  readonly provider: ProviderDialectName;
  readonly stream: boolean;
  readonly more?: object;
}

async function ask({ client, provider, stream, more = {} }: Asked) {
  const limit = client === "messages" ? { max_tokens: 50 } : {};
  const body = hello(client, `from-${provider}`, { stream, ...limit, ...more });
  const response = await world.ask(caller, { path: paths[client], body });
  return { status: response.status, text: await response.text() };
}

/** The charges of the current test. */
const charges = async () => (await world.chargesOf(caller)).slice(chargesBefore);
const attempts = () => world.provider.requests.length;
const nano = (input: number, output: number) => -(input * 1_000 + output * 2_000);

describe("what a provider says that it has used for a failed answer is charged once, and nobody is asked again:", () => {
  for (const provider of providers) {
    for (const form of [...wholes, ...larges, firstFrame, collected, afterText]) {
      if (form.answer(provider, {}) === null) continue;
      for (const client of bodyDialectNames) {
        test(`${form.name} of ${provider}, for a client of ${client}`, async () => {
          const answer = form.answer(provider, usageIn(provider, 100, 20));
          world.provider.script([answer ?? json({}), json(good(provider))]);
          const { status, text } = await ask({ client, provider, stream: form.stream });
          expect(status).toBe(form === afterText ? 200 : 502);
          expect(text).toContain("It broke.");
          expect(await charges()).toEqual([{ amount: nano(100, 20), basis: "measured", outcome: "failed" }]);
          expect(attempts()).toBe(1);
        });
      }
    }
  }
});

describe("a failure that nothing was used for costs nothing, and the other deployment is asked:", () => {
  for (const provider of providers) {
    for (const form of [...wholes, firstFrame]) {
      if (form.answer(provider, {}) === null) continue;
      for (const [what, figures] of [
        ["without figures", {}],
        ["with figures of 0", usageIn(provider, 0, 0)],
      ] as const) {
        test(`${form.name} of ${provider}, ${what}`, async () => {
          world.provider.script([form.answer(provider, figures) ?? json({}), json(good(provider))]);
          const { status, text } = await ask({ client: "chat", provider, stream: form.stream });
          expect(status).toBe(200);
          expect(text).toContain("Well.");
          expect(await charges()).toEqual([{ amount: nano(7, 3), basis: "measured", outcome: "completed" }]);
          expect(attempts()).toBe(2);
        });
      }
    }
  }

  test.each(larges)(
    "$name, which is not asked for again, costs nothing either",
    async ({ stream, answer }) => {
      world.provider.script(answer("responses", usageIn("responses", 0, 0)) ?? json({}));
      const { status } = await ask({ client: "chat", provider: "responses", stream });
      expect(status).toBe(502);
      expect(await charges()).toEqual([]);
    },
  );

  test("but text before it has been delivered, and is counted", async () => {
    world.provider.script(afterText.answer("responses", usageIn("responses", 0, 0)));
    for (const client of bodyDialectNames) {
      const { status } = await ask({ client, provider: "responses", stream: true });
      expect(status).toBe(200);
    }
    const counted = { amount: nano(5, 2), basis: "estimated", outcome: "failed" } as const;
    expect(await charges()).toMatchObject([counted, counted, counted]);
  });
});

describe("a response that failed without an error is a failure too, and is charged:", () => {
  const { error: _, ...silent } = failed("responses", usageIn("responses", 100, 20));
  const { output: __, ...empty } = silent;
  for (const client of bodyDialectNames) {
    for (const [what, body] of [
      ["with output", silent],
      ["without output", empty],
    ] as const) {
      test(`${what}, for a client of ${client}`, async () => {
        world.provider.script(json(body));
        const { status } = await ask({ client, provider: "responses", stream: false });
        expect(status).toBe(502);
        expect(await charges()).toEqual([{ amount: nano(100, 20), basis: "measured", outcome: "failed" }]);
        expect(attempts()).toBe(1);
      });
    }
  }
});

describe("what a failed answer reports beside its tokens is charged with them:", () => {
  const searched = { type: "web_search_call", id: "ws_1", status: "completed" };
  const tools = [{ type: "web_search" }];
  for (const form of [...wholes, ...larges, firstFrame, collected, afterText]) {
    test(`a search, ${form.name}`, async () => {
      const figures = { ...usageIn("responses", 100, 20), output: [searched] };
      world.provider.script(form.answer("responses", figures));
      const { text } = await ask({
        ...{ client: "responses", provider: "responses", stream: form.stream },
        more: { tools },
      });
      expect(text).toContain("It broke.");
      expect(await charges()).toEqual([
        { amount: nano(100, 20) - 10_000_000, basis: "measured", outcome: "failed" },
      ]);
    });

    test(`a tier that was not given, ${form.name}`, async () => {
      const figures = { ...usageIn("responses", 100, 20), service_tier: "default" };
      world.provider.script(form.answer("responses", figures));
      await ask({
        ...{ client: "chat", provider: "responses", stream: form.stream },
        more: { service_tier: "priority" },
      });
      expect(await charges()).toEqual([{ amount: nano(100, 20), basis: "measured", outcome: "failed" }]);
    });
  }
});

describe("searches are charged without any tokens, and nobody is asked again:", () => {
  const searched = { type: "web_search_call", id: "ws_1", status: "completed" };
  const counted: Readonly<Record<string, UsageFields>> = {
    "a call of responses beside figures of 0": { ...usageIn("responses", 0, 0), output: [searched] },
    "a call of responses without figures": { output: [searched] },
    "a count of messages": {
      usage: { input_tokens: 0, output_tokens: 0, server_tool_use: { web_search_requests: 1 } },
    },
    "a count of messages alone": { usage: { server_tool_use: { web_search_requests: 1 } } },
    "a count of chat": { usage: { prompt_tokens: 0, completion_tokens: 0, num_search_queries: 1 } },
  };
  for (const [what, figures] of Object.entries(counted)) {
    const provider = what.includes("responses") ? "responses" : what.includes("chat") ? "chat" : "messages";
    const tool =
      provider === "messages" ? { type: "web_search_20250305", name: "web_search" } : { type: "web_search" };
    const more = provider === "chat" ? { web_search_options: {} } : { tools: [tool] };
    for (const form of [...wholes, ...larges, firstFrame]) {
      test(`${what}, ${form.name}`, async () => {
        const answer = form.answer(provider, figures);
        world.provider.script([answer ?? json({}), json(good(provider))]);
        const { status, text } = await ask({ client: provider, provider, stream: form.stream, more });
        expect(status).toBe(502);
        expect(text).toContain("It broke.");
        expect(await charges()).toMatchObject([{ amount: -10_000_000, outcome: "failed" }]);
        expect(attempts()).toBe(1);
      });
    }
  }
});

describe("a refusal with figures is charged like a failed answer, and one without is free:", () => {
  for (const provider of providers) {
    const refusal = (status: number, figures: UsageFields) => json(failed(provider, figures), { status });

    test.each([400, 429, 500, 503, 529])(`${provider} with status %i and figures`, async (status) => {
      world.provider.script([refusal(status, usageIn(provider, 100, 20)), json(good(provider))]);
      const answer = await ask({ client: "chat", provider, stream: status === 500 });
      expect(answer.status).toBe(status === 529 || status === 429 ? 503 : status === 500 ? 502 : status);
      expect(await charges()).toEqual([{ amount: nano(100, 20), basis: "measured", outcome: "failed" }]);
      expect(attempts()).toBe(1);
    });

    for (const [what, figures] of [
      ["without figures", {}],
      ["with figures of 0", usageIn(provider, 0, 0)],
      ["with figures that are none", { usage: "much", usageMetadata: 1 }],
    ] as const) {
      test(`${provider} ${what} is asked elsewhere`, async () => {
        world.provider.script([refusal(500, figures), json(good(provider))]);
        const { status } = await ask({ client: "chat", provider, stream: false });
        expect(status).toBe(200);
        expect(await charges()).toEqual([{ amount: nano(7, 3), basis: "measured", outcome: "completed" }]);
        expect(attempts()).toBe(2);
      });
    }
  }

  test("what the client did wrong is said as before", async () => {
    const error = { type: "invalid_request_error", message: "The image is broken." };
    world.provider.script(json({ error, ...usageIn("chat", 100, 0) }, { status: 400 }));
    const { status, text } = await ask({ client: "messages", provider: "chat", stream: true });
    expect(status).toBe(400);
    expect(text).toContain("The image is broken.");
    expect(await charges()).toEqual([{ amount: nano(100, 0), basis: "measured", outcome: "failed" }]);
  });
});

describe("a message that the client has seen begin shows what its failure is charged, also before its first text:", () => {
  const [start = ""] = (begun.messages ?? "").split(/(?<=\n\n)/);
  const ping = event({ type: "ping" });
  for (const [what, beginning, shown] of [
    [
      "after its start has waited for content",
      [{ write: start + ping }, { sleepMs: openingMs + 1000 }],
      true,
    ],
    ["not at once after its start, which is not shown then", [{ write: start }], false],
    ["not after a ping alone, because it has not begun", [{ write: ping }], false],
  ] as const) {
    test(what, async () => {
      const failure = { write: failedEvent("messages", usageIn("messages", 100, 20)) };
      world.provider.script({ ...sse(""), steps: [...beginning, failure] });
      const { text } = await ask({ client: "messages", provider: "messages", stream: true });
      expect(text).toContain("It broke.");
      expect(/"input_tokens":100,.*"output_tokens":20/.test(text)).toBe(shown);
      expect(text.includes("message_delta")).toBe(shown);
      expect(await charges()).toEqual([{ amount: nano(100, 20), basis: "measured", outcome: "failed" }]);
    });
  }
});

test("whatever kind of error a stream reports, the client is told as before", async () => {
  const invalid = { code: "invalid_prompt", message: "No such thing." };
  const figures = { ...usageIn("responses", 100, 20), error: invalid };
  world.provider.script(afterText.answer("responses", figures));
  const { text } = await ask({ client: "chat", provider: "responses", stream: true });
  expect(text).toContain('"code":"invalid_prompt"');
  expect(text).toContain("No such thing.");
  expect(await charges()).toEqual([{ amount: nano(100, 20), basis: "measured", outcome: "failed" }]);
});

test("an error that refuses the proofs of earlier reasoning, and bills that, is not asked again without them", async () => {
  const error = {
    code: "invalid_encrypted_content",
    message: "The encrypted content could not be verified.",
  };
  world.provider.script(json(failed("responses", { ...usageIn("responses", 100, 20), error })));
  const input = [
    { type: "message", role: "user", content: "Hello" },
    { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "sealed" },
    { type: "message", role: "user", content: "And?" },
  ];
  const { status } = await ask({
    ...{ client: "responses", provider: "responses", stream: false },
    more: { input },
  });
  expect(status).toBe(502);
  expect(attempts()).toBe(1);
  expect(await charges()).toHaveLength(1);
});

test("why it failed is kept with the charge, and the request can be tried again under its idempotency key", async () => {
  world.provider.script([json(failed("responses", usageIn("responses", 100, 20))), json(good("responses"))]);
  const headers = { "idempotency-key": "once" };
  const asking = { path: paths.responses, body: hello("responses", "from-responses"), headers };
  const first = await world.ask(caller, asking);
  expect(first.status).toBe(502);
  await first.text();
  await world.settled();
  expect(world.observed.at(-1)).toMatchObject({
    outcome: "failed",
    errorCode: "upstream_error",
    attempts: 1,
    usage: { inputTokens: 100, outputTokens: 20 },
    failedAttempts: [{ failure: "error_in_200", status: 200, left: "ended" }],
  });
  const second = await world.ask(caller, asking);
  expect(second.status).toBe(200);
  expect(second.headers.has("idempotent-replayed")).toBe(false);
  await second.text();
  expect(await charges()).toHaveLength(2);
});
