import { expect, test } from "bun:test";
import type { Answering } from "../../src/gateway/answer/answering.ts";
import { StreamBill } from "../../src/gateway/answer/stream-bill.ts";
import type { StreamRelayer } from "../../src/gateway/answer/stream-relayer.ts";
import type { Evidence } from "../../src/gateway/charge/bill.ts";

/** A stream that has produced so many characters, and whose progress is counted when the test says so. */
class Streaming {
  readonly bill: StreamBill;
  readonly tokens = { isBusy: false };
  /** How much there was whenever its progress was counted. */
  readonly counted: number[] = [];
  readonly #produced: string[] = [];
  readonly #counts: (() => void)[] = [];

  constructor() {
    const take = () => this.#produced.splice(0).join("");
    const relayer = {
      started: true,
      usage: null,
      partialUsage: null,
      extras: null,
      sealedChars: 0,
      takeProduced: take,
    };
    const progress = ({ produced }: Evidence) => {
      this.counted.push(produced().chars);
      return new Promise<void>((resolve) => this.#counts.push(resolve));
    };
    const exchange = { askedExtras: null, dropped: [], deployment: null, extras: null };
    const generation = { request: { bytes: new Uint8Array() } };
    const answering = {
      gateway: { tokens: this.tokens },
      exchange,
      generation,
      bill: { progress },
    } as unknown as Answering;
    this.bill = new StreamBill(answering, relayer as unknown as StreamRelayer);
  }

  produce(chars: number): void {
    this.#produced.push("x".repeat(chars));
  }

  async finishCounting(): Promise<void> {
    for (const resolve of this.#counts.splice(0)) resolve();
    await Bun.sleep(0);
  }
}

test("progress is counted at most twice a second, and only when it has grown by a quarter", async () => {
  const stream = new Streaming();
  stream.produce(100);
  expect(stream.bill.journalIfDue(0)).not.toBeNull();
  stream.produce(100);
  expect(stream.bill.journalIfDue(499)).toBeNull();
  expect(stream.bill.journalIfDue(500)).not.toBeNull();
  stream.produce(49);
  expect(stream.bill.journalIfDue(1_000)).toBeNull();
  stream.produce(1);
  expect(stream.bill.journalIfDue(1_500)).not.toBeNull();
  expect(stream.counted).toEqual([100, 200, 250]);
  await stream.finishCounting();
});

test("progress waits while the tokenizer is busy, and is counted as soon as it is not", async () => {
  const stream = new Streaming();
  stream.produce(100);
  stream.tokens.isBusy = true;
  expect(stream.bill.journalIfDue(0)).toBeNull();
  stream.tokens.isBusy = false;
  expect(stream.bill.journalIfDue(100)).not.toBeNull();
  expect(stream.counted).toEqual([100]);
  await stream.finishCounting();
});
