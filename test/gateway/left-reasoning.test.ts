import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { sse } from "../support/answers.ts";
import { waitFor } from "../support/wait.ts";
import { type Pair, pairs, talker } from "./pairs.ts";
import { hello, paths, streamEvents } from "./wire-answers.ts";
import { World } from "./world.ts";

let world: World;
beforeAll(async () => {
  world = await World.startCounting({ tail: talker });
}, 60_000);
afterEach(() => world.provider.reset());
afterAll(() => world[Symbol.asyncDispose]());

/** At 1 and 2 USD per million tokens, in nano-credits. */
const nano = (input: number, output: number) => input * 1_000 + output * 2_000;
const text = "Sluices keep the canal navigable.";
const sealedText = "A".repeat(8_000);
const sealedTokens = 500;
const event = (type: string, more: object) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
const chunk = (delta: object) =>
  `data: ${JSON.stringify({ id: "c", choices: [{ index: 0, finish_reason: null, delta }] })}\n\n`;
const [messageStart = ""] = streamEvents("messages", { text });
const [responseCreated = ""] = streamEvents("responses", { text });
const at = { index: 0 };
const reasoningItem = { type: "reasoning", id: "rs", summary: [] };

/** Only reasoning that is encrypted by its provider. */
const sealed: Readonly<Record<string, { readonly provider: Pair["provider"]; readonly events: string[] }>> = {
  "a signature alone": {
    provider: "messages",
    events: [
      messageStart,
      event("content_block_start", {
        ...at,
        content_block: { type: "thinking", thinking: "", signature: "" },
      }),
      event("content_block_delta", { ...at, delta: { type: "signature_delta", signature: sealedText } }),
    ],
  },
  "a redacted block": {
    provider: "messages",
    events: [
      messageStart,
      event("content_block_start", { ...at, content_block: { type: "redacted_thinking", data: sealedText } }),
    ],
  },
  "an encrypted item": {
    provider: "responses",
    events: [
      responseCreated,
      event("response.output_item.added", {
        output_index: 0,
        item: { ...reasoningItem, encrypted_content: sealedText.slice(0, 100) },
      }),
      event("response.output_item.done", {
        output_index: 0,
        item: { ...reasoningItem, encrypted_content: sealedText },
      }),
    ],
  },
  "encrypted details": {
    provider: "chat",
    events: [chunk({ reasoning_details: [{ type: "reasoning.encrypted", data: sealedText }] })],
  },
};

test.each(Object.entries(sealed))(
  "all clients that leave after %s pay a token for every 16 characters",
  async (_, { provider, events }) => {
    world.provider.script({ ...sse(""), steps: [{ write: events.join("") }, { stall: true }] });
    const leaving = new AbortController();
    const more = { stream: true, max_tokens: 1000, max_output_tokens: 1000 };
    const talks = await Promise.all(
      pairs
        .filter((pair) => pair.provider === provider)
        .map(async (pair) => ({ ...pair, caller: await world.creditCaller() })),
    );
    const reading = talks.map(async ({ client, model, caller }) => {
      const { signal } = leaving;
      const ask = { path: paths[client], body: hello(client, model, more), signal };
      await (await world.ask(caller, ask)).text();
    });
    const { requests } = world.provider;
    await waitFor(
      () =>
        requests.length === talks.length &&
        requests.every(({ startedAtMs }) => startedAtMs < performance.now() - 300),
      "the reasoning",
    );
    leaving.abort();
    await Promise.allSettled(reading);
    for (const { caller } of talks) {
      const [charge] = await world.chargesOf(caller);
      expect(charge).toMatchObject({ outcome: "cancelled", basis: "estimated" });
      expect(-(charge?.amount ?? 0) - nano(0, sealedTokens)).toBeWithin(nano(1, 0), nano(100, 0));
    }
  },
);
