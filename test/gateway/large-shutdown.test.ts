import { describe, expect, spyOn, test } from "bun:test";
import { LargeBodies } from "../../src/gateway/body-worker/body-worker.ts";
import type { JobMessage } from "../../src/gateway/body-worker/job.ts";
import { bytesOf, text as textAnswer } from "../support/answers.ts";
import { waitFor } from "../support/wait.ts";
import { hello, paths, usageOf, wholeAnswer } from "./wire-answers.ts";
import { type Caller, World } from "./world.ts";

const large = { x: "x".repeat(2_000_000) };

/** The body worker, with jobs of one type blocked until the test lets them continue. */
class BusyThread {
  readonly bodies = new LargeBodies(() => this.#start());
  readonly held: JobMessage[] = [];
  readonly #type: string;
  #thread: Worker | null = null;

  constructor(type: string) {
    this.#type = type;
  }

  goOn(): void {
    for (const message of this.held) this.#thread?.postMessage(message);
  }

  #start(): Worker {
    const thread = new Worker(new URL("../../src/gateway/worker.ts", import.meta.url).href);
    this.#thread = thread;
    const post = thread.postMessage.bind(thread);
    thread.postMessage = (message: JobMessage) => {
      const isHeld = message.name === this.#type && !this.held.includes(message);
      if (isHeld) this.held.push(message);
      else post(message);
    };
    return thread;
  }
}

interface Stage {
  readonly world: World;
  readonly thread: BusyThread;
  readonly caller: Caller;
}

async function setUp(type: string): Promise<Stage> {
  const world = await World.start({ head: "[server]\nshutdown_grace = 0" });
  const thread = new BusyThread(type);
  Object.assign(world.gateway, { largeBodies: thread.bodies });
  return { world, thread, caller: await world.creditCaller() };
}

describe("a shutdown whose grace time is over", () => {
  const cases = [
    ["read", "gpt-test", "to be read"],
    ["patch", "gpt-test", "to be patched"],
    ["translate", "claude-test", "to be translated"],
  ] as const;
  for (const [type, model, what] of cases) {
    test(`does not wait for a large request ${what}`, async () => {
      const { world, thread, caller } = await setUp(type);
      const body = hello("chat", model, large);
      const asking = world.ask(caller, { path: paths.chat, body });
      await waitFor(() => thread.held.length === 1, "the thread to be busy");
      await world[Symbol.asyncDispose]();
      const response = await asking;
      expect(response.status).toBe(503);
      expect(await response.json()).toMatchObject({
        error: { code: "service_unavailable", message: expect.stringContaining("shutting down") },
      });
      expect(world.observed).toMatchObject([{ status: 503, charged: 0 }]);
      expect(world.provider.requests).toEqual([]);
      thread.bodies.stop();
    });
  }

  test("still reads a large answer that is there, charges for it and delivers it", async () => {
    const { world, thread, caller } = await setUp("answer");
    const refusing = spyOn(thread.bodies, "rejectRequests");
    const said = { text: "Sluices keep the canal navigable.", usage: usageOf("chat", 100, 20) };
    const answer = Buffer.from(bytesOf(wholeAnswer("chat", said))).toString();
    world.provider.script(textAnswer(`{"x":"${large.x}",${answer.slice(1)}`, "application/json"));
    const asking = world.ask(caller, { path: paths.chat, body: hello("chat", "gpt-test") });
    await waitFor(() => thread.held.length === 1, "the thread to be busy");
    const stopping = world[Symbol.asyncDispose]();
    await waitFor(() => refusing.mock.calls.length === 1, "the grace time to be over");
    thread.goOn();
    const response = await asking;
    expect(response.status).toBe(200);
    expect(await response.text()).toContain(said.text);
    await stopping;
    expect(world.observed).toMatchObject([{ outcome: "completed", basis: "measured", charged: 140_000 }]);
    thread.bodies.stop();
  });
});
