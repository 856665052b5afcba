import { describe, expect, jest, test } from "bun:test";
import { Gate, Gates } from "../../src/limits/concurrency.ts";

const never = new AbortController().signal;

describe("a gate", () => {
  test("lets its limit through, queues a few in order and refuses the rest at once", async () => {
    const gate = new Gate({ limit: 2, queueLimit: 2, waitMs: 10_000 });
    expect(gate.enter(never)).toBe(true);
    expect(gate.enter(never)).toBe(true);
    const order: string[] = [];
    const third = Promise.resolve(gate.enter(never)).then((entered) => order.push(`third ${entered}`));
    const fourth = Promise.resolve(gate.enter(never)).then((entered) => order.push(`fourth ${entered}`));
    expect(gate.enter(never)).toBe(false);
    expect(gate.waiting).toBe(2);
    gate.leave();
    await third;
    gate.leave();
    await fourth;
    expect(order).toEqual(["third true", "fourth true"]);
    expect(gate.inside).toBe(2);
    gate.leave();
    gate.leave();
    expect(gate.inside).toBe(0);
  });

  test("waiting ends when no place comes in time, without losing a place", async () => {
    const gate = new Gate({ limit: 1, queueLimit: 5, waitMs: 5 });
    gate.tryEnter();
    expect(await gate.enter(never)).toBe(false);
    expect(gate.waiting).toBe(0);
    gate.leave();
    expect(gate.tryEnter()).toBe(true);
    expect(gate.tryEnter()).toBe(false);
  });

  test("whoever leaves the queue early takes no place", async () => {
    const gate = new Gate({ limit: 1, queueLimit: 5, waitMs: 10_000 });
    gate.tryEnter();
    const client = new AbortController();
    const waiting = gate.enter(client.signal);
    client.abort();
    expect(await waiting).toBe(false);
    gate.leave();
    expect(gate.inside).toBe(0);
    expect(gate.enter(client.signal)).toBe(false);
  });

  test("a limit that is lowered holds for those who wait, and one that is raised lets more of them in", async () => {
    const options = { limit: 3, queueLimit: 5, waitMs: 10_000 };
    const gate = new Gate(options);
    for (let entered = 0; entered < 3; entered += 1) gate.tryEnter();
    const entered: number[] = [];
    const waiting = [1, 2, 3].map((number) =>
      Promise.resolve(gate.enter(never)).then(() => entered.push(number)),
    );
    options.limit = 1;
    gate.leave();
    gate.leave();
    expect([gate.inside, gate.waiting]).toEqual([1, 3]);
    gate.leave();
    await waiting[0];
    expect([gate.inside, gate.waiting]).toEqual([1, 2]);
    options.limit = 2;
    gate.leave();
    await Promise.all(waiting);
    expect([gate.inside, gate.waiting, entered]).toEqual([2, 0, [1, 2, 3]]);
  });

  test("who has waited leaves no timer behind, whether it got in or not", async () => {
    jest.useFakeTimers();
    try {
      const gate = new Gate({ limit: 1, queueLimit: 2, waitMs: 1000 });
      gate.tryEnter();
      const leaving = new AbortController();
      const waiting = [gate.enter(never), gate.enter(leaving.signal)];
      expect(jest.getTimerCount()).toBe(2);
      gate.leave();
      leaving.abort();
      expect(await Promise.all(waiting)).toEqual([true, false]);
      expect(jest.getTimerCount()).toBe(0);
    } finally {
      jest.useRealTimers();
    }
  });

  test("gates by name are apart, and forgotten when unused", () => {
    const gates = new Gates({ limit: 1, queueLimit: 0, waitMs: 0 });
    expect(gates.enter("a", never)).toBe(true);
    expect(gates.enter("b", never)).toBe(true);
    expect(gates.enter("a", never)).toBe(false);
    gates.leave("a");
    expect(gates.size).toBe(1);
    expect(gates.enter("a", never)).toBe(true);
    gates.leave("a");
    gates.leave("b");
    expect(gates.size).toBe(0);
  });

  test("keep a gate while somebody is inside or waits", async () => {
    const gates = new Gates({ limit: 1, queueLimit: 1, waitMs: 60_000 });
    expect(gates.enter("a", never)).toBe(true);
    const waiting = gates.enter("a", never);
    gates.leave("a");
    expect(await waiting).toBe(true);
    expect([gates.size, gates.tryEnter("a")]).toEqual([1, false]);
    gates.leave("a");
    expect(gates.size).toBe(0);
  });
});
