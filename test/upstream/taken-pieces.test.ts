import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { systemClock } from "../../src/base/clock.ts";
import { GatewayError } from "../../src/base/errors.ts";
import { maxReadBytes, ResponseQueue } from "../../src/upstream/call/response-queue.ts";
import { sse } from "../support/answers.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { waitFor } from "../support/wait.ts";
import { setUp } from "./fixtures.ts";

const piece = (text: string) => new TextEncoder().encode(text);
const textOf = (bytes: Uint8Array | null) => (bytes === null ? null : new TextDecoder().decode(bytes));

describe("a large piece", () => {
  const large = Buffer.alloc(2 * maxReadBytes + 5, "x");

  test("is read in parts, and stays one for who wants it whole", () => {
    const queue = new ResponseQueue();
    queue.add(large);
    expect(queue.joined()).toHaveLength(large.length);
    const parts = [queue.take(), queue.take(), queue.take()] as Uint8Array[];
    expect(parts.map(({ length }) => length)).toEqual([maxReadBytes, maxReadBytes, 5]);
    expect(Buffer.concat(parts)).toEqual(large);
    expect(queue.bytes).toBe(0);
    expect(queue.isEmpty).toBe(true);
  });

  test("wakes a reader that waits: the first part is taken at once, the others are there", async () => {
    const queue = new ResponseQueue();
    const seen: number[] = [];
    const reading = queue.take(({ length }) => seen.push(length) > 0);
    queue.add(large);
    expect(seen).toEqual([maxReadBytes]);
    expect(await reading).toHaveLength(0);
    expect(queue.bytes).toBe(large.length - maxReadBytes);
    expect(await queue.take()).toHaveLength(maxReadBytes);
  });
});

describe("while its reader waits, a queue", () => {
  test("gives pieces to the taker, and wakes the reader with none of them once the taker says so", async () => {
    const queue = new ResponseQueue();
    const seen: (string | null)[] = [];
    const reading = queue.take((bytes) => seen.push(textOf(bytes)) < 3);
    for (const text of ["a", "b", "c", "d"]) queue.add(piece(text));
    expect(seen).toEqual(["a", "b", "c"]);
    expect(textOf(await reading)).toBe("");
    expect(queue.isAwaited).toBe(false);
    expect(textOf(await queue.take())).toBe("d");
  });

  test("tells the reader what the taker throws, and keeps what comes after it", async () => {
    const queue = new ResponseQueue();
    const reading = Promise.resolve(
      queue.take(() => {
        throw new Error("no room");
      }),
    );
    queue.add(piece("a"));
    queue.add(piece("b"));
    expect(await reading.catch(String)).toBe("Error: no room");
    expect(queue.bytes).toBe(1);
  });

  test("ends and fails as ever, also from within the taker", async () => {
    const ended = new ResponseQueue();
    const end = ended.take(() => true);
    ended.end();
    expect(await end).toBeNull();
    const failed = new ResponseQueue();
    const broken = new GatewayError("upstream_error", "It broke off.");
    const failing = Promise.resolve(
      failed.take(() => {
        failed.fail(broken);
        return false;
      }),
    );
    failed.add(piece("a"));
    expect(await failing.catch((error) => error)).toBe(broken);
    expect(() => failed.take()).toThrow("It broke off.");
  });

  test("gives none to a taker whose reader no longer waits", () => {
    const queue = new ResponseQueue();
    let taken = 0;
    queue.take(() => {
      taken += 1;
      return false;
    });
    queue.add(piece("a"));
    queue.add(piece("b"));
    expect(taken).toBe(1);
    expect(textOf(queue.joined())).toBe("b");
  });
});

describe("a stream whose pieces are taken", () => {
  const idleMs = 50_000;
  const frames = ["data: {}\n\n", "data: 1\n\n", "data: 2\n\n", "data: 3\n\n", "data: 4\n\n"];
  let provider: ScriptedProvider;
  beforeAll(() => {
    provider = startProvider();
  });
  afterAll(() => provider.stop());

  /** The provider sends a frame for each call of `next`; time passes by `pass`. */
  async function open() {
    let offsetMs = 0;
    let looks = 0;
    const clock = {
      ...systemClock,
      monotonicMs: () => {
        looks += 1;
        return systemClock.monotonicMs() + offsetMs;
      },
    };
    const asked = frames.map(() => Promise.withResolvers<void>());
    asked[0]?.resolve();
    const steps = frames.flatMap((write, index) => [
      { until: asked[index]?.promise ?? Promise.resolve() },
      { write },
    ]);
    provider.script({ ...sse(""), steps: [...steps, { stall: true }] });
    const { upstream, plan } = setUp([{ url: provider.url, timeouts: { idleMs } }], { clock });
    const opened = await upstream.open(plan({ stream: true, deadlineMs: Number.POSITIVE_INFINITY }));
    return {
      opened,
      next: (index: number) => asked[index]?.resolve(),
      pass: (ms: number) => {
        offsetMs += ms;
      },
      /** Every tick looks at the clock, and every fourth at a stream that has begun. */
      awaitTick: () => {
        const enough = looks + 5;
        return waitFor(() => looks >= enough, "the stream's deadline to be looked at");
      },
    };
  }

  test("goes on as long as they come, however long that is in all, and fails when they stay away", async () => {
    const { opened, next, pass, awaitTick } = await open();
    let text = "";
    const take = (bytes: Uint8Array) => {
      text += textOf(bytes);
      return true;
    };
    take((await opened.read()) ?? piece(""));
    const reading = Promise.resolve(opened.read(take)).catch((error: GatewayError) => error.code);
    for (let index = 1; index < frames.length; index += 1) {
      pass(0.8 * idleMs);
      next(index);
      await waitFor(() => text === frames.slice(0, index + 1).join(""), "the piece to be taken");
      await awaitTick();
    }
    pass(1.1 * idleMs);
    expect(await reading).toBe("upstream_error");
    expect(text).toBe(frames.join(""));
  });

  test("is not blamed for the silence of a client that does not read", async () => {
    const { opened, next, pass, awaitTick } = await open();
    await opened.read();
    const woken = opened.read(() => false);
    next(1);
    expect(textOf(await woken)).toBe("");
    await awaitTick();
    pass(3 * idleMs);
    await awaitTick();
    next(2);
    expect(textOf(await opened.read())).toBe(frames[2] ?? "");
    opened.abort();
  });
});
