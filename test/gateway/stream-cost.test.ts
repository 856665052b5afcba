import { expect, test } from "bun:test";
import { StreamMeter } from "../../src/dialects/provider-response/stream-meter.ts";
import type { UsageEvidence } from "../../src/gateway/charge/usage-evidence.ts";
import type { PendingResponse, StreamRelayer } from "../../src/gateway/response/pending-response.ts";
import { StreamCost } from "../../src/gateway/response/stream-cost.ts";

const asked = {
  generation: { request: { bytes: new Uint8Array() }, estimatedInput: { tokens: 10, unmeasured: 0 } },
};

/** A stream in which a text can be written. */
function readStream() {
  const meter = new StreamMeter();
  const write = (text: string) => meter.add([{ type: "written", text, encryptedChars: 0 }]);
  return { relayer: { meter } as StreamRelayer, write };
}

test("progress is journaled at most twice a second, and only once there is something to pay for", () => {
  const journaled: number[] = [];
  const { relayer, write } = readStream();
  const pending = {
    ...asked,
    meter: {
      noteExtras() {},
      progress: ({ produced }: UsageEvidence) => journaled.push(produced().chars),
    },
  } as unknown as PendingResponse;
  const meter = new StreamCost(pending, relayer);
  for (const nowMs of [0, 500, 900]) meter.journalIfDue(nowMs);
  expect(journaled).toEqual([]);
  write("Hello");
  meter.journalIfDue(1000);
  write(" there");
  meter.journalIfDue(1499);
  expect(journaled).toEqual([5]);
  meter.journalIfDue(1500);
  expect(journaled).toEqual([5, 11]);
});

test("of streams that began together, not all are journaled in the same tick", () => {
  let journaled = 0;
  const pending = {
    ...asked,
    meter: { noteExtras() {}, progress: () => (journaled += 1) },
  } as unknown as PendingResponse;
  const { relayer, write } = readStream();
  write("Hello");
  const bills = Array.from({ length: 200 }, () => new StreamCost(pending, relayer));
  const ticks = [0, 100, 200, 300, 400, 500].map((nowMs) => {
    const before = journaled;
    for (const meter of bills) meter.journalIfDue(nowMs);
    return journaled - before;
  });
  expect(Math.max(...ticks)).toBeLessThan(100);
  expect(journaled).toBe(200);
});
