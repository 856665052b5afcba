import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Json } from "../../src/base/json.ts";
import { collectorOf } from "../../src/content/body-collector.ts";
import { type FrameKind, frameKinds } from "../../src/content/frame-log.ts";
import { ContentRecording } from "../../src/content/recording.ts";
import type { ClientDialectName } from "../../src/dialects/registry.ts";
import { PassthroughRelayer } from "../../src/gateway/answer/passthrough-relayer.ts";

type Piece = Uint8Array | string;

const limits = { maxRequestBytes: 100_000, maxResponseBytes: 100_000 };

/** A recording, and the pieces of the response that it sends to the thread. */
function startRecording(format: string) {
  const pieces: Piece[] = [];
  const sink = {
    add(kind: FrameKind, _: number, piece: Piece) {
      if (kind === frameKinds.response) pieces.push(piece);
      return true;
    },
    expectTrace() {},
  };
  const levels = { kept: "all", traced: "none" } as const;
  const recording = new ContentRecording({
    no: 1,
    levels,
    request: null,
    sink,
    limits,
    recordsUpstream: false,
  });
  recording.open({ kind: "events", format }, true);
  return { recording, pieces };
}

/** The pieces that are recorded of a stream that passes through in chunks of this many events. */
function recordedPieces(dialect: ClientDialectName, events: readonly string[], perChunk: number): Piece[] {
  const relayer = new PassthroughRelayer({
    dialect,
    hideUsage: false,
    requestId: "req_1",
    model: "m",
    atSeconds: 1,
  });
  relayer.compact();
  const { recording, pieces } = startRecording(dialect);
  for (let at = 0; at < events.length; at += perChunk) {
    const piece = relayer.push(Buffer.from(events.slice(at, at + perChunk).join("")));
    if (piece.length > 0) recording.response(piece, relayer.takeCompacted());
  }
  recording.response(relayer.terminal());
  recording.end({ id: "req_1", atMs: 1, usage: null, facts: end });
  return pieces;
}

const end = {
  model: "m",
  key: "slu_12345678",
  labels: { session: null, user: null, tags: {} },
  route: "/v1/chat/completions",
  status: 200,
  outcome: "completed",
  dropped: [],
  row: { keyId: "key_a", owner: null, isKept: true, isTraced: false },
};

function joined(format: string, pieces: readonly Piece[]): Json {
  const collector = collectorOf({ kind: "events", format }, 100_000);
  for (const piece of pieces) {
    const source = Buffer.from(piece as string);
    collector.add({ source, start: 0, end: source.length });
  }
  const body = collector.end();
  return body?.kind === "value" ? body.value : null;
}

function lengthOf(pieces: readonly Piece[]): number {
  return pieces.reduce((sum, piece) => sum + piece.length, 0);
}

const fixtures = join(import.meta.dir, "../support/fixtures");

for (const dialect of ["chat", "messages", "responses"] as const) {
  const names = readdirSync(join(fixtures, dialect)).filter((name) => name.endsWith(".sse"));
  for (const name of names) {
    const events = readFileSync(join(fixtures, dialect, name), "utf8").match(/[\s\S]+?(?:\r?\n){2}/g) ?? [];
    test(`${dialect} ${name}: repeated events are recorded as one, and joined as if each were recorded`, () => {
      for (const perChunk of [1, 2, 5])
        expect(joined(dialect, recordedPieces(dialect, events, perChunk))).toEqual(joined(dialect, events));
    });
  }
}

const chunk = (delta: object, rest: object = {}) =>
  `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: null }], ...rest })}\n\n`;
const ends = [
  `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] })}\n\n`,
  "data: [DONE]\n\n",
];

test("of 500 events that repeat one, little more than their text is recorded, however they come", () => {
  const texts = Array.from({ length: 500 }, (_, no) => `über ${no}, `);
  const events = [...texts.map((content) => chunk({ content })), ...ends];
  for (const perChunk of [1, 4, 40, 1000]) {
    const pieces = recordedPieces("chat", events, perChunk);
    expect(lengthOf(pieces)).toBeLessThan(lengthOf(texts) * 1.5);
    expect(joined("chat", pieces)).toEqual(joined("chat", events));
  }
});

test("texts keep their order and their field where events alternate, are escaped or are padded", () => {
  const events = [
    chunk({ reasoning_content: "think" }),
    chunk({ reasoning_content: "ing" }),
    chunk({ content: "one" }),
    chunk({ content: " two" }),
    chunk({ content: "\n\nthree" }),
    chunk({ content: " four" }, { obfuscation: "abc" }),
    chunk({ content: " five" }, { obfuscation: "q" }),
    chunk({ content: " six" }, { obfuscation: "" }),
    chunk({ tool_calls: [{ index: 0, id: "t", type: "function", function: { name: "f", arguments: "" } }] }),
    chunk({ tool_calls: [{ index: 0, function: { arguments: "[1" } }] }),
    chunk({ tool_calls: [{ index: 0, function: { arguments: ",2" } }] }),
    chunk({ tool_calls: [{ index: 0, function: { arguments: "]" } }] }),
    ...ends,
  ];
  for (const perChunk of [1, 2, 3, 50]) {
    const pieces = recordedPieces("chat", events, perChunk);
    expect(joined("chat", pieces)).toEqual(joined("chat", events));
  }
});

test("events are recorded one by one if each adds more to the response than text", () => {
  const tool = (name: string) => ({ tool_calls: [{ index: 0, id: "t", function: { name, arguments: "" } }] });
  const deltas = [
    (text: string) => ({ content: [{ type: "text", text }] }),
    (text: string) => ({ content: [{ type: "thinking", thinking: [{ type: "text", text }] }] }),
    (text: string) => ({ content: text, tool_calls: [{ id: "t" }] }),
    (text: string) => ({ reasoning: text, reasoning_details: [{ type: "reasoning.text", text: "a" }] }),
    (text: string) => ({ content: text, audio: { id: "a", data: "bGE=" } }),
    tool,
  ];
  for (const delta of deltas) {
    const events = [...["a", "b", "c", "d"].map((text) => chunk(delta(text))), ...ends];
    for (const perChunk of [1, 2, 50])
      expect(joined("chat", recordedPieces("chat", events, perChunk))).toEqual(joined("chat", events));
  }
});

test("probabilities are recorded once for each event that has them", () => {
  const logprobs = { content: [{ token: "a", logprob: -0.1 }] };
  const event = `data: ${JSON.stringify({ id: "c", choices: [{ index: 0, delta: { content: "a" }, logprobs }] })}\n\n`;
  const events = [event, event, event, ...ends];
  expect(joined("chat", recordedPieces("chat", events, 1))).toEqual(joined("chat", events));
});
