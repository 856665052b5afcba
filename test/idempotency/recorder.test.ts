import { expect } from "bun:test";
import { SharedClaims } from "../../src/idempotency/shared-claims.ts";
import type { ResponsePart } from "../../src/store/store.ts";
import { openBench } from "../ledger/fixtures.ts";
import { testEachJournal } from "../store/each-journal.ts";
import { newIdempotency, requestOf, serve, usualKeyBytes } from "./fixtures.ts";

const mebibyte = 1024 * 1024;

/** Bytes that differ from place to place, so that a part in the wrong place is noticed. */
function chunkOf(length: number, start: number): Uint8Array {
  return Uint8Array.from({ length }, (_, index) => (start + index * 31) % 251);
}

testEachJournal(
  "a long stream is replayed byte for byte, though it was never in memory as a whole",
  async (database) => {
    await using bench = await openBench(database);
    const key = await bench.addKey({}, 100);
    const idempotency = newIdempotency(bench);
    const chunks = Array.from({ length: 100 }, (_, index) => chunkOf(10_000 + index, index));
    const first = await serve(bench, idempotency, key, requestOf(key), chunks);
    expect(bench.store.stats.items).toBeGreaterThan(3);
    const second = await serve(bench, idempotency, key, requestOf(key), []);
    expect(second.ran).toBe(false);
    expect(Buffer.compare(second.body, first.body)).toBe(0);
  },
);

testEachJournal(
  "an answer in one piece is written in parts, and replayed byte for byte",
  async (database) => {
    await using bench = await openBench(database);
    const key = await bench.addKey({}, 100);
    const idempotency = newIdempotency(bench);
    const before = bench.store.stats.items;
    const first = await serve(bench, idempotency, key, requestOf(key), [chunkOf(5 * mebibyte + 7, 3)]);
    expect(bench.store.stats.items - before).toBeGreaterThanOrEqual(6);
    const second = await serve(bench, idempotency, key, requestOf(key), []);
    expect(second.ran).toBe(false);
    expect(Buffer.compare(second.body, first.body)).toBe(0);
  },
);

testEachJournal("a response is whole before the charge that it is stored with", async (database) => {
  await using bench = await openBench(database);
  const key = await bench.addKey({}, 100);
  const idempotency = newIdempotency(bench);
  const claimed = await idempotency.claim(requestOf(key));
  if (claimed.kind !== "run") throw new Error("must run");
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  const recordResponsePart = bench.store.recordResponsePart.bind(bench.store);
  let written = 0;
  Object.assign(bench.store, {
    recordResponsePart: async (part: ResponsePart) => {
      await gate;
      await recordResponsePart(part);
      written += 1;
    },
  });
  const recorder = idempotency.record(claimed.claim, usualKeyBytes);
  recorder.append(chunkOf(300_000, 1));
  const finishing = recorder.finish({ status: 200, headers: {} }).then((response) => ({ response, written }));
  expect(written).toBe(0);
  open();
  const { response, written: before } = await finishing;
  expect(response?.recording?.parts).toBe(before);
  expect(before).toBe(1);
  expect(response?.body.length).toBe(300_000 - 256 * 1024);
});

testEachJournal(
  "a response too long to keep is not run again unawares, and its parts are dropped",
  async (database) => {
    await using bench = await openBench(database);
    const key = await bench.addKey({}, 100);
    const idempotency = newIdempotency(bench);
    const chunk = new Uint8Array(mebibyte);
    await serve(bench, idempotency, key, requestOf(key), Array(66).fill(chunk));
    expect(await bench.store.findStoredResponse(requestOf(key), 0)).toMatchObject({
      body: new Uint8Array(0),
    });
    const shared = new SharedClaims({
      ...bench,
      node: { claim: async () => "replay", endClaim: async () => {} },
    });
    for (const claims of [idempotency, shared]) {
      const refused = claims.claim(requestOf(key));
      await expect(refused).rejects.toMatchObject({ code: "idempotency_conflict" });
      await expect(refused).rejects.toThrow("succeeded and was charged");
      expect(claims.running).toBe(0);
    }
    const other = await serve(bench, idempotency, key, requestOf(key, { idempotencyKey: "again" }), []);
    expect(other.ran).toBe(true);
  },
);

testEachJournal(
  "what is discarded is not stored, and nothing is recorded after the end",
  async (database) => {
    await using bench = await openBench(database);
    const key = await bench.addKey({}, 100);
    const idempotency = newIdempotency(bench);
    const claimed = await idempotency.claim(requestOf(key));
    if (claimed.kind !== "run") throw new Error("must run");
    const discarded = idempotency.record(claimed.claim, usualKeyBytes);
    discarded.append(new Uint8Array(10));
    discarded.discard();
    discarded.discard();
    expect(await discarded.finish({ status: 200, headers: {} })).toBeNull();
    const finished = idempotency.record(claimed.claim, usualKeyBytes);
    finished.append(new Uint8Array([1, 2]));
    const finishing = finished.finish({ status: 200, headers: {} });
    finished.append(new Uint8Array([3]));
    const response = await finishing;
    expect(response?.body).toEqual(Buffer.from([1, 2]));
    await bench.store.commit([]);
    expect(bench.store.stats.items).toBe(0);
  },
);

testEachJournal(
  "a response whose parts cannot be written is kept as one that was answered",
  async (database) => {
    await using bench = await openBench(database);
    const key = await bench.addKey({}, 100);
    const idempotency = newIdempotency(bench);
    const claimed = await idempotency.claim(requestOf(key));
    if (claimed.kind !== "run") throw new Error("must run");
    const recorder = idempotency.record(claimed.claim, usualKeyBytes);
    await bench.store.close();
    recorder.append(new Uint8Array(mebibyte));
    const finished = await recorder.finish({ status: 200, headers: {} });
    expect(finished).toMatchObject({ status: 409, body: Buffer.of() });
    expect(finished?.recording).toBeUndefined();
  },
);

testEachJournal(
  "a key keeps at most half of its bytes for retries; the rest is answered and not kept",
  async (database) => {
    await using bench = await openBench(database);
    const [key, other] = [await bench.addKey({}, 100), await bench.addKey({}, 100)];
    const idempotency = newIdempotency(bench);
    const keyBytes = 2 * mebibyte;
    const ask = (as: typeof key, idempotencyKey: string, bytes: number, claims = idempotency) =>
      serve(bench, claims, as, requestOf(as, { idempotencyKey }), [chunkOf(bytes, 1)], keyBytes);
    await ask(key, "first", 700_000);
    await ask(key, "second", 400_000);
    expect(idempotency.keptBytes(key.id)).toBe(700_000);
    await ask(key, "third", 300_000);
    await ask(other, "second", 400_000);
    expect(idempotency.keptBytes(key.id)).toBe(1_000_000);
    for (const id of ["first", "third"]) expect((await ask(key, id, 1)).ran).toBe(false);
    expect((await ask(other, "second", 1)).ran).toBe(false);
    const refused = idempotency.claim(requestOf(key, { idempotencyKey: "second" }));
    await expect(refused).rejects.toMatchObject({ code: "idempotency_conflict" });
    // A gateway that starts knows it from the store.
    const later = newIdempotency(bench);
    await ask(key, "fourth", 100_000, later);
    await expect(later.claim(requestOf(key, { idempotencyKey: "fourth" }))).rejects.toThrow(
      "no room to store",
    );
    // What has expired is deleted, and makes room again.
    bench.clock.advance(25 * 3_600_000);
    expect(await idempotency.prune()).toBeGreaterThan(0);
    await ask(key, "fifth", 900_000);
    expect((await ask(key, "fifth", 1)).ran).toBe(false);
    expect(idempotency.keptBytes(key.id)).toBe(900_000);
  },
);

testEachJournal(
  "responses that are being recorded count, and what is discarded is given back",
  async (database) => {
    await using bench = await openBench(database);
    const key = await bench.addKey({}, 100);
    const idempotency = newIdempotency(bench);
    const recorderOf = async (idempotencyKey: string) => {
      const claimed = await idempotency.claim(requestOf(key, { idempotencyKey }));
      if (claimed.kind !== "run") throw new Error("must run");
      return idempotency.record(claimed.claim, 2000);
    };
    const [first, second] = [await recorderOf("first"), await recorderOf("second")];
    first.append(new Uint8Array(600));
    second.append(new Uint8Array(600));
    expect([first.isKept, second.isKept]).toEqual([true, false]);
    expect(idempotency.keptBytes(key.id)).toBe(600);
    first.discard();
    expect(idempotency.keptBytes(key.id)).toBe(0);
  },
);

testEachJournal(
  "a response that is given up has its parts dropped, and asks for nothing if it has none",
  async (database) => {
    await using bench = await openBench(database);
    const key = await bench.addKey({}, 100);
    const discarded: string[] = [];
    const discardResponse = async (id: string) => void discarded.push(id);
    const store = Object.assign(Object.create(bench.store), { discardResponse });
    const idempotency = newIdempotency({ ...bench, store });
    for (const [bytes, dropped] of [
      [10, 0],
      [mebibyte, 1],
    ] as const) {
      const claimed = await idempotency.claim(requestOf(key, { idempotencyKey: String(bytes) }));
      if (claimed.kind !== "run") throw new Error("must run");
      const recorder = idempotency.record(claimed.claim, usualKeyBytes);
      recorder.append(new Uint8Array(bytes));
      recorder.discard();
      recorder.discard();
      expect(discarded).toHaveLength(dropped);
    }
  },
);
