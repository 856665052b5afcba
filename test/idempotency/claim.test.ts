import { describe, expect, spyOn } from "bun:test";
import { GatewayError } from "../../src/base/errors.ts";
import { openBench, startProcess } from "../ledger/fixtures.ts";
import { testEachJournal } from "../store/each-journal.ts";
import { newIdempotency, requestOf, serve } from "./fixtures.ts";

const answer = [new TextEncoder().encode("data: né\n\n"), new TextEncoder().encode("data: [DONE]\n\n")];
const hourMs = 3_600_000;

async function codeOf(claiming: Promise<unknown>): Promise<string> {
  const outcome = await claiming.catch((error: unknown) => error);
  return outcome instanceof GatewayError ? outcome.code : `not refused: ${String(outcome)}`;
}

describe("a request that finished well", () => {
  testEachJournal("is replayed byte for byte, and charged once", async (database) => {
    await using bench = await openBench(database);
    const key = await bench.addKey({}, 100);
    const idempotency = newIdempotency(bench);
    const first = await serve(bench, idempotency, key, requestOf(key), answer);
    const second = await serve(bench, idempotency, key, requestOf(key), answer);
    expect(first.ran).toBe(true);
    expect(second.ran).toBe(false);
    expect(Buffer.from(second.body)).toEqual(Buffer.from(first.body));
    expect(bench.ledger.summary(key.id).used).toBe(10);
    const replayed = await idempotency.claim(requestOf(key));
    expect(replayed).toMatchObject({
      kind: "replay",
      response: { status: 200, headers: { "content-type": "text/event-stream" } },
    });
  });

  testEachJournal("with another body is a conflict", async (database) => {
    await using bench = await openBench(database);
    const key = await bench.addKey({}, 100);
    const idempotency = newIdempotency(bench);
    await serve(bench, idempotency, key, requestOf(key), answer);
    expect(await codeOf(idempotency.claim(requestOf(key, { bodyHash: "another" })))).toBe(
      "idempotency_conflict",
    );
    expect(idempotency.running).toBe(0);
  });

  testEachJournal("is another one for another key, route or Idempotency-Key", async (database) => {
    await using bench = await openBench(database);
    const key = await bench.addKey({}, 100);
    const other = await bench.addKey({}, 100);
    const idempotency = newIdempotency(bench);
    await serve(bench, idempotency, key, requestOf(key), answer);
    for (const request of [
      requestOf(other),
      requestOf(key, { route: "/v1/responses" }),
      requestOf(key, { idempotencyKey: "twice" }),
    ]) {
      expect((await idempotency.claim(request)).kind).toBe("run");
    }
  });

  testEachJournal("is another one for another key or route while it runs, too", async (database) => {
    await using bench = await openBench(database);
    const key = await bench.addKey({}, 100);
    const other = await bench.addKey({}, 100);
    const idempotency = newIdempotency(bench);
    for (const request of [
      requestOf(key),
      requestOf(other, { bodyHash: "another" }),
      requestOf(key, { route: "/v1/responses" }),
      requestOf(key, { idempotencyKey: "twice" }),
    ]) {
      expect((await idempotency.claim(request)).kind).toBe("run");
    }
    expect(idempotency.running).toBe(4);
  });

  testEachJournal("is kept for a day, and then runs again", async (database) => {
    await using bench = await openBench(database);
    const key = await bench.addKey({}, 100);
    const idempotency = newIdempotency(bench);
    await serve(bench, idempotency, key, requestOf(key), answer);
    bench.clock.advance(24 * hourMs);
    expect((await serve(bench, idempotency, key, requestOf(key), answer)).ran).toBe(false);
    bench.clock.advance(1);
    expect((await serve(bench, idempotency, key, requestOf(key), answer)).ran).toBe(true);
    expect((await serve(bench, idempotency, key, requestOf(key), answer)).ran).toBe(false);
    expect(bench.ledger.summary(key.id).used).toBe(20);
  });

  testEachJournal("does not expire because the clock was set", async (database) => {
    await using bench = await openBench(database);
    const key = await bench.addKey({}, 100);
    const idempotency = newIdempotency(bench);
    await serve(bench, idempotency, key, requestOf(key), answer);
    for (const hours of [48, -96]) {
      bench.clock.jumpWall(hours * hourMs);
      expect(await idempotency.prune()).toBe(0);
      expect((await serve(bench, idempotency, key, requestOf(key), answer)).ran).toBe(false);
    }
  });
});

testEachJournal(
  "a response stored while the clock was ahead is still there after a restart and the clock's correction",
  async (database) => {
    await using bench = await openBench(database);
    const key = await bench.addKey({}, 100);
    const before = newIdempotency(bench);
    bench.clock.jumpWall(48 * hourMs);
    await serve(bench, before, key, requestOf(key), answer);
    expect((await newIdempotency(bench).claim(requestOf(key))).kind).toBe("replay");
    bench.clock.jumpWall(-48 * hourMs);
    expect((await newIdempotency(bench).claim(requestOf(key))).kind).toBe("replay");
  },
);

describe("a request that is still running", () => {
  testEachJournal(
    "is refused as in flight with the same body, and as a conflict with another",
    async (database) => {
      await using bench = await openBench(database);
      const key = await bench.addKey({}, 100);
      const idempotency = newIdempotency(bench);
      const running = await idempotency.claim(requestOf(key));
      expect(running.kind).toBe("run");
      expect(await codeOf(idempotency.claim(requestOf(key)))).toBe("idempotency_in_flight");
      expect(await codeOf(idempotency.claim(requestOf(key, { bodyHash: "another" })))).toBe(
        "idempotency_conflict",
      );
    },
  );

  testEachJournal("runs again after it failed, whatever came in between", async (database) => {
    await using bench = await openBench(database);
    const key = await bench.addKey({}, 100);
    const idempotency = newIdempotency(bench);
    const first = await idempotency.claim(requestOf(key));
    if (first.kind !== "run") throw new Error("must run");
    idempotency.end(first.claim);
    const second = await idempotency.claim(requestOf(key));
    expect(second.kind).toBe("run");
    idempotency.end(first.claim);
    expect(await codeOf(idempotency.claim(requestOf(key)))).toBe("idempotency_in_flight");
  });

  testEachJournal(
    "is run by exactly one of many that come at once, and the others are refused",
    async (database) => {
      await using bench = await openBench(database);
      const key = await bench.addKey({}, 1_000);
      const idempotency = newIdempotency(bench);
      const results = await Promise.allSettled(
        Array.from({ length: 100 }, () => serve(bench, idempotency, key, requestOf(key), answer)),
      );
      expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
      expect(bench.ledger.summary(key.id).used).toBe(10);
    },
  );

  testEachJournal("leaves no claim behind when the look-up fails", async (database) => {
    await using bench = await openBench(database);
    const key = await bench.addKey({}, 100);
    const broken = new Proxy(bench.store, {
      get: (store, name) =>
        name === "findStoredResponse"
          ? () => Promise.reject(new Error("database is locked"))
          : Reflect.get(store, name),
    });
    const idempotency = newIdempotency({ store: broken, clock: bench.clock });
    const both = await Promise.allSettled([
      idempotency.claim(requestOf(key)),
      idempotency.claim(requestOf(key)),
    ]);
    expect(both.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(idempotency.running).toBe(0);
  });
});

testEachJournal("many replays at once are all answered", async (database) => {
  await using bench = await openBench(database);
  const key = await bench.addKey({}, 100);
  const idempotency = newIdempotency(bench);
  await serve(bench, idempotency, key, requestOf(key), answer);
  const replays = await Promise.all(
    Array.from({ length: 20 }, () => serve(bench, idempotency, key, requestOf(key), answer)),
  );
  expect(replays.every(({ ran }) => !ran)).toBe(true);
});

testEachJournal(
  "across restarts, duplicates that come at once are charged once for each Idempotency-Key",
  async (database) => {
    await using bench = await openBench(database);
    const key = await bench.addKey({}, 10_000);
    const names = Array.from({ length: 10 }, (_, index) => `request ${index}`);
    for (let life = 0; life < 4; life += 1) {
      const running = await startProcess(database, bench.clock);
      const idempotency = newIdempotency({ store: running.store, clock: bench.clock });
      const requests = names.slice(0, 4 + 2 * life).flatMap((name) => [name, name, name]);
      await Promise.allSettled(
        requests.map((idempotencyKey) =>
          serve(running, idempotency, key, requestOf(key, { idempotencyKey }), answer),
        ),
      );
      await running.store.close();
    }
    expect(await bench.operator.readTotals(key.id)).toMatchObject({ used: 100, requests: 10 });
  },
);

testEachJournal(
  "a crash before the charge is on disk leaves neither charge nor response, and the retry runs",
  async (database) => {
    await using bench = await openBench(database);
    const key = await bench.addKey({}, 100);
    const abandoned = newIdempotency(bench);
    expect((await abandoned.claim(requestOf(key))).kind).toBe("run");
    const next = await startProcess(database, bench.clock);
    const idempotency = newIdempotency({ store: next.store, clock: bench.clock });
    expect((await serve(next, idempotency, key, requestOf(key), answer)).ran).toBe(true);
    expect(next.ledger.summary(key.id).used).toBe(10);
    await next.store.close();
  },
);

testEachJournal("pruning deletes all that is old, however much", async (database) => {
  await using bench = await openBench(database);
  const key = await bench.addKey({}, 10_000);
  const idempotency = newIdempotency(bench);
  const requests = Array.from({ length: 450 }, (_, index) =>
    requestOf(key, { idempotencyKey: `request ${index}` }),
  );
  await Promise.all(requests.map((request) => serve(bench, idempotency, key, request, answer)));
  bench.clock.advance(24 * hourMs + 1);
  expect(await idempotency.prune()).toBe(450);
});

testEachJournal("pruning lets others run between its transactions", async (database) => {
  await using bench = await openBench(database);
  const left = [200, 200, 7, 0];
  const pruned = spyOn(bench.store, "pruneStoredResponses").mockImplementation(async () => left.shift() ?? 0);
  const seen: number[] = [];
  const look = () => {
    seen.push(pruned.mock.calls.length);
    if (left.length > 0) setImmediate(look);
  };
  setImmediate(look);
  expect(await newIdempotency(bench).prune()).toBe(407);
  expect(seen).toContain(1);
});
