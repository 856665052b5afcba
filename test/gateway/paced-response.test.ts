import { expect, test } from "bun:test";
import { nextLoopIteration } from "../../src/base/loop/pacer.ts";
import type { ClientCall, DirectController } from "../../src/gateway/exchange/client-call.ts";
import { PacedSource } from "../../src/gateway/response/paced-response.ts";

/** A connection, and what was done to it. */
function connection() {
  const leaving = new AbortController();
  const calls: string[] = [];
  const call = {
    request: { signal: leaving.signal },
    keepWaiting: () => calls.push("wait"),
    disconnect: (ms?: number) => calls.push(ms === undefined ? "cut" : `idle ${ms}`),
  } as Partial<Record<keyof ClientCall, unknown>> as ClientCall;
  return { call, calls, leave: () => leaving.abort() };
}

/** A client that takes everything at once, unless told. */
function taking(write: (piece: string) => number | Promise<number> = ({ length }) => length) {
  const taken: string[] = [];
  const controller: DirectController = {
    write: (piece) => {
      taken.push(String(piece));
      return write(String(piece));
    },
    end: () => taken.push("end"),
  };
  return { taken, controller };
}

function counted() {
  let released = 0;
  return {
    release: () => {
      released += 1;
    },
    get isReleased() {
      return released > 0;
    },
  };
}

const letters = () => ["a", "b", "c"];

test("many bodies at once are written in turns that last no longer than a few pieces", async () => {
  let writes = 0;
  let most = 0;
  let isOver = false;
  const watch = async () => {
    while (!isOver) {
      const before = writes;
      await nextLoopIteration();
      most = Math.max(most, writes - before);
    }
  };
  const watching = watch();
  const slow = () => {
    writes += 1;
    for (const endMs = performance.now() + 3; performance.now() < endMs; );
    return 1;
  };
  const bodies = Array.from({ length: 12 }, () =>
    new PacedSource(connection().call, { pieces: letters }, 5000).pull(taking(slow).controller),
  );
  await Promise.all(bodies);
  isOver = true;
  await watching;
  expect([writes, most]).toEqual([36, 1]);
});

test("a client that stalls is disconnected after a while, and one that reads again is not", async () => {
  const { call, calls } = connection();
  const reading = Promise.withResolvers<number>();
  const { controller, taken } = taking((piece) => (piece === "b" ? reading.promise : 1));
  const pulling = new PacedSource(call, { pieces: letters }, 5000).pull(controller);
  while (!taken.includes("b")) await nextLoopIteration();
  expect(calls).toEqual(["wait", "idle 5000"]);
  reading.resolve(1);
  await pulling;
  // The last bytes may not have been read when it ends.
  expect(calls).toEqual(["wait", "idle 5000", "wait", "idle 5000"]);
  expect(taken).toEqual(["a", "b", "c", "end"]);
});

test("a body that breaks off does not look complete, and gives back what it has taken", async () => {
  const { call, calls } = connection();
  const { controller, taken } = taking();
  const body = counted();
  async function* broken() {
    yield "a";
    throw new Error("gone");
  }
  const pulling = new PacedSource(call, { pieces: broken, release: body.release }, 5000).pull(controller);
  await expect(pulling).rejects.toThrow("gone");
  expect([taken, calls.at(-1), body.isReleased]).toEqual([["a"], "cut", true]);
});

test("a client that leaves, before or while it is sent, ends it and gives back what it has taken", async () => {
  const early = connection();
  early.leave();
  const before = counted();
  new PacedSource(early.call, { pieces: letters, release: before.release }, 5000);
  expect(before.isReleased).toBe(true);

  const late = connection();
  const { controller, taken } = taking(() => {
    late.leave();
    return 1;
  });
  const meanwhile = counted();
  await new PacedSource(late.call, { pieces: letters, release: meanwhile.release }, 5000).pull(controller);
  expect([taken, meanwhile.isReleased]).toEqual([["a"], true]);
});
