import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Socket, TCPSocketListener } from "bun";
import { abortAfter, afterArrivals, startDeadline } from "../../../src/base/loop/deadline.ts";
import { LoopBatch } from "../../../src/base/loop/pacer.ts";
import { Gate } from "../../../src/limits/concurrency.ts";

const limitMs = 30;

let server: TCPSocketListener;
let sender: Socket;
let arrived = Promise.withResolvers<void>();

beforeAll(async () => {
  const data = () => arrived.resolve();
  server = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data } });
  sender = await Bun.connect({ hostname: "127.0.0.1", port: server.port, socket: { data() {} } });
});
afterAll(() => {
  sender.end();
  server.stop(true);
});

/**
 * Something arrives while the process stands still for longer than the limit. In a timer, because the loop then runs
 * the others that have come due before it reads what has arrived, as it does after a pause of the whole process.
 */
function pauseWithArrival(): Promise<void> {
  arrived = Promise.withResolvers<void>();
  setTimeout(() => {
    sender.write("x");
    sender.flush();
    Bun.sleepSync(limitMs * 3);
  }, 0);
  return arrived.promise;
}

describe("what has arrived during a pause is read before", () => {
  test("a deadline gives up", async () => {
    const ended = Promise.withResolvers<string>();
    const cancel = startDeadline(limitMs, () => ended.resolve("given up"));
    pauseWithArrival().then(() => {
      cancel();
      ended.resolve("arrived");
    });
    expect(await ended.promise).toBe("arrived");
  });

  test("a signal aborts", async () => {
    const signal = abortAfter(limitMs);
    await pauseWithArrival();
    expect(signal.aborted).toBe(false);
  });

  test("a gate sends away who waits at it", async () => {
    const gate = new Gate({ limit: 1, queueLimit: 1, waitMs: limitMs });
    gate.tryEnter();
    const entering = gate.enter(new AbortController().signal);
    pauseWithArrival().then(() => gate.leave());
    expect(await entering).toBe(true);
  });
});

describe("without an arrival", () => {
  test("a deadline gives up, once", async () => {
    let times = 0;
    startDeadline(limitMs, () => {
      times += 1;
    });
    // Two more, one after the other.
    for (const _ of [1, 2]) await new Promise<void>((resolve) => startDeadline(limitMs, resolve));
    expect(times).toBe(1);
  });

  test("a signal aborts as the runtime's own does", async () => {
    const signal = abortAfter(limitMs);
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    expect(signal.reason).toMatchObject({ name: "TimeoutError" });
  });
});

test("a deadline that was cancelled never gives up, not even when its time was over already", async () => {
  let isGivenUp = false;
  const giveUp = () => {
    isGivenUp = true;
  };
  startDeadline(limitMs, giveUp)();
  const cancel = startDeadline(0, giveUp);
  await Bun.sleep(5);
  cancel();
  await new Promise<void>(afterArrivals);
  expect(isGivenUp).toBe(false);
});

test("batched items have been handled too, however many turns that takes", async () => {
  let handled = 0;
  const batch = new LoopBatch<number>(() => {
    handled += 1;
  });
  await new Promise<void>((resolve) => {
    afterArrivals(() => {
      for (let item = 0; item < 1000; item += 1) batch.add(item);
      // Arrives all the time, and is not waited for.
      const more = setInterval(() => batch.add(0), 0);
      afterArrivals(() => {
        clearInterval(more);
        resolve();
      });
    });
  });
  expect(handled).toBeGreaterThanOrEqual(1000);
});
