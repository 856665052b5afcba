import { expect, test } from "bun:test";
import { Assembler } from "../../src/content/assembler.ts";
import type { RecordingEnd, RecordingStart } from "../../src/content/document.ts";
import { FrameLog, frameKinds, type SentLog } from "../../src/content/frame-log.ts";
import { unpack } from "../../src/content/pack.ts";

const start: RecordingStart = {
  isRequestValid: true,
  response: { kind: "events", format: "chat" },
  upstream: null,
  maxRequestBytes: 100_000,
  maxResponseBytes: 100_000,
};

const end: RecordingEnd = {
  id: "req_a",
  atMs: 1,
  usage: null,
  facts: {
    model: "m",
    key: "slu_12345678",
    labels: { session: null, user: null, tags: {} },
    route: "/v1/chat/completions",
    status: 200,
    outcome: "completed",
    dropped: [],
    row: { keyId: "key_a", owner: null, isKept: true, isTraced: false },
  },
};

type Frames = readonly (readonly [keyof typeof frameKinds, string])[];

/** As a recorder sends them. */
function logsOf(frames: Frames): SentLog[] {
  const log = new FrameLog();
  const logs: SentLog[] = [];
  for (const [kind, text] of frames) {
    if (log.isFullFor(text)) logs.push(log.take());
    log.add(frameKinds[kind], 1, text);
  }
  return [...logs, log.take()];
}

function take(assembler: Assembler, frames: Frames) {
  return logsOf(frames).flatMap((log) => assembler.take(log).rows);
}

function documentOf(assembler: Assembler, frames: Frames) {
  const [row] = take(assembler, frames);
  return JSON.parse(Buffer.from(unpack(row?.body ?? Buffer.alloc(0), "req_a", null) ?? "").toString());
}

test("a large request is cut when it comes, and does not wait in memory for its response", () => {
  const assembler = new Assembler(null);
  const request = JSON.stringify({ messages: [{ role: "user", content: "x".repeat(5_000_000) }] });
  take(assembler, [
    ["start", JSON.stringify(start)],
    ["request", request],
  ]);
  expect(assembler.heldBytes).toBeLessThan(110_000);
  const document = documentOf(assembler, [["end", JSON.stringify(end)]]);
  expect(document.request.messages[0].content).toStartWith("xxx");
  expect(document.request_cut).toBeGreaterThan(4_800_000);
});

test("of a stream without end no more is held than will be kept of it, by and large", () => {
  const assembler = new Assembler(null);
  const text = "y".repeat(10_000);
  const event = (content: string) =>
    `data: ${JSON.stringify({ object: "chat.completion.chunk", choices: [{ index: 0, delta: { content } }] })}\n\n`;
  take(assembler, [["start", JSON.stringify(start)]]);
  let most = 0;
  for (let no = 0; no < 300; no += 1) {
    take(assembler, [["response", event(`${no}${text}`).repeat(10)]]);
    most = Math.max(most, assembler.heldBytes);
  }
  expect(most).toBeLessThan(5_000_000);
  const document = documentOf(assembler, [["end", JSON.stringify(end)]]);
  expect(document.response.choices[0].message.content).toStartWith("0yyy");
  expect(document.response_cut).toBeGreaterThan(25_000_000);
  expect(assembler.heldBytes).toBe(0);
});

test("lists that are too long are cut in a bounded number of steps", () => {
  const lists = Array.from({ length: 64 }, () => Array.from({ length: 2_000 }, (_, no) => no));
  const document = documentOf(new Assembler(null), [
    ["start", JSON.stringify(start)],
    ["request", JSON.stringify({ lists })],
    ["end", JSON.stringify(end)],
  ]);
  expect(document.request_cut).toBeGreaterThan(400_000);
});
