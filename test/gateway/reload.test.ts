import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { type Answer, sse } from "../support/answers.ts";
import { StreamReader } from "../support/sse.ts";
import { waitFor } from "../support/wait.ts";
import { hello, paths, streamEvents, usageOf, wholeAnswer } from "./wire-answers.ts";
import { World } from "./world.ts";

/** What a request began with is what it ends with, whatever is configured meanwhile. */
let world: World;
beforeAll(async () => {
  world = await World.start({ head: "[server]\nheartbeat = 0\nmax_concurrent_per_key = 2\n" });
});
afterEach(async () => {
  world.provider.reset();
  await world.reload((config) => config);
});
afterAll(() => world[Symbol.asyncDispose]());

const text = "Sluices keep the canal navigable.";
const usage = usageOf("chat", 1000, 100);

/** 1000 tokens at 1 and 100 at 2 USD per million, in nano-credits. */
const atTheOldPrice = [{ amount: -1_200_000, basis: "measured", outcome: "completed" } as const];

function dearer(config: string): string {
  return config.replaceAll("input = 1.0, output = 2.0", "input = 1000.0, output = 2000.0");
}

function gate(): { readonly until: Promise<void>; open(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { until: promise, open: resolve };
}

function streamHeldBack(until: Promise<void>): Answer {
  const events = streamEvents("chat", { text, usage });
  return {
    ...sse(""),
    steps: [{ write: events.slice(0, 2).join("") }, { until }, { write: events.slice(2).join("") }],
  };
}

async function restOf(reader: StreamReader): Promise<string> {
  while ((await reader.nextChunk()) !== null);
  return reader.result().text;
}

describe("a reload between hold and settle", () => {
  test("changes neither the price nor the credit's worth of a whole answer", async () => {
    const caller = await world.creditCaller();
    const { until, open } = gate();
    world.provider.script({ ...wholeAnswer("chat", { text, usage }), before: [{ until }] });
    const asking = world.ask(caller, { path: paths.chat, body: hello("chat", "gpt-test") });
    await world.provider.nextRequest();
    await world.reload((config) => `[money]\nusd_per_credit = 2\n${dearer(config)}`);
    open();
    const response = await asking;
    expect(response.status).toBe(200);
    expect(response.headers.get("x-sluice-cost")).toBe("0.0012");
    await response.text();
    expect(await world.chargesOf(caller)).toEqual(atTheOldPrice);
  });

  test("changes neither the price nor the fate of a stream, even if its model is gone", async () => {
    const caller = await world.creditCaller();
    const { until, open } = gate();
    world.provider.script(streamHeldBack(until));
    const asking = world.ask(caller, {
      path: paths.chat,
      body: hello("chat", "gpt-test", { stream: true }),
    });
    const reader = new StreamReader(await asking);
    await reader.until("Sluices");
    await world.reload((config) => dearer(config).replaceAll("gpt-test", "gpt-renamed"));
    open();
    expect(await restOf(reader)).toContain("[DONE]");
    expect(await world.chargesOf(caller)).toEqual(atTheOldPrice);
  });

  test("starts no heartbeats in a stream whose head has not come yet", async () => {
    const caller = await world.creditCaller();
    const head = gate();
    const rest = gate();
    world.provider.script({ ...streamHeldBack(rest.until), before: [{ until: head.until }] });
    const body = hello("chat", "gpt-test", { stream: true });
    const asking = world.ask(caller, { path: paths.chat, body });
    await world.provider.nextRequest();
    await world.reload((config) => config.replace("heartbeat = 0", "heartbeat = 0.1"));
    head.open();
    const reader = new StreamReader(await asking);
    await reader.until("Sluices");
    // A stream of the new configuration shows when the first would have had its heartbeat.
    world.provider.script(streamHeldBack(rest.until));
    const later = new StreamReader(await world.ask(caller, { path: paths.chat, body }));
    await later.until(": keepalive");
    rest.open();
    expect(await restOf(reader)).not.toContain("keepalive");
    await restOf(later);
    expect(await world.chargesOf(caller)).toEqual([...atTheOldPrice, ...atTheOldPrice]);
  });
});

test("a reload while a request is read changes nothing of what is held for it", async () => {
  // Enough for 4096 tokens of output at 2 USD per million, and not at 2000.
  const caller = await world.creditCaller(0.01);
  world.provider.script(wholeAnswer("chat", { text, usage }));
  const { until, open } = gate();
  const bytes = new TextEncoder().encode(JSON.stringify(hello("chat", "gpt-test")));
  const body = new ReadableStream({
    async start(controller) {
      controller.enqueue(bytes.slice(0, 10));
      await until;
      controller.enqueue(bytes.slice(10));
      controller.close();
    },
  });
  const asking = fetch(`${world.running.url}${paths.chat}`, {
    method: "POST",
    headers: { authorization: `Bearer ${caller.secret}` },
    body,
  });
  await waitFor(() => world.gateway.bodies.takenBytes > 0, "the body to be read");
  await world.reload(dearer);
  open();
  const response = await asking;
  expect(response.status).toBe(200);
  await response.text();
  expect(await world.chargesOf(caller)).toEqual(atTheOldPrice);
});
