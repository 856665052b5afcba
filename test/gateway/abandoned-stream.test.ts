import { expect, test } from "bun:test";
import { nextLoopIteration } from "../../src/base/loop/pacer.ts";
import { AbandonedStream } from "../../src/gateway/response/abandoned-stream.ts";
import { PassthroughRelayer } from "../../src/gateway/response/passthrough-relayer.ts";
import { ResponseQueue } from "../../src/upstream/call/response-queue.ts";
import type { OpenedCall } from "../../src/upstream/upstream.ts";
import { waitFor } from "../support/wait.ts";
import { streamEvents, usageOf } from "./wire-answers.ts";

const events = streamEvents("chat", { text: "one two three", usage: usageOf("chat", 100, 10) });
const [role = "", one = "", two = "", three = "", finish = "", usage = "", done = ""] = events;

type Options = ConstructorParameters<typeof AbandonedStream>[3];

/** A chat stream whose client leaves after these events, with more in the queue already. */
function left(
  seen: readonly string[],
  queued: readonly string[] = [],
  options: Partial<Options> = {},
  onPush = () => {},
) {
  const call = { dialect: "chat", hideUsage: false } as const;
  const relayer = new PassthroughRelayer({ ...call, requestId: "r", model: "m", atSeconds: 1 });
  relayer.push(Buffer.from(seen.join("")));
  const queue = new ResponseQueue();
  for (const event of queued) queue.add(Buffer.from(event));
  let settled = 0;
  let isAborted = false;
  const opened = {
    read: () => queue.take(),
    whole: queue,
    abort: () => {
      isAborted = true;
      queue.fail(new Error("aborted") as never);
    },
  } as unknown as OpenedCall;
  const stream = new AbandonedStream(
    opened,
    relayer,
    {
      push: async (chunk) => {
        onPush();
        relayer.push(chunk);
      },
      end: async () => void relayer.end(),
      settle: () => {
        settled += 1;
      },
    },
    { silenceMs: 25, isKept: false, runsToEnd: false, ...options },
  );
  const receive = (event: string) => queue.add(Buffer.from(event));
  return { relayer, stream, receive, isLeft: () => isAborted && settled === 1 };
}

/** What the pump does: it reads what is there, or waits for what comes. */
async function readOn({ stream, relayer }: ReturnType<typeof left>): Promise<PassthroughRelayer> {
  stream.begin();
  await stream.read(Buffer.alloc(0), false).catch(() => {});
  stream.leave();
  return relayer;
}

/** As long as it takes to leave one that is silent in the middle of a text. */
async function silence(): Promise<void> {
  const silent = left([role, one, two]);
  silent.stream.begin();
  await waitFor(silent.isLeft, "the provider to be left");
}

test("what has been received already is read, whatever it is", async () => {
  const stream = left([role, one], [two, three, finish, usage, done]);
  expect((await readOn(stream)).found.usage).toMatchObject({ inputTokens: 100, outputTokens: 10 });
  expect(stream.isLeft()).toBe(true);
});

test("behind the finish the usage is waited for", async () => {
  const stream = left([role, one, two, three, finish]);
  const reading = readOn(stream);
  await silence();
  expect(stream.isLeft()).toBe(false);
  stream.receive(usage);
  expect((await reading).found.usage).toMatchObject({ outputTokens: 10 });
  expect(stream.isLeft()).toBe(true);
});

test("it is waited for, too, if nothing has come since", async () => {
  const stream = left([role, one, two, three, finish]);
  stream.stream.begin();
  await silence();
  expect(stream.isLeft()).toBe(false);
  stream.stream.leave();
});

test("a text that goes on is left at once", async () => {
  const stream = left([role, one], [two], { silenceMs: 60_000 });
  stream.stream.begin();
  const reading = stream.stream.read(Buffer.from(two), true).catch(() => {});
  await Bun.sleep(1);
  expect(stream.isLeft()).toBe(true);
  await reading;
});

test("a text that is silent is left soon, and one that was the last is not", async () => {
  await silence();

  const last = left([role, one, two, three]);
  last.stream.begin();
  // It comes before the silence was long enough.
  const reading = last.stream.read(Buffer.from(finish), true);
  await silence();
  expect(last.isLeft()).toBe(false);
  last.receive(usage);
  await reading;
  expect(last.relayer.found.usage).toMatchObject({ outputTokens: 10 });
});

test("what does not end the stream does not prolong the two seconds", async () => {
  const stream = left([role, one, finish]);
  const startedMs = performance.now();
  const reading = readOn(stream);
  const pinging = setInterval(() => {
    if (!stream.isLeft()) stream.receive(": ping\n\n");
  }, 100);
  await reading;
  clearInterval(pinging);
  expect(stream.isLeft()).toBe(true);
  expect(performance.now() - startedMs).toBeGreaterThan(1900);
});

test("nothing is waited for where nothing is to be paid, or everything is known", () => {
  for (const seen of [[role], [role, one, finish, usage]]) {
    const stream = left(seen);
    stream.stream.begin();
    expect(stream.isLeft()).toBe(true);
  }
});

test("what is kept for a retry is read to its end, although the usage is known", async () => {
  const stream = left([role, one, two, three, finish, usage], [], { isKept: true });
  const reading = readOn(stream);
  await silence();
  expect(stream.isLeft()).toBe(false);
  stream.receive(done);
  expect((await reading).ended).toBe(true);
});

test("what is no text does not show that a text goes on", async () => {
  const stream = left([role, one, two, three], [], { silenceMs: 200 });
  stream.stream.begin();
  const reading = stream.stream.read(Buffer.from(": busy\n\n"), true);
  await silence();
  expect(stream.isLeft()).toBe(false);
  stream.receive(finish);
  stream.receive(usage);
  await reading;
  stream.stream.leave();
  expect(stream.relayer.found.usage).toMatchObject({ outputTokens: 10 });
});

test("a crowd that leaves together reads on in turns, a piece in each", async () => {
  let pushes = 0;
  let most = 0;
  let isOver = false;
  const watch = async () => {
    while (!isOver) {
      const before = pushes;
      await nextLoopIteration();
      most = Math.max(most, pushes - before);
    }
  };
  const watching = watch();
  const slow = () => {
    pushes += 1;
    for (const endMs = performance.now() + 3; performance.now() < endMs; );
  };
  const crowd = Array.from({ length: 12 }, () =>
    left([role, one], [two, three, finish, usage, done], {}, slow),
  );
  for (const relayer of await Promise.all(crowd.map(readOn)))
    expect(relayer.found.usage).toMatchObject({ inputTokens: 100, outputTokens: 10 });
  isOver = true;
  await watching;
  // All but the last piece, which only ends the stream.
  expect([pushes, most]).toEqual([12 * 4, 1]);
});

test("what arrives while it waits for its turn shows that a text goes on", async () => {
  const stream = left([role, one], [two]);
  const reading = stream.stream.read(Buffer.alloc(0), false).catch(() => {});
  stream.receive(three);
  stream.receive(finish);
  await reading;
  expect(stream.isLeft()).toBe(true);
  expect(stream.relayer.found.usage).toBeNull();
});
