import { expect, test } from "bun:test";
import { StreamFindings } from "../../src/dialects/provider-response/stream-findings.ts";
import type { UsageEvidence } from "../../src/gateway/charge/usage-evidence.ts";
import type { Delivery, StreamRelayer } from "../../src/gateway/response/pending-response.ts";
import { StreamCost } from "../../src/gateway/response/stream-cost.ts";

/** A delivery whose cost this meter takes. */
function deliveryWith(meter: object): Delivery {
  const request = { bytes: new Uint8Array() };
  return { asking: { meter, request, estimatedInput: { tokens: 10 } } } as unknown as Delivery;
}

/** A stream in which a text can be written. */
function readStream() {
  const found = new StreamFindings();
  const write = (text: string) => found.add([{ type: "written", text, encryptedChars: 0 }]);
  return { relayer: { found } as StreamRelayer, write };
}

test("progress is journaled at most twice a second, and only once there is something to pay for", () => {
  const journaled: number[] = [];
  const { relayer, write } = readStream();
  const delivery = deliveryWith({
    noteExtras() {},
    progress: ({ produced }: UsageEvidence) => journaled.push(produced().chars),
  });
  const cost = new StreamCost(delivery, relayer);
  for (const nowMs of [0, 500, 900]) cost.journalIfDue(nowMs);
  expect(journaled).toEqual([]);
  write("Hello");
  cost.journalIfDue(1000);
  write(" there");
  cost.journalIfDue(1499);
  expect(journaled).toEqual([5]);
  cost.journalIfDue(1500);
  expect(journaled).toEqual([5, 11]);
});

test("of streams that began together, not all are journaled in the same tick", () => {
  let journaled = 0;
  const delivery = deliveryWith({ noteExtras() {}, progress: () => (journaled += 1) });
  const { relayer, write } = readStream();
  write("Hello");
  const costs = Array.from({ length: 200 }, () => new StreamCost(delivery, relayer));
  const ticks = [0, 100, 200, 300, 400, 500].map((nowMs) => {
    const before = journaled;
    for (const cost of costs) cost.journalIfDue(nowMs);
    return journaled - before;
  });
  expect(Math.max(...ticks)).toBeLessThan(100);
  expect(journaled).toBe(200);
});
