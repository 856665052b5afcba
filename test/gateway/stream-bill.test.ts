import { expect, test } from "bun:test";
import type { Answering } from "../../src/gateway/answer/answering.ts";
import { StreamBill } from "../../src/gateway/answer/stream-bill.ts";
import type { StreamRelayer } from "../../src/gateway/answer/stream-relayer.ts";
import type { Evidence } from "../../src/gateway/charge/bill.ts";

test("progress is journaled at most twice a second, and only once there is something to pay for", () => {
  const journaled: number[] = [];
  const waiting: string[] = [];
  const relayer = {
    started: false,
    usage: null,
    partialUsage: null,
    extras: null,
    sealedChars: 0,
    takeProduced: () => waiting.splice(0).join(""),
  };
  const answering = {
    exchange: { askedExtras: null, dropped: [], deployment: null, extras: null },
    generation: { request: { bytes: new Uint8Array() }, estimatedInput: { tokens: 10, unmeasured: 0 } },
    bill: { progress: ({ produced }: Evidence) => journaled.push(produced().chars) },
  } as unknown as Answering;
  const bill = new StreamBill(answering, relayer as unknown as StreamRelayer);
  bill.journalIfDue(0);
  expect(journaled).toEqual([]);
  relayer.started = true;
  waiting.push("Hello");
  bill.journalIfDue(100);
  waiting.push(" there");
  bill.journalIfDue(599);
  expect(journaled).toEqual([5]);
  bill.journalIfDue(600);
  expect(journaled).toEqual([5, 11]);
});
