import { describe, expect, spyOn, test } from "bun:test";
import { LoopPacer } from "../../src/base/loop/pacer.ts";
import { eventJob, LargeBodies } from "../../src/gateway/body-worker/body-worker.ts";
import type { Job, JobMessage, JobOwner } from "../../src/gateway/body-worker/job.ts";
import { shareText } from "../../src/gateway/body-worker/large-body.ts";
import { waitFor } from "../support/wait.ts";
import { hello, paths } from "./wire-answers.ts";
import { World } from "./world.ts";

/** A thread that runs a job only when the test lets it. */
class PatientThread {
  readonly given: JobMessage[] = [];
  /** Those who have asked it for something, in their order. */
  readonly owners: JobOwner[] = [];
  readonly bodies = new LargeBodies(() => this.#worker);

  constructor() {
    const run = this.bodies.runRequest.bind(this.bodies);
    this.bodies.runRequest = (job, input, owner) => {
      this.owners.push(owner);
      return run(job, input, owner);
    };
  }

  readonly #worker = {
    postMessage: (message: JobMessage) => void this.given.push(message),
    terminate: () => undefined,
    unref: () => undefined,
  } as unknown as Worker;

  /** Does the job that it was given last, and waits for the next one. */
  async finish(outcome: object = { answer: { result: {} } }): Promise<void> {
    const count = this.given.length;
    this.#worker.onmessage?.({ data: outcome } as MessageEvent);
    await Bun.sleep(0);
    expect(this.given.length).toBeLessThanOrEqual(count + 1);
  }
}

/** A job that is known by the key that it is done for. */
function ask(thread: PatientThread, owner: JobOwner): Promise<unknown> {
  return thread.bodies.runRequest(job, owner.keyId, owner);
}

const job: Job<string, object> = { name: "read", run: () => ({}) };

const inputOf = ({ input }: JobMessage) => input;

describe("the thread for large bodies", () => {
  test("takes one of each key in turn, and what providers have sent before any of them", async () => {
    const thread = new PatientThread();
    const done: string[] = [];
    for (const keyId of ["a", "a", "a", "b", "c"]) {
      void ask(thread, { keyId, isOver: false }).then(() => done.push(keyId));
    }
    const answer = thread.bodies.runResponse(eventJob, "{}");
    for (let count = 0; count < 6; count += 1) await thread.finish();
    expect(thread.given.map(inputOf)).toEqual(["a", "{}", "b", "c", "a", "a"]);
    await answer;
    await waitFor(() => done.length === 5, "all jobs to be done");
    expect(done).toEqual(["a", "b", "c", "a", "a"]);
  });

  test("does not begin jobs whose clients have left", async () => {
    const thread = new PatientThread();
    const left: JobOwner = { keyId: "a", isOver: true };
    const running = ask(thread, { keyId: "a", isOver: false });
    const dropped = await Promise.all([
      ...[left, left, left].map((owner) => ask(thread, owner).catch(String)),
      ask(thread, { keyId: "b", isOver: false }).catch(() => "b is dropped"),
      thread.finish().then(() => thread.finish()),
    ]);
    await running;
    expect(thread.given.map(inputOf)).toEqual(["a", "b"]);
    expect(dropped.slice(0, 3)).toEqual(
      Array(3).fill("GatewayError: The call was ended before its large body was read."),
    );
  });

  test("goes on with the next job after one that failed", async () => {
    const thread = new PatientThread();
    const failing = thread.bodies.runResponse(eventJob, "{}").catch(String);
    const next = thread.bodies.runResponse(eventJob, "{}");
    expect(thread.given).toHaveLength(1);
    await thread.finish({ failure: { code: "", message: "", stack: "it stumbled" } });
    await thread.finish({ answer: { result: { json: null } } });
    expect(await failing).toContain("it stumbled");
    expect(await next).toEqual({ json: null } as never);
  });
});

test("a client that leaves while its large body waits is neither read nor charged", async () => {
  const world = await World.start();
  const thread = new PatientThread();
  Object.assign(world.gateway, { largeBodies: thread.bodies });
  const [first, second] = [await world.creditCaller(), await world.creditCaller()];
  const body = hello("chat", "gpt-test", { x: "x".repeat(2_000_000) });
  const leaving = new AbortController();
  const staying = world.ask(first, { path: paths.chat, body }).catch(() => null);
  await waitFor(() => thread.given.length === 1, "the thread to be busy");
  const asking = world.ask(second, { path: paths.chat, body, signal: leaving.signal }).catch(() => null);
  await waitFor(() => thread.owners.length === 2, "the other body to wait");
  leaving.abort();
  await asking;
  await waitFor(() => thread.owners[1]?.isOver === true, "the gateway to notice");
  await thread.finish({ failure: { code: "", message: "", stack: "it stumbled" } });
  await staying;
  await waitFor(() => world.observed.length === 2, "both to end");
  expect(world.observed.map(({ outcome }) => outcome)).toContain("cancelled");
  expect(thread.given).toHaveLength(1);
  expect(world.gateway.bodies.takenBytes).toBe(0);
  expect(world.provider.requests).toEqual([]);
  expect(await world.chargesOf(second)).toEqual([]);
  await world[Symbol.asyncDispose]();
});

test("a large text is shared in several turns, wherever its characters are cut", async () => {
  const turns = spyOn(LoopPacer.prototype, "wait");
  for (const text of ["", "x", "é€"].map((start) => start + "🦊".repeat(5_000_000))) {
    turns.mockClear();
    expect(Buffer.from(text).equals(await shareText(text))).toBe(true);
    expect(turns.mock.calls.length).toBeGreaterThanOrEqual(3);
  }
  turns.mockRestore();
  expect(await shareText("")).toHaveLength(0);
});
