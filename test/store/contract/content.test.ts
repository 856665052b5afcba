import { expect } from "bun:test";
import type { ContentRow } from "../../../src/store/content-store.ts";
import { openContentStore } from "../../../src/store/open-content.ts";
import { testEachStore } from "../each-store.ts";

const day = 86_400_000;
const startMs = Date.UTC(2026, 10, 18);

function row(no: number, overrides: Partial<ContentRow> = {}): ContentRow {
  return {
    id: `req_${String(no).padStart(4, "0")}`,
    atMs: startMs + no,
    keyId: "key_a",
    owner: null,
    model: "m",
    outcome: "completed",
    body: Buffer.from(`body ${no}`),
    ...overrides,
  };
}

testEachStore("content is read, listed and deleted by what names it", async (database) => {
  const store = await openContentStore(database.location);
  try {
    await store.write([
      row(1),
      row(2, { keyId: "key_b", owner: "ada" }),
      row(3, { outcome: "failed", model: "n" }),
    ]);
    expect(Buffer.from((await store.read("req_0001"))?.body ?? "").toString()).toBe("body 1");
    expect(await store.read("req_9999")).toBeNull();
    const ids = async (filter: object) => (await store.list({ limit: 10, ...filter })).map(({ id }) => id);
    expect(await ids({})).toEqual(["req_0003", "req_0002", "req_0001"]);
    expect(await ids({ after: { atMs: startMs + 3, id: "req_0003" } })).toEqual(["req_0002", "req_0001"]);
    expect(await ids({ keyIds: ["key_b"] })).toEqual(["req_0002"]);
    expect(await ids({ owner: "ada" })).toEqual(["req_0002"]);
    expect(await ids({ model: "n", outcome: "failed" })).toEqual(["req_0003"]);
    expect(await ids({ sinceMs: startMs + 2, beforeMs: startMs + 3 })).toEqual(["req_0002"]);
    expect((await store.list({ limit: 1 }))[0]).toEqual({
      id: "req_0003",
      atMs: startMs + 3,
      keyId: "key_a",
      owner: null,
      model: "n",
      outcome: "failed",
      bytes: 6,
    });
    expect(await store.delete({ ids: ["req_0001", "req_9999"] })).toBe(1);
    expect(await store.delete({ owner: "ada" })).toBe(1);
    expect(await store.delete({ beforeMs: startMs })).toBe(0);
    expect(await ids({})).toEqual(["req_0003"]);
  } finally {
    await store.close();
  }
});

testEachStore("each of many thousands is found by its id", async (database) => {
  const store = await openContentStore(database.location);
  try {
    for (let from = 0; from < 20_000; from += 2_000)
      await store.write(Array.from({ length: 2_000 }, (_, no) => row(from + no)));
    await store.prune({ beforeMs: startMs + 100, maxBytes: 1e9 });
    for (const no of [100, 8_191, 8_192, 8_193, 16_384, 19_999])
      expect((await store.read(row(no).id))?.atMs).toBe(startMs + no);
    expect(await store.read("req_99999")).toBeNull();
    expect(await store.delete({ ids: [row(150).id, row(19_999).id, "req_99999"] })).toBe(2);
    expect(await store.read(row(19_999).id)).toBeNull();
  } finally {
    await store.close();
  }
});

testEachStore("what is too old is deleted, and then the oldest until the rest fits", async (database) => {
  const store = await openContentStore(database.location);
  try {
    const body = () => crypto.getRandomValues(new Uint8Array(60_000));
    for (const [age, from] of [
      [9, 0],
      [2, 100],
      [0, 200],
    ] as const) {
      const rows = Array.from({ length: 20 }, (_, no) =>
        row(from + no, { atMs: startMs - age * day + no, body: body() }),
      );
      await store.write(rows);
    }
    await store.prune({ beforeMs: startMs - 7 * day, maxBytes: 1e9 });
    expect((await store.sizes()).rows).toBe(40);
    await store.prune({ beforeMs: startMs - 7 * day, maxBytes: 2e6 });
    const left = await store.list({ limit: 100 });
    expect(left.length).toBeGreaterThanOrEqual(20);
    expect(left.length).toBeLessThan(40);
    expect(left[0]?.id).toBe("req_0219");
    expect((await store.sizes()).bytes).toBeLessThan(3.2e6);
  } finally {
    await store.close();
  }
});

testEachStore(
  "a key that floods the store loses its own rows, the oldest first, and no others",
  async (database) => {
    const store = await openContentStore(database.location);
    try {
      const body = () => crypto.getRandomValues(new Uint8Array(60_000));
      const rowsOf = (keyId: string, from: number, count: number) =>
        Array.from({ length: count }, (_, no) => row(from + no, { keyId, body: body() }));
      await store.write([...rowsOf("key_quiet", 0, 5), ...rowsOf("key_busy", 100, 10)]);
      await store.write(rowsOf("key_flood", 200, 40));
      await store.write(rowsOf("key_quiet", 300, 1));
      await store.prune({ beforeMs: 0, maxBytes: 2_000_000 });
      const left = await store.list({ limit: 100 });
      const idsOf = (keyId: string) => left.filter((each) => each.keyId === keyId).map(({ id }) => id);
      expect(idsOf("key_quiet")).toHaveLength(6);
      expect(idsOf("key_busy")).toHaveLength(10);
      const flood = idsOf("key_flood");
      expect(flood.length).toBeGreaterThanOrEqual(9);
      expect(flood.length).toBeLessThanOrEqual(16);
      expect(flood).toEqual(flood.map((_, place) => row(239 - place).id));
      // Now two hold too much, and are left with the same.
      await store.prune({ beforeMs: 0, maxBytes: 1_500_000 });
      const rest = await store.list({ limit: 100 });
      const countOf = (keyId: string) => rest.filter((each) => each.keyId === keyId).length;
      expect(countOf("key_quiet")).toBe(6);
      expect(Math.abs(countOf("key_busy") - countOf("key_flood"))).toBeLessThanOrEqual(1);
      expect((await store.sizes()).bytes).toBeLessThan(2_600_000);
    } finally {
      await store.close();
    }
  },
);

testEachStore("a rewrite replaces every body, and the mark", async (database) => {
  const store = await openContentStore(database.location);
  try {
    expect(await store.readMark()).toBeNull();
    await store.write(Array.from({ length: 250 }, (_, no) => row(no)));
    const seen: number[] = [];
    await store.rewrite(
      ({ id, body }) => Buffer.from(`${id} ${Buffer.from(body)}`),
      Buffer.from("mark"),
      (done) => seen.push(done),
    );
    expect(seen).toEqual([100, 200, 250]);
    expect(Buffer.from((await store.read("req_0117"))?.body ?? "").toString()).toBe("req_0117 body 117");
    expect(Buffer.from((await store.readMark()) ?? "").toString()).toBe("mark");
    await store.rewrite(
      ({ body }) => body,
      null,
      () => {},
    );
    expect(await store.readMark()).toBeNull();
  } finally {
    await store.close();
  }
});
