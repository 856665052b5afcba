import { expect } from "bun:test";
import { FakeClock } from "../../support/clock.ts";
import { testEachStore } from "../each-store.ts";
import { settleItem } from "../fixtures.ts";
import { responsePart } from "../responses.ts";
import { bodies, bounds, chainOf, keep, nowMs, turn, turnsWith, twoKeys } from "../turns.ts";

testEachStore("a turn is written with its charge, and found with all before it", async (database) => {
  const store = await database.openGateway(new FakeClock());
  const [one, other] = await twoKeys(store);
  await keep(store, turn(one, "a", null), turn(one, "b", "a"), turn(one, "c", "b"), turn(one, "fork", "a"));
  expect(await chainOf(store, one, "c")).toEqual(["body of a", "body of b", "body of c"]);
  expect(await chainOf(store, one, "fork")).toEqual(["body of a", "body of fork"]);
  expect(await chainOf(store, other, "c")).toBe("missing");
  expect(await chainOf(store, one, "unknown")).toBe("missing");
  expect(await chainOf(store, one, "c", { maxTurns: 2 })).toBe("too_long");
  expect(await chainOf(store, one, "c", { maxTurns: 3 })).toHaveLength(3);
  expect(await chainOf(store, one, "c", { maxBytes: 29 })).toBe("too_large");
  expect(await chainOf(store, one, "c", { maxBytes: 26, headBytes: 1 })).toBe("too_large");
  expect(await chainOf(store, one, "c", { maxBytes: 27, headBytes: 1 })).toHaveLength(3);
  expect(await chainOf(store, one, "c", { nowMs: 2_000 })).toBe("missing");
  await store.close();
  const again = await database.openGateway(new FakeClock());
  expect(await chainOf(again, one, "b")).toEqual(["body of a", "body of b"]);
  await again.close();
});

testEachStore("a request that is stored as it came is read with its response", async (database) => {
  const store = await database.openGateway(new FakeClock());
  const [one] = await twoKeys(store);
  const request = Uint8Array.from([0, 255, 34, 39, 92, 128]);
  await keep(store, turn(one, "a", null, { request }), turn(one, "b", "a"));
  const found = await store.turns.chain({ keyId: one, id: "b", ...bounds });
  expect(found.kind === "found" && found.turns.map((each) => each.request?.toHex() ?? null)).toEqual([
    request.toHex(),
    null,
  ]);
  expect((await store.turns.end(one, "a", nowMs))?.request?.toHex()).toBe(request.toHex());
  await store.close();
});

testEachStore("the number of a deleted turn is not used again", async (database) => {
  const store = await database.openGateway(new FakeClock());
  const [one] = await twoKeys(store);
  const numberOf = async (id: string) => {
    await keep(store, turn(one, id, null));
    const { no } = (await store.turns.find(one, id, nowMs)) ?? { no: 0 };
    await store.turns.delete(one, id, nowMs);
    return no;
  };
  const [first, second] = [await numberOf("a"), await numberOf("b")];
  expect(first).toBeGreaterThan(0);
  expect(second).toBeGreaterThan(first);
  await store.close();
});

testEachStore("a long chain is read piece by piece, once there is room for all of it", async (database) => {
  const store = await database.openGateway(new FakeClock());
  const [one] = await twoKeys(store);
  const size = 1024 * 1024;
  const ids = ["a", "b", "c", "d", "e"];
  const large = (id: string, place: number) =>
    turn(one, id, ids[place - 1] ?? null, { bytes: size, keyBytes: 10 * size });
  await keep(store, ...ids.map(large));
  const reserved: number[] = [];
  const maxBytes = 5 * size;
  const reserve = (bytes: number) => void reserved.push(bytes);
  expect(await chainOf(store, one, "e", { maxBytes, reserve })).toEqual(ids.map((id) => `body of ${id}`));
  expect(reserved).toEqual([5 * size]);
  const noRoom = () => {
    throw new Error("no room");
  };
  expect(await chainOf(store, one, "e", { maxBytes, reserve: noRoom }).catch(String)).toContain("no room");
  expect(await chainOf(store, one, "unknown", { maxBytes, reserve: noRoom })).toBe("missing");
  await store.close();
});

testEachStore("a chain that leads to itself ends", async (database) => {
  const store = await database.openGateway(new FakeClock());
  const [one] = await twoKeys(store);
  await keep(store, turn(one, "a", "b"), turn(one, "b", "a"));
  expect(await chainOf(store, one, "a")).toBe("too_long");
  await store.close();
});

testEachStore(
  "of turns that are stored together, the newest of each id stays, and each byte counts once",
  async (database) => {
    const store = await database.openGateway(new FakeClock());
    const [one, other] = await twoKeys(store);
    const newer = { body: new TextEncoder().encode("newer"), bytes: 7, items: ["new item"] };
    const together = [
      turn(one, "a", null),
      turn(other, "a", null),
      turn(one, "b", null),
      turn(one, "a", null, newer),
    ];
    await store.charge(together.map((each) => ({ ...settleItem(each.keyId, 1), turns: [each] })));
    expect(await chainOf(store, one, "a")).toEqual(["newer"]);
    expect(await chainOf(store, other, "a")).toEqual(["body of a"]);
    const items = ["item of a", "new item", "item of all"];
    expect(await turnsWith(store, one, { items })).toEqual(["body of b", "newer"]);
    expect((await store.storage()).responseBytes).toBe(27);
    const crowd = Array.from({ length: 40 }, (_, place) => turn(one, `c${place}`, null, { keyBytes: 105 }));
    await store.charge(crowd.map((each) => ({ ...settleItem(one, 1), turns: [each] })));
    expect((await store.turns.sums(one, nowMs)).count).toBe(10);
    expect(await chainOf(store, one, "c30")).toEqual(["body of c30"]);
    expect(await chainOf(store, one, "c29")).toBe("missing");
    expect((await store.storage()).responseBytes).toBe(110);
    expect(await store.turns.deleteAll(one)).toBe(10);
    expect((await store.storage()).responseBytes).toBe(10);
    await store.close();
  },
);

testEachStore("an id that is given twice is that of the newer turn", async (database) => {
  const store = await database.openGateway(new FakeClock());
  const [one] = await twoKeys(store);
  const newer = { body: new TextEncoder().encode("newer"), bytes: 7 };
  await keep(store, turn(one, "a", null), turn(one, "a", null, newer));
  expect(await chainOf(store, one, "a")).toEqual(["newer"]);
  expect(await store.turns.sums(one, nowMs)).toEqual({
    count: 1,
    conversations: 0,
    bytes: 7,
    oldestAtMs: 500,
    newestAtMs: 500,
  });
  await store.close();
});

testEachStore(
  "a key's oldest turns make room for new ones, and deleted ones count no more",
  async (database) => {
    const store = await database.openGateway(new FakeClock());
    const [one, other] = await twoKeys(store);
    const limited = { keyBytes: 35 };
    const ids = ["a", "b", "c"];
    await keep(store, turn(other, "x", null), ...ids.map((id) => turn(one, id, null, limited)));
    expect(await store.turns.delete(one, "b", nowMs)).toBe(true);
    await keep(store, turn(one, "d", null, limited));
    expect(await store.turns.find(one, "a", nowMs)).not.toBeNull();
    await keep(store, turn(one, "e", null, limited));
    expect(await store.turns.find(one, "a", nowMs)).toBeNull();
    expect(await store.turns.sums(one, nowMs)).toMatchObject({ count: 3, bytes: 30 });
    expect(await store.turns.find(other, "x", nowMs)).not.toBeNull();
    await keep(store, turn(one, "huge", null, { ...limited, bytes: 36 }));
    expect(await store.turns.sums(one, nowMs)).toMatchObject({ count: 0, bytes: 0, oldestAtMs: null });
    await store.close();
  },
);

testEachStore(
  "room for a long turn is made before it comes, from the oldest turns, without the one that it replaces",
  async (database) => {
    const store = await database.openGateway(new FakeClock());
    const [one, other] = await twoKeys(store);
    const ids = Array.from({ length: 450 }, (_, place) => `t${place}`);
    const keyBytes = 5_000;
    const short = [turn(one, "conv_1", null), ...ids.map((id) => turn(one, id, null))];
    const settles = [turn(other, "x", null), ...short].map((each) => ({
      ...settleItem(each.keyId, 1),
      turns: [{ ...each, keyBytes }],
    }));
    await store.charge(settles);
    const replaces = (await store.turns.find(one, "conv_1", nowMs))?.no ?? 0;
    const left = async () => (await store.turns.sums(one, nowMs)).count;
    await store.turns.makeRoom({ keyId: one, bytes: 490, keyBytes });
    expect(await left()).toBe(451);
    await store.turns.makeRoom({ keyId: one, bytes: 500, keyBytes, replaces });
    expect(await left()).toBe(451);
    await store.turns.makeRoom({ keyId: one, bytes: 4_495, keyBytes, replaces });
    expect(await left()).toBe(51);
    expect(await store.turns.has(replaces)).toBe(true);
    expect(await chainOf(store, one, "t400")).toEqual(["body of t400"]);
    expect(await chainOf(store, one, "t399")).toBe("missing");
    // More than all of them is no reason to wait.
    await store.turns.makeRoom({ keyId: one, bytes: 9_000, keyBytes });
    expect([await left(), (await store.turns.sums(other, nowMs)).count]).toEqual([0, 1]);
    await store.close();
  },
  30_000,
);

testEachStore(
  "a deleted turn and its items are gone, and what continues it cannot be continued",
  async (database) => {
    const store = await database.openGateway(new FakeClock());
    const [one, other] = await twoKeys(store);
    await keep(store, turn(one, "a", null), turn(one, "b", "a"));
    expect(await store.turns.delete(other, "a", nowMs)).toBe(false);
    expect(await store.turns.delete(one, "a", 2_000)).toBe(false);
    expect(await store.turns.delete(one, "a", nowMs)).toBe(true);
    expect(await store.turns.delete(one, "a", nowMs)).toBe(false);
    expect(await chainOf(store, one, "b")).toBe("missing");
    expect(await store.turns.find(one, "b", nowMs)).toMatchObject({ id: "b", parentId: "a" });
    expect(await turnsWith(store, one, { items: ["item of a"], turnIds: ["a"] })).toEqual([]);
    expect(await store.turns.deleteAll(one)).toBe(1);
    expect(await store.turns.deleteAll(one)).toBe(0);
    await store.close();
  },
);

testEachStore(
  "what has expired is pruned a few at a time, and so is what revoked keys had",
  async (database) => {
    const store = await database.openGateway(new FakeClock());
    const [one, other] = await twoKeys(store);
    const [early, late] = [{ expiresAtMs: 1_500 }, { expiresAtMs: 9_000 }];
    await keep(store, turn(one, "a", null, early), turn(one, "b", null, early), turn(one, "c", null, late));
    await keep(store, turn(other, "x", null, late));
    expect(await store.turns.prune(1_499, 10)).toBe(0);
    expect(await store.turns.prune(1_500, 1)).toBe(1);
    expect(await store.turns.prune(1_500, 10)).toBe(1);
    await store.updateKey(other, { status: "revoked" });
    expect(await store.turns.prune(1_500, 10)).toBe(1);
    expect(await store.turns.sums(one, nowMs)).toMatchObject({ count: 1, bytes: 10 });
    expect(await store.turns.sums(other, nowMs)).toMatchObject({ count: 0, bytes: 0 });
    const long = { ...early, bytes: 5 * 1024 * 1024, keyBytes: 50 * 1024 * 1024 };
    await keep(store, ...["d", "e", "f"].map((id) => turn(one, id, null, long)));
    expect(await store.turns.prune(1_500, 10)).toBe(2);
    expect(await store.turns.prune(1_500, 10)).toBe(1);
    await store.close();
  },
);

testEachStore(
  "an item is found in an older turn once the newest that has it has expired",
  async (database) => {
    const store = await database.openGateway(new FakeClock());
    const [one] = await twoKeys(store);
    const [early, late] = [{ expiresAtMs: 1_500 }, { expiresAtMs: 9_000 }];
    await keep(store, turn(one, "a", null, late), turn(one, "b", null, early), turn(one, "c", null, early));
    const items = ["item of all"];
    expect(await turnsWith(store, one, { items, nowMs: 1_499 })).toEqual(["body of c"]);
    expect(await turnsWith(store, one, { items, nowMs: 1_500 })).toEqual(["body of a"]);
    expect(await turnsWith(store, one, { items, nowMs: 9_000 })).toEqual([]);
    await store.close();
  },
);

testEachStore(
  "a turn whose parent has expired cannot be continued, although it is there itself",
  async (database) => {
    const store = await database.openGateway(new FakeClock());
    const [one] = await twoKeys(store);
    await keep(store, turn(one, "a", null, { expiresAtMs: nowMs }), turn(one, "b", "a"), turn(one, "c", "b"));
    expect(await chainOf(store, one, "c")).toBe("missing");
    expect(await chainOf(store, one, "c", { nowMs: nowMs - 1 })).toHaveLength(3);
    expect(await store.turns.find(one, "c", nowMs)).not.toBeNull();
    await store.close();
  },
);

testEachStore("gateways that want a sealing secret at once get the same", async (database) => {
  const store = await database.openGateway(new FakeClock());
  const candidates = [1, 2, 3].map((value) => new Uint8Array(32).fill(value));
  const secrets = await Promise.all(candidates.map((candidate) => store.turns.sealingSecret(candidate)));
  const [first] = secrets.map((secret) => Buffer.from(secret).toString("hex"));
  expect(secrets.map((secret) => Buffer.from(secret).toString("hex"))).toEqual([
    first,
    first,
    first,
  ] as string[]);
  await store.close();
});

testEachStore("a long turn is put together from its parts, and its parts go with it", async (database) => {
  const store = await database.openGateway(new FakeClock());
  const [one] = await twoKeys(store);
  await store.recordResponsePart(responsePart("rec_1", 0, "one "));
  await store.recordResponsePart(responsePart("rec_1", 1, "two "));
  const [whole, lacking] = [
    { id: "rec_1", parts: 2 },
    { id: "rec_2", parts: 1 },
  ];
  await keep(store, turn(one, "a", null, { recording: whole }), turn(one, "b", null, { recording: lacking }));
  await store.close();
  const again = await database.openGateway(new FakeClock());
  expect(await chainOf(again, one, "a")).toEqual(["one two body of a"]);
  expect(await chainOf(again, one, "b")).toBe("missing");
  expect(await again.turns.find(one, "b", nowMs)).toBeNull();
  await again.turns.delete(one, "a", nowMs);
  await keep(again, turn(one, "a", null, { recording: whole }));
  expect(await chainOf(again, one, "a")).toBe("missing");
  await again.close();
});

testEachStore("a turn of very many parts has all of them in their order", async (database) => {
  const store = await database.openGateway(new FakeClock());
  const [one] = await twoKeys(store);
  const texts = Array.from({ length: 11 }, (_, place) => `part ${place} `);
  for (const [place, text] of texts.entries())
    await store.recordResponsePart(responsePart("rec_1", place, text));
  await keep(store, turn(one, "a", null, { recording: { id: "rec_1", parts: texts.length } }));
  const reserved: number[] = [];
  const found = await store.turns.find(one, "a", nowMs, (bytes) => void reserved.push(bytes));
  expect(bodies(found === null ? [] : [found])).toEqual([`${texts.join("")}body of a`]);
  expect(reserved).toEqual([10]);
  await store.close();
});

testEachStore("a turn takes the place of another only while that one is there", async (database) => {
  const store = await database.openGateway(new FakeClock());
  const [one] = await twoKeys(store);
  const conversation = (body: string, replaces?: number) =>
    turn(one, "conv_1", null, { body: new TextEncoder().encode(body), items: [], replaces });
  await store.recordTurn(conversation("first"));
  const first = await store.turns.find(one, "conv_1", nowMs);
  expect(await store.turns.has(first?.no ?? 0)).toBe(true);
  const [settled] = [settleItem(one, 1)];
  await store.charge([{ ...settled, turns: [turn(one, "a", "conv_1"), conversation("second", first?.no)] }]);
  expect(await chainOf(store, one, "a")).toEqual(["second", "body of a"]);
  expect(await store.turns.has(first?.no ?? 0)).toBe(false);
  expect(await store.turns.hasAll(one, ["a", "conv_1"], nowMs)).toBe(true);
  expect(await store.turns.hasAll(one, ["a", "b"], nowMs)).toBe(false);
  await store.recordTurn(conversation("late", first?.no));
  expect(await chainOf(store, one, "conv_1")).toEqual(["second"]);
  expect(await store.turns.sums(one, nowMs)).toMatchObject({ count: 2, conversations: 1, bytes: 20 });
  const second = await store.turns.find(one, "conv_1", nowMs);
  const lacking = { ...conversation("lacking", second?.no), recording: { id: "rec_lost", parts: 1 } };
  await store.recordTurn(lacking);
  expect(await chainOf(store, one, "conv_1")).toEqual(["second"]);
  await store.recordResponsePart(responsePart("rec_lost", 0, "no longer "));
  await store.recordTurn(lacking);
  expect(await chainOf(store, one, "conv_1")).toEqual(["no longer lacking"]);
  const third = await store.turns.find(one, "conv_1", nowMs);
  await store.turns.delete(one, "conv_1", nowMs);
  await keep(store, conversation("late", third?.no));
  expect(await chainOf(store, one, "conv_1")).toBe("missing");
  await store.close();
});

testEachStore("a turn that others keep replacing while it is read is found", async (database) => {
  const store = await database.openGateway(new FakeClock());
  const [one] = await twoKeys(store);
  await keep(store, turn(one, "conv", null), turn(one, "child", "conv"));
  for (const look of [
    async (reserve: typeof bounds.reserve) => await chainOf(store, one, "child", { reserve }),
    async (reserve: typeof bounds.reserve) =>
      bodies([(await store.turns.find(one, "conv", nowMs, reserve)) ?? turn(one, "", null)]),
  ]) {
    const reserved: number[] = [];
    const found = await look(async (bytes) => {
      reserved.push(bytes);
      if (reserved.length <= 4) await keep(store, turn(one, "conv", null));
    });
    expect(found[0]).toBe("body of conv");
    expect(reserved.slice(1)).toEqual([0, 0, 0, 0]);
  }
  await store.close();
});

testEachStore("a turn that takes no place leaves none of its parts behind", async (database) => {
  const store = await database.openGateway(new FakeClock());
  const [one] = await twoKeys(store);
  const recording = { id: "rec_late", parts: 1 };
  const late = { ...turn(one, "conv_1", null, { items: [], replaces: 7 }), recording };
  await store.recordResponsePart(responsePart("rec_late", 0, "written ahead "));
  await store.recordTurn(late);
  // Were its part still there, this would be whole.
  await store.recordTurn({ ...turn(one, "a", null), recording });
  expect(await store.turns.find(one, "a", nowMs)).toBeNull();
  await store.close();
});

testEachStore("what takes the place of the oldest turn is the newest before others go", async (database) => {
  const store = await database.openGateway(new FakeClock());
  const [one] = await twoKeys(store);
  const bounds = { keyBytes: 30 };
  await store.recordTurn(turn(one, "conv_1", null, bounds));
  await store.recordTurn(turn(one, "a", null, bounds));
  await store.recordTurn(turn(one, "b", null, bounds));
  const replaces = (await store.turns.find(one, "conv_1", nowMs))?.no;
  const turns = [turn(one, "conv_1", null, { ...bounds, replaces }), turn(one, "c", "conv_1", bounds)];
  await store.charge([{ ...settleItem(one, 1), turns }]);
  expect(await chainOf(store, one, "c")).toEqual(["body of conv_1", "body of c"]);
  expect([await chainOf(store, one, "a"), await chainOf(store, one, "b")]).toEqual([
    "missing",
    ["body of b"],
  ]);
  await store.close();
});

testEachStore(
  "a conversation that is replaced meanwhile is found, and what has begun in it",
  async (database) => {
    const store = await database.openGateway(new FakeClock());
    const [one] = await twoKeys(store);
    await keep(store, turn(one, "conv_1", null), turn(one, "a", "conv_1"));
    for (let round = 0; round < 20; round += 1) {
      const replaces = (await store.turns.find(one, "conv_1", nowMs))?.no;
      const reading = Array.from({ length: 8 }, () => chainOf(store, one, "a"));
      const replacing = keep(store, turn(one, "conv_1", null, { replaces }));
      for (const found of await Promise.all(reading)) expect(found).toEqual(["body of conv_1", "body of a"]);
      await replacing;
    }
    await store.close();
  },
);

testEachStore("a turn goes on with the parts of the one whose place it takes", async (database) => {
  const store = await database.openGateway(new FakeClock());
  const [one] = await twoKeys(store);
  const conversation = (body: string, parts: number, replaces?: number) =>
    turn(one, "conv_1", null, {
      body: new TextEncoder().encode(body),
      items: [],
      replaces,
      recording: { id: "rec_1", parts },
    });
  const current = async () => (await store.turns.end(one, "conv_1", nowMs)) ?? undefined;
  await store.recordResponsePart(responsePart("rec_1", 0, "a"));
  await store.recordTurn(conversation("first", 1));
  const first = await current();
  expect(bodies(first ? [first] : [])).toEqual(["first"]);
  expect(first).toMatchObject({ bytes: 10, endBytes: 5, recording: { id: "rec_1", parts: 1 } });
  await store.recordTurn(conversation("second", 1, first?.no));
  expect(await chainOf(store, one, "conv_1")).toEqual(["asecond"]);
  const second = await current();
  await store.recordResponsePart(responsePart("rec_1", 1, "b"));
  expect(await chainOf(store, one, "conv_1")).toEqual(["asecond"]);
  await keep(store, conversation("third", 2, second?.no));
  expect(await chainOf(store, one, "conv_1")).toEqual(["abthird"]);
  const third = await current();
  for (const late of [first, second]) await store.recordTurn(conversation("late", 2, late?.no));
  await store.recordTurn(conversation("lacking", 3, third?.no));
  expect(await chainOf(store, one, "conv_1")).toEqual(["abthird"]);
  await store.recordResponsePart(responsePart("rec_1", 1, "other")).then(
    () => expect.unreachable(),
    () => {},
  );
  expect(await chainOf(store, one, "conv_1")).toEqual(["abthird"]);
  await store.turns.delete(one, "conv_1", nowMs);
  for (const sequence of [0, 1])
    await store.recordResponsePart(responsePart("rec_1", sequence, "free again"));
  await store.close();
});

testEachStore("a turn of another recording deletes the parts of the one before", async (database) => {
  const store = await database.openGateway(new FakeClock());
  const [one] = await twoKeys(store);
  const conversation = (recordingId: string, replaces?: number) =>
    turn(one, "conv_1", null, { items: [], replaces, recording: { id: recordingId, parts: 1 } });
  for (const id of ["rec_1", "rec_2"]) await store.recordResponsePart(responsePart(id, 0, id));
  await store.recordTurn(conversation("rec_1"));
  await store.recordTurn(conversation("rec_2", (await store.turns.end(one, "conv_1", nowMs))?.no));
  expect(await chainOf(store, one, "conv_1")).toEqual(["rec_2body of conv_1"]);
  await store.recordResponsePart(responsePart("rec_1", 0, "free again"));
  await store.close();
});
