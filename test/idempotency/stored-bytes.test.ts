import { expect, test } from "bun:test";
import { Idempotency } from "../../src/idempotency/idempotency.ts";
import { ResponseRecorder } from "../../src/idempotency/recorder.ts";
import { StoredBytes } from "../../src/idempotency/stored-bytes.ts";
import type { ResponsePart, Store } from "../../src/store/store.ts";
import { FakeClock } from "../support/clock.ts";

const maxBytes = 1_000_000;
const readEveryMs = 10_000;

/** A store that has kept so many bytes of each key, and how often it was asked. */
function keptOf(stored: Record<string, number> = {}) {
  const clock = new FakeClock();
  const asked: string[] = [];
  const retryBytes = async (keyId: string) => {
    asked.push(keyId);
    return stored[keyId] ?? 0;
  };
  return { clock, asked, stored, kept: new StoredBytes({ retryBytes }, clock) };
}

test("half of what a key may keep is for retries, and what is being recorded counts", async () => {
  const { kept } = keptOf({ key_a: 100_000 });
  await kept.read("key_a");
  expect(kept.take("key_a", 400_001, maxBytes)).toBe(false);
  expect(kept.take("key_a", 400_000, maxBytes)).toBe(true);
  expect(kept.take("key_a", 1, maxBytes)).toBe(false);
  expect(kept.take("key_b", 1, maxBytes)).toBe(true);
  kept.end("key_a", 400_000, true);
  expect(kept.of("key_a")).toBe(500_000);
});

test("what is given back makes room", async () => {
  const { kept } = keptOf();
  await kept.read("key_a");
  expect(kept.take("key_a", 500_000, maxBytes)).toBe(true);
  kept.end("key_a", 500_000, false);
  expect([kept.of("key_a"), kept.take("key_a", 500_000, maxBytes)]).toEqual([0, true]);
});

test("bytes that are being recorded are not forgotten when those in the store are read again", async () => {
  const { clock, kept, asked, stored } = keptOf({ key_a: 10 });
  await kept.read("key_a");
  kept.take("key_a", 400_000, maxBytes);
  clock.advance(readEveryMs - 1);
  await kept.read("key_a");
  expect(asked).toEqual(["key_a"]);
  clock.advance(1);
  stored["key_a"] = 20;
  await kept.read("key_a");
  expect([asked.length, kept.of("key_a")]).toEqual([2, 400_020]);
});

test("keys are forgotten once they were read long ago, unless something of theirs is being recorded", async () => {
  const { clock, kept } = keptOf();
  for (const keyId of ["key_a", "key_b"]) await kept.read(keyId);
  kept.take("key_b", 7, maxBytes);
  clock.advance(readEveryMs);
  await kept.read("key_c");
  expect([kept.size, kept.of("key_b")]).toEqual([2, 7]);
  kept.end("key_b", 7, false);
  clock.advance(readEveryMs);
  await kept.read("key_d");
  expect(kept.size).toBe(1);
});

test("no more than 64 KiB of a response are stored with its charge", async () => {
  const parts: ResponsePart[] = [];
  const recordResponsePart = async (part: ResponsePart) => void parts.push(part);
  // Only what is needed to record one.
  const store = { recordResponsePart } as unknown as Store;
  const terms = { store, kept: keptOf().kept, maxBytes, nowMs: () => 0 };
  const claim = { keyId: "key_a", route: "/v1/x", idempotencyKey: "k", bodyHash: "h" };
  const finished = (bytes: number) => {
    const recorder = new ResponseRecorder(terms, claim);
    recorder.append(new Uint8Array(bytes));
    return recorder.finish({ status: 200, headers: {} });
  };
  const short = await finished(64 * 1024);
  expect([short?.body.length, short?.recording, parts.length]).toEqual([64 * 1024, undefined, 0]);
  const long = await finished(64 * 1024 + 1);
  expect([long?.body.length, parts.length, parts[0]?.body.length]).toEqual([0, 1, 64 * 1024 + 1]);
  expect(long?.recording).toMatchObject({ parts: 1, bytes: 64 * 1024 + 1 });
});

test("a response is dated by the time that passed, if the clock was set back meanwhile", async () => {
  const clock = new FakeClock();
  const startMs = clock.wallMs();
  // Only what is needed to record one.
  const store = {} as unknown as Store;
  const idempotency = new Idempotency({ store, clock });
  const claim = { keyId: "key_a", route: "/v1/x", idempotencyKey: "k", bodyHash: "h", exchangeId: "req_1" };
  const storedAtMs = async () =>
    (await idempotency.record(claim, maxBytes).finish({ status: 200, headers: {} }))?.storedAtMs;
  clock.advance(5_000);
  clock.jumpWall(-86_400_000);
  expect(await storedAtMs()).toBe(startMs + 5_000);
  clock.jumpWall(2 * 86_400_000);
  expect(await storedAtMs()).toBe(startMs + 5_000 + 86_400_000);
});

test("keys are forgotten also behind one whose response is still being recorded", async () => {
  const { clock, kept } = keptOf();
  await kept.read("key_a");
  kept.take("key_a", 7, maxBytes);
  for (const keyId of ["key_b", "key_c"]) await kept.read(keyId);
  clock.advance(readEveryMs);
  await kept.read("key_d");
  expect([kept.size, kept.of("key_a")]).toEqual([2, 7]);
});
