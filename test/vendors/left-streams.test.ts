import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Caller, World } from "../gateway/world.ts";
import { type Answer, sse } from "../support/answers.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { StreamReader } from "../support/sse.ts";
import { waitFor } from "../support/wait.ts";
import { encodeEvent } from "./bedrock/encode-message.ts";
import { eventStream } from "./bedrock/fake-bedrock.ts";
import { chunkOf, streamOf, usageOf } from "./gemini/fake-gemini.ts";

/** Clients that leave streams in dialects that no client speaks: what came of them counts. */
let provider: ScriptedProvider;
let world: World;

const model = (id: string, upstream: string, more: string) => `
[providers.${id}]
kind = "${id}"
base_url = "SCRIPTED"
${more}
[[models]]
id = "on-${id}"
provider = "${id}"
upstream_model = "${upstream}"
context_window = 200000
max_output_tokens = 4096
price = { input = 1.0, output = 2.0, cached_input = 0.1, cache_write = 1.25 }
`;

beforeAll(async () => {
  provider = startProvider();
  const tail = [
    model("gemini", "gemini-3.1-pro-preview", 'api_key = "env:TEST_GEMINI_KEY"'),
    model("bedrock", "amazon.nova-2-lite-v1:0", 'region = "eu-west-1"\napi_key = "env:TEST_BEDROCK_KEY"'),
  ];
  world = await World.startCounting({ tail: tail.join("").replaceAll("SCRIPTED", provider.url) });
}, 60_000);
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  provider.stop();
});

const words = "Sluices keep the canal navigable.";
const [helloTokens, wordTokens] = [5, 9];
const nano = (input: number, output: number) => input * 1_000 + output * 2_000;

const clients = [
  { path: "/v1/chat/completions", body: {} },
  { path: "/v1/messages", body: { max_tokens: 1000 } },
] as const;

/** Asks for a stream, leaves once `needle` or, without one, some time has come, and gives back what is charged. */
async function leave(name: string, client: (typeof clients)[number], answer: Answer, needle: string | null) {
  const caller: Caller = await world.creditCaller();
  provider.script(answer);
  const asked = provider.requests.length;
  const body = {
    model: `on-${name}`,
    stream: true,
    messages: [{ role: "user", content: "Hello" }],
    ...client.body,
  };
  const leaving = new AbortController();
  const answering = world.ask(caller, { path: client.path, body, signal: leaving.signal });
  if (needle !== null) {
    const reader = new StreamReader(await answering);
    await reader.until(needle);
    await reader.cancel();
  } else {
    const reading = answering.then((response) => response.text()).catch(() => "");
    await waitFor(() => {
      const { startedAtMs = Number.POSITIVE_INFINITY } = provider.requests[asked] ?? {};
      return performance.now() - startedAtMs > 300;
    }, "the beginning");
    leaving.abort();
    await reading;
  }
  return world.chargesOf(caller);
}

const cancelled = (amount: number, basis: "measured" | "estimated") => [
  { amount: -amount, basis, outcome: "cancelled" as const },
];

const converse = (...frames: [type: string, payload: object][]) =>
  Buffer.concat(frames.map(([type, payload]) => encodeEvent(type, payload)));
const text = (delta: object): [string, object] => ["contentBlockDelta", { contentBlockIndex: 0, delta }];
const textEnds: [string, object] = ["contentBlockStop", { contentBlockIndex: 0 }];
const stops: [string, object] = ["messageStop", { stopReason: "end_turn" }];
const starts: [string, object] = ["messageStart", { role: "assistant" }];
const counted: [string, object] = [
  "metadata",
  { usage: { inputTokens: 150_000, outputTokens: 12, totalTokens: 150_012 } },
];

describe.each(clients)("a client of $path", (client) => {
  for (const [what, ended] of [
    ["its block has ended", [textEnds]],
    ["it has stopped", [stops]],
  ] as const) {
    test(`that leaves Bedrock's Converse when ${what} pays by the usage that follows`, async () => {
      const steps: Answer["steps"] = [
        { write: converse(starts, text({ text: words }), ...ended) },
        { sleepMs: 150 },
        { write: converse(...[textEnds, stops].filter((frame) => frame !== ended[0]), counted) },
      ];
      const charges = await leave("bedrock", client, { ...eventStream(), steps }, "navigable");
      expect(charges).toEqual(cancelled(nano(150_000, 12), "measured"));
    });
  }

  test("that leaves Converse in the middle of a text pays for that", async () => {
    const steps: Answer["steps"] = [{ write: converse(starts, text({ text: words })) }, { stall: true }];
    const charges = await leave("bedrock", client, { ...eventStream(), steps }, "navigable");
    expect(charges).toEqual(cancelled(nano(helloTokens, wordTokens), "estimated"));
  });

  test.each(["signature", "redactedContent"])(
    "that leaves Converse after sealed reasoning, in its %s, pays by its size",
    async (field) => {
      const reasoning = text({ reasoningContent: { [field]: "A".repeat(8_000) } });
      const steps: Answer["steps"] = [{ write: converse(starts, reasoning) }, { stall: true }];
      const charges = await leave("bedrock", client, { ...eventStream(), steps }, null);
      expect(charges).toEqual(cancelled(nano(helloTokens, 500), "estimated"));
    },
  );

  test("that leaves Gemini pays by the usage that came with the last piece", async () => {
    const chunks = streamOf([chunkOf([{ text: words }], usageOf(100, 7, 20))]);
    const charges = await leave(
      "gemini",
      client,
      { ...sse(""), steps: [{ write: chunks }, { stall: true }] },
      "navigable",
    );
    expect(charges).toEqual(cancelled(nano(100, 27), "measured"));
  });

  test("that leaves Gemini at its end pays by the usage that follows", async () => {
    const steps: Answer["steps"] = [
      { write: streamOf([chunkOf([{ text: words }], null, "STOP")]) },
      { sleepMs: 150 },
      { write: streamOf([chunkOf([], usageOf(150_000, 12), "STOP")]) },
    ];
    const charges = await leave("gemini", client, { ...sse(""), steps }, "navigable");
    expect(charges).toEqual(cancelled(nano(150_000, 12), "measured"));
  });

  test("that leaves Gemini when it has only thought in secret pays for that", async () => {
    const hidden = chunkOf([{ text: "", thoughtSignature: "A".repeat(100) }], usageOf(100, 0, 4000));
    const steps: Answer["steps"] = [{ write: streamOf([hidden]) }, { stall: true }];
    expect(await leave("gemini", client, { ...sse(""), steps }, null)).toEqual(
      cancelled(nano(100, 4000), "measured"),
    );
  });
});
