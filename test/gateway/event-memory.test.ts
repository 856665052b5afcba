import { fullGC, heapStats } from "bun:jsc";
import { describe, expect, test } from "bun:test";
import { FrameJoiner } from "../../src/dialects/sse/frame-joiner.ts";
import { ProducedOutput } from "../../src/gateway/charge/usage-evidence.ts";
import { PassthroughRelayer } from "../../src/gateway/response/passthrough-relayer.ts";
import { ResponseQueue } from "../../src/upstream/call/response-queue.ts";
import { streamEvents, usageOf } from "./wire-answers.ts";

/** What a stream that waits has in memory of what it has read. */
const streams = 24;
const longBytes = 200 * 1024;

/** The memory that so many of them keep, per stream. */
async function keptBy(make: () => unknown): Promise<number> {
  // What is compiled and allocated once does not count.
  make();
  const before = await usedBytes();
  const kept = Array.from({ length: streams }, make);
  const bytes = (await usedBytes()) - before;
  expect(kept).toHaveLength(streams);
  return bytes / streams;
}

async function usedBytes(): Promise<number> {
  await Bun.sleep(0);
  fullGC();
  const { heapSize, extraMemorySize } = heapStats();
  return heapSize + extraMemorySize;
}

/** New text each time, because equal texts may be one. */
let made = 0;
const longText = () => {
  made += 1;
  return `${made} `.padEnd(longBytes, "x");
};

describe.each(["chat", "messages", "responses"] as const)("a %s stream", (dialect) => {
  test("keeps nothing of a long event that it has passed on", async () => {
    const bytes = await keptBy(() => {
      const call = { dialect, hideUsage: false, requestId: "r", model: "m", atSeconds: 1 };
      const relayer = new PassthroughRelayer(call);
      const events = streamEvents(dialect, { text: longText(), usage: usageOf(dialect, 100, 20) });
      const first = events.findIndex((event) => event.includes("xxxx"));
      relayer.push(Buffer.from(events.slice(0, first + 1).join("")));
      relayer.found.takeProduced();
      return relayer;
    });
    expect(bytes).toBeLessThan(longBytes / 4);
  });
});

test("output that is only counted is not kept by the part that is", async () => {
  const bytes = await keptBy(() => new ProducedOutput().add(longText()));
  expect(bytes).toBeLessThan(longBytes);
});

test("what waits of a buffer that was read in part does not keep all of it", async () => {
  const read = await keptBy(() => {
    const queue = new ResponseQueue();
    queue.add(Buffer.alloc(256 * 1024));
    for (let pieces = 0; pieces < 7; pieces += 1) queue.take();
    return queue;
  });
  expect(read).toBeLessThan(100 * 1024);
  const joined = await keptBy(() => {
    const joiner = new FrameJoiner();
    joiner.push(
      Buffer.concat([Buffer.from("data: "), Buffer.alloc(longBytes, "x"), Buffer.from("\n\ndata")]),
    );
    return joiner;
  });
  expect(joined).toBeLessThan(longBytes / 4);
});
