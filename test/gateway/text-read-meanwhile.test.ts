import { expect, test } from "bun:test";
import { GatewayError } from "../../src/base/errors.ts";
import { PassthroughRelayer } from "../../src/gateway/response/passthrough-relayer.ts";
import type { BodyDialectName } from "../support/body-dialects.ts";
import { type SeededRandom, seededRandom } from "../support/random.ts";

/**
 * A slow stream is asked for its text while it runs. Whenever it is asked, and
 * wherever the network cuts, it must give, hold, report and produce the same as one that is never asked.
 */

const texts = [
  ...["Hello", " world", "", "å € 😀", "[DONE]", "error", "usage", "message_stop", "<another text>"],
  ...['say "so"', "a\\b", "two\nlines", "\u0007", '{"error":{"message":"no"}}', "content", "x".repeat(300)],
];

const json = (value: unknown) => JSON.stringify(value);

function chatFrame(random: SeededRandom): string {
  const text = random.pick(texts);
  const chunk = (delta: object, more: object = {}) =>
    `data: ${json({ id: "c", choices: [{ index: 0, delta, finish_reason: null }], ...more })}\n\n`;
  if (random.chance(0.7)) return chunk({ content: text });
  return random.pick([
    chunk({ reasoning_content: text }),
    chunk({ content: text, reasoning: text }),
    chunk({ content: text }, { usage: null }),
    chunk({ content: text }, { obfuscation: text }),
    chunk({ content: text }).replaceAll("\n", "\r\n"),
    chunk({ content: text }).replace('"delta"', '"delta" '),
    chunk({ content: "ab" }).replace('"ab"', '"a\u0001b"'),
    chunk({ tool_calls: [{ index: 0, function: { arguments: text } }] }),
    `data: ${json({ id: "c", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] })}\n\n`,
    `data: ${json({ id: "c", choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } })}\n\n`,
    ": a comment\n\n",
    "data: not JSON\n\n",
  ]);
}

function messagesFrame(random: SeededRandom): string {
  const text = random.pick(texts);
  const event = (type: string, rest: object) => `event: ${type}\ndata: ${json({ type, ...rest })}\n\n`;
  const delta = (index: number, inner: object) => event("content_block_delta", { index, delta: inner });
  if (random.chance(0.7)) return delta(0, { type: "text_delta", text });
  return random.pick([
    delta(1, { type: "text_delta", text }),
    delta(0, { type: "thinking_delta", thinking: text }),
    delta(0, { type: "input_json_delta", partial_json: text }),
    event("content_block_start", { index: 1, content_block: { type: "tool_use", name: "f" } }),
    event("message_delta", { delta: {}, usage: { output_tokens: 5 } }),
    event("ping", {}),
  ]);
}

function responsesFrame(random: SeededRandom, number: number): string {
  const type = "response.output_text.delta";
  const numbered = random.chance(0.5) ? { sequence_number: number } : {};
  return `event: ${type}\ndata: ${json({ type, ...numbered, item_id: "i", delta: random.pick(texts) })}\n\n`;
}

const lastFrames: Readonly<Record<BodyDialectName, readonly string[]>> = {
  chat: ["data: [DONE]\n\n", `data: ${json({ error: { message: "It failed." } })}\n\n`, ""],
  messages: [
    `event: message_stop\ndata: ${json({ type: "message_stop" })}\n\n`,
    `event: error\ndata: ${json({ type: "error", error: { type: "overloaded_error", message: "no" } })}\n\n`,
    "",
  ],
  responses: [
    `event: response.completed\ndata: ${json({ type: "response.completed", response: { id: "r", usage: { input_tokens: 1, output_tokens: 2 } } })}\n\n`,
    "",
  ],
};

function randomStream(dialect: BodyDialectName, random: SeededRandom): Buffer {
  const frames = Array.from({ length: random.below(40) + 2 }, (_, number) => {
    if (dialect === "chat") return chatFrame(random);
    return dialect === "messages" ? messagesFrame(random) : responsesFrame(random, number);
  });
  const repeated = frames.flatMap((frame) => (random.chance(0.3) ? [frame, frame, frame] : [frame]));
  return Buffer.from([...repeated, random.pick(lastFrames[dialect])].join(""));
}

/** By whole frames, or anywhere. */
function cut(stream: Buffer, random: SeededRandom): Buffer[] {
  const pieces: Buffer[] = [];
  const byFrame = random.chance(0.6);
  for (let at = 0; at < stream.length; ) {
    const blank = stream.indexOf("\n\n", at);
    const frameEnd = blank === -1 ? stream.length : blank + 2;
    const end = byFrame && random.chance(0.9) ? frameEnd : at + 1 + random.below(120);
    pieces.push(stream.subarray(at, Math.min(end, stream.length)));
    at = end;
  }
  return pieces;
}

function relayerOf(dialect: BodyDialectName, hideUsage: boolean): PassthroughRelayer {
  const options = { dialect, hideUsage, requestId: "r", model: "m", atSeconds: 1 };
  return new PassthroughRelayer(options);
}

function run(dialect: BodyDialectName, hideUsage: boolean, pieces: readonly Buffer[], asks: () => boolean) {
  const relayer = relayerOf(dialect, hideUsage);
  const out: Uint8Array[] = [];
  let produced = "";
  for (const piece of pieces) {
    out.push(Buffer.from(relayer.push(Buffer.from(piece))));
    if (relayer.found.failure !== null) break;
    if (asks()) produced += relayer.found.takeProduced();
  }
  out.push(Buffer.from(relayer.end()));
  produced += relayer.found.takeProduced();
  return {
    left: Buffer.concat(out).toString(),
    terminal: Buffer.from(relayer.terminal()).toString(),
    brokenBy: relayer.found.failure?.message ?? null,
    failure: relayer.failure(new GatewayError("upstream_error", "It broke off."), null),
    produced,
    started: relayer.found.started,
    usage: relayer.found.usage,
    partialUsage: relayer.found.partialUsage,
  };
}

test.each(["chat", "messages", "responses"] as const)(
  "a %s stream is read alike, asked or not",
  (dialect) => {
    for (let seed = 1; seed <= 150; seed += 1) {
      const random = seededRandom(seed);
      const pieces = cut(randomStream(dialect, random), random);
      const hideUsage = random.chance(0.5);
      const asked = run(dialect, hideUsage, pieces, () => random.chance(0.4));
      const unasked = run(dialect, hideUsage, pieces, () => false);
      expect({ seed, ...asked }).toEqual({ seed, ...unasked });
    }
  },
);
