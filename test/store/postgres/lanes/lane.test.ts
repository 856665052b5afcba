import { describe, expect, test } from "bun:test";
import { SQL } from "bun";
import { Lane, type LaneOptions } from "../../../../src/store/postgres/lanes/lane.ts";
import { waitFor } from "../../../support/wait.ts";

type Send = LaneOptions<string, string>["send"];

interface Sent {
  readonly sequence: number;
  readonly items: readonly string[];
}

/** A lane to a database that is played by `answer`; it answers each item with itself unless told otherwise. */
function laneTo(answer: Send, overrides: Partial<LaneOptions<string, string>> = {}) {
  const sent: Sent[] = [];
  const events: string[] = [];
  const lane = new Lane<string, string>({
    send: (sequence, items) => {
      sent.push({ sequence, items });
      return answer(sequence, items);
    },
    timeoutMs: () => 60_000,
    unavailable: () => new Error("unavailable"),
    isKept: () => true,
    onLateResponse: (item, late) => events.push(`late ${item}: ${late}`),
    onRejected: (item) => events.push(`rejected ${item}`),
    onAttempt: (failure) => events.push(failure === null ? "sent" : "failed"),
    onFenced: () => events.push("fenced"),
    groupOf: (item) => item.charAt(0),
    ...overrides,
  });
  return { lane, sent, events };
}

const same: Send = async (_, items) => items;

function serverError(state: string): Error {
  return new SQL.PostgresError("the server says no", { code: "ERR_POSTGRES_SERVER_ERROR", errno: state });
}

describe("a lane", () => {
  test("sends what a turn adds as one batch, and what comes meanwhile as the next", async () => {
    const gate = Promise.withResolvers<void>();
    const { lane, sent } = laneTo(async (sequence, items) => {
      if (sequence === 1) await gate.promise;
      return items;
    });
    lane.resume();
    const first = [lane.add("a"), lane.add("b")];
    await waitFor(() => sent.length === 1, "the first batch");
    const second = [lane.add("c"), lane.add("d")];
    gate.resolve();
    expect(await Promise.all([...first, ...second])).toEqual(["a", "b", "c", "d"]);
    expect(sent).toEqual([
      { sequence: 1, items: ["a", "b"] },
      { sequence: 2, items: ["c", "d"] },
    ]);
    expect(lane.size).toBe(0);
  });

  test.each([
    ["a closed connection", new Error("closed")],
    ["a deadlock", serverError("40P01")],
    ["an ended backend", serverError("57P01")],
    ["a read-only server", serverError("25006")],
    ["a full disk", serverError("53100")],
    ["tables that are not found", serverError("42P01")],
    ["a batch that is still being committed", serverError("SL002")],
  ])("sends the same batch under the same number after %s", async (_, error) => {
    let attempts = 0;
    const { lane, sent } = laneTo(async (_sequence, items) => {
      attempts += 1;
      if (attempts < 3) throw error;
      return items;
    });
    lane.resume();
    const answer = lane.add("a");
    await waitFor(() => attempts > 0, "an attempt");
    const next = lane.add("b");
    expect(await Promise.all([answer, next])).toEqual(["a", "b"]);
    expect(sent.map(({ sequence, items }) => `${sequence} ${items}`)).toEqual(["1 a", "1 a", "1 a", "2 b"]);
  });

  test.each(["22003", "23505", "P0002"])(
    "isolates the item that the database rejects with %s",
    async (state) => {
      const { lane, sent, events } = laneTo(async (_, items) => {
        if (items.includes("bad")) throw serverError(state);
        return items;
      });
      lane.resume();
      const answers = await Promise.allSettled(["a", "bad", "c"].map((item) => lane.add(item)));
      expect(answers.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
      // The number of a batch that was rolled back is free.
      expect(sent.map(({ sequence, items }) => `${sequence} ${items}`)).toEqual([
        "1 a,bad,c",
        "1 a",
        "2 bad",
        "2 c",
      ]);
      expect(events).toContain("rejected bad");
    },
  );

  test("sets the group apart whose lock is kept, and answers the others of its batch", async () => {
    const { lane: apart, sent: sentApart } = laneTo(same);
    const blocked: string[] = [];
    const { lane, sent, events } = laneTo(
      async (_, items) => {
        if (items.some((item) => item.startsWith("b"))) throw serverError("55P03");
        return items;
      },
      { apart, onSetApart: (group) => blocked.push(group) },
    );
    lane.resume();
    const waiting = Promise.all([lane.add("b1"), lane.add("b2")]);
    expect(await Promise.all(["a1", "c1", "a2"].map((item) => lane.add(item)))).toEqual(["a1", "c1", "a2"]);
    expect(sent.map(({ sequence, items }) => `${sequence} ${items}`)).toEqual([
      "1 b1,b2,a1,c1,a2",
      "1 b1,b2",
      "1 a1,a2",
      "2 c1",
    ]);
    // It waits in the other lane alone, and is no failure of the database.
    expect({ apart: apart.pending, lane: lane.pending, blocked }).toEqual({
      apart: ["b1", "b2"],
      lane: [],
      blocked: ["b"],
    });
    expect([apart.isBusyWith("b"), apart.isBusyWith("a")]).toEqual([true, false]);
    expect(events).not.toContain("failed");
    apart.resume();
    expect(await waiting).toEqual(["b1", "b2"]);
    expect(sentApart).toEqual([{ sequence: 1, items: ["b1", "b2"] }]);
  });

  test("without another lane tries a blocked group again after the others", async () => {
    let attempts = 0;
    const { lane, sent } = laneTo(async (_, items) => {
      if (items.includes("b")) attempts += 1;
      if (items.includes("b") && attempts < 4) throw serverError("55P03");
      return items;
    });
    lane.resume();
    const answers = [lane.add("b"), lane.add("a")];
    expect(await answers[1]).toBe("a");
    expect(await answers[0]).toBe("b");
    expect(sent.map(({ sequence, items }) => `${sequence} ${items}`)).toEqual([
      "1 b,a",
      "1 b",
      "1 a",
      "2 b",
      "2 b",
    ]);
  });

  test("keeps what it could not send when it is fenced, and begins at 1 as another node", async () => {
    let isFenced = true;
    const { lane, sent, events } = laneTo(async (_, items) => {
      if (isFenced) throw serverError("SL001");
      return items;
    });
    lane.resume();
    const answer = lane.add("a");
    await waitFor(() => events.includes("fenced"), "the fence");
    await lane.halt();
    expect(lane.pending).toEqual(["a"]);
    isFenced = false;
    lane.resume();
    expect(await answer).toBe("a");
    expect(sent.map(({ sequence }) => sequence)).toEqual([1, 1]);
  });

  test("is emptied of what need not be kept, sends the rest as a new node, and reports each attempt", async () => {
    let isAway = false;
    const options = { isKept: (item: string) => item.startsWith("charge") };
    const { lane, sent, events } = laneTo(async (_, items) => {
      if (isAway) throw new Error("closed");
      return items;
    }, options);
    lane.resume();
    expect(await lane.add("charge 1")).toBe("charge 1");
    isAway = true;
    const [hold, charge] = [lane.add("hold 2"), lane.add("charge 3")];
    await waitFor(() => events.includes("failed"), "a failed attempt");
    expect(lane.size).toBe(2);
    await lane.halt();
    lane.rejectUnkept();
    await expect(hold).rejects.toThrow("unavailable");
    expect(lane.pending).toEqual(["charge 3"]);
    isAway = false;
    lane.resume();
    expect(await charge).toBe("charge 3");
    expect(sent.at(-1)).toEqual({ sequence: 1, items: ["charge 3"] });
    expect([events[0], events.at(-1)]).toEqual(["sent", "sent"]);
  });

  test("sends what was fenced before what came meanwhile", async () => {
    const gate = Promise.withResolvers<void>();
    let isFenced = true;
    const { lane, sent, events } = laneTo(async (_, items) => {
      if (!isFenced) return items;
      await gate.promise;
      throw serverError("SL001");
    });
    lane.resume();
    const first = lane.add("a");
    await waitFor(() => sent.length === 1, "the first batch");
    const second = lane.add("b");
    gate.resolve();
    await waitFor(() => events.includes("fenced"), "the fence");
    await lane.halt();
    isFenced = false;
    lane.resume();
    expect(await Promise.all([first, second])).toEqual(["a", "b"]);
    expect(sent[1]?.items).toEqual(["a", "b"]);
  });

  test("keeps the rest of a batch that is fenced while its items are isolated", async () => {
    let calls = 0;
    const { lane } = laneTo(
      async (_, items) => {
        calls += 1;
        if (calls === 1) throw serverError("23505");
        if (calls === 3) throw serverError("SL001");
        return items;
      },
      { isKept: () => false },
    );
    lane.resume();
    const answers = ["a", "b", "c"].map((item) => lane.add(item));
    expect(await answers[0]).toBe("a");
    await waitFor(() => calls === 3, "the fence");
    await lane.halt();
    expect(lane.pending).toEqual(["b", "c"]);
    lane.rejectUnkept();
    expect((await Promise.allSettled(answers)).map(({ status }) => status)).toEqual([
      "fulfilled",
      "rejected",
      "rejected",
    ]);
  });

  test("gives nobody up while the database answers, however long the queue is", async () => {
    const slow: Send = async (_, items) => {
      await Bun.sleep(100);
      return items;
    };
    const { lane } = laneTo(slow, { timeoutMs: () => 300, maxItems: 1, isKept: () => false });
    lane.resume();
    const items = ["a", "b", "c", "d", "e", "f"];
    expect(await Promise.all(items.map((item) => lane.add(item)))).toEqual(items);
  });

  test("gives nobody up because its own process was busy", async () => {
    const soon: Send = async (_, items) => {
      await Bun.sleep(150);
      return items;
    };
    const { lane, sent } = laneTo(soon, { timeoutMs: () => 300, isKept: () => false });
    lane.resume();
    const adding = lane.add("a");
    await waitFor(() => sent.length === 1, "the batch");
    const busyUntilMs = performance.now() + 500;
    while (performance.now() < busyUntilMs);
    expect(await adding).toBe("a");
  });

  test("gives a caller up after its timeout, and hands its answer on when it comes", async () => {
    const gate = Promise.withResolvers<void>();
    const { lane, events, sent } = laneTo(
      async (sequence, items) => {
        if (sequence === 1) await gate.promise;
        return items;
      },
      { timeoutMs: () => 50, isKept: () => false },
    );
    lane.resume();
    const first = lane.add("a");
    await waitFor(() => sent.length === 1, "the batch");
    const answers = await Promise.allSettled([first, lane.add("b")]);
    expect(answers.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    gate.resolve();
    await waitFor(() => lane.size === 0, "the end of the batch");
    expect(events.filter((event) => event.startsWith("late"))).toEqual(["late a: a"]);
    // An item that is no longer awaited and was not sent yet is dropped.
    expect(sent).toHaveLength(1);
  });

  test("tells apart what may be given up and what must be sent, although nobody waits for either", async () => {
    const gate = Promise.withResolvers<void>();
    const { lane, sent } = laneTo(
      async (sequence, items) => {
        if (sequence === 1) await gate.promise;
        return items;
      },
      { timeoutMs: () => 50, isKept: (item) => item === "end" },
    );
    lane.resume();
    const first = lane.add("a");
    await waitFor(() => sent.length === 1, "the batch");
    await Promise.allSettled([first, lane.add("b"), lane.add("end"), lane.add("c")]);
    gate.resolve();
    await waitFor(() => lane.size === 0, "the end of the lane");
    expect(sent.map(({ items }) => items)).toEqual([["a"], ["end"]]);
  });

  test("still sends what must be sent, although nobody waits for it", async () => {
    const gate = Promise.withResolvers<void>();
    const { lane, sent } = laneTo(
      async (sequence, items) => {
        if (sequence === 1) await gate.promise;
        return items;
      },
      { timeoutMs: () => 50 },
    );
    lane.resume();
    const answers = [lane.add("a")];
    await waitFor(() => sent.length === 1, "the batch");
    answers.push(lane.add("b"));
    for (const { status } of await Promise.allSettled(answers)) expect(status).toBe("rejected");
    expect(lane.pendingFor(0)).toEqual(["a", "b"]);
    gate.resolve();
    expect(await lane.drained(15_000)).toBe(true);
    expect(sent.map(({ items }) => items)).toEqual([["a"], ["b"]]);
  });

  test("sends nothing before it is resumed, and says so when it is asked to drain", async () => {
    const { lane, sent } = laneTo(same);
    const answer = lane.add("a");
    expect(await lane.drained(20)).toBe(false);
    expect(sent).toEqual([]);
    lane.resume();
    expect(await answer).toBe("a");
  });

  test("sends at most so many items at once", async () => {
    const { lane, sent } = laneTo(same, { maxItems: 2 });
    lane.resume();
    await Promise.all(["a", "b", "c", "d", "e"].map((item) => lane.add(item)));
    expect(sent.map(({ items }) => items.length)).toEqual([2, 2, 1]);
  });
});
