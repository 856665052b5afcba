import { beforeEach, expect, test } from "bun:test";
import { systemClock } from "../../../src/base/clock.ts";
import { openAiError } from "../../support/answers.ts";
import { usualResponse } from "../../support/fixtures.ts";
import { waitFor } from "../../support/wait.ts";
import { onBothStores } from "../on-both-stores.ts";
import type { Caller, World } from "../world.ts";
import { BatchClient, chatLines } from "./batch-world.ts";

const tail = `
[[models]]
id = "slots"
price = { input = 1.0, output = 2.0 }
[[models.deployments]]
provider = "openai"
upstream_model = "slots-upstream"
max_concurrent = 4
`;

onBothStores(tail, (place) => {
  let world: World;
  let caller: Caller;
  let client: BatchClient;
  beforeEach(async () => {
    world = place();
    caller = await world.creditCaller();
    client = BatchClient.of(world, caller);
  });

  const [line] = chatLines(1);
  const ask = (asking: Caller, model = "gpt-test") =>
    world.ask(asking, { path: "/v1/chat/completions", body: { ...line?.body, model } });
  /** Responses wait until they are let go, except for models that are `free`. */
  const gated = (free: (model: unknown) => boolean = () => false) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    world.provider.script((request) => ({
      ...usualResponse(request),
      before: free(request.body["model"]) ? [] : [{ until: promise }],
    }));
    return resolve;
  };
  const asked = (count: number) =>
    waitFor(() => world.provider.requests.length >= count, `${count} requests to arrive`);

  test("lines do not count toward a key's concurrent requests, and do not wait for them", async () => {
    caller = await world.creditCaller(10, { maxConcurrent: 1 });
    client = BatchClient.of(world, caller);
    const letGo = gated();
    const { id } = await client.create(chatLines(6));
    await asked(6);
    const interactive = ask(caller);
    await asked(7);
    expect((await ask(caller)).status).toBe(429);
    letGo();
    expect((await interactive).status).toBe(200);
    expect((await client.untilEnded(id)).request_counts.completed).toBe(6);
    expect((await ask(caller)).status).toBe(200);
  });

  test("lines start one by one while a client's own call is under way, and for a second afterwards", async () => {
    const letGo = gated((model) => model !== "slots-upstream");
    const call = ask(caller, "slots");
    await asked(1);
    const startedAtMs = performance.now();
    const { id } = await client.create(chatLines(40));
    expect((await client.untilEnded(id)).request_counts.completed).toBe(40);
    expect(performance.now() - startedAtMs).toBeGreaterThan(380);
    letGo();
    expect((await call).status).toBe(200);
    const { ongoing } = world.gateway;
    expect(ongoing.hasClients).toBe(true);
    await waitFor(() => !ongoing.hasClients, "a second without calls");
    const letLinesGo = gated();
    const alone = await client.create(chatLines(1));
    await asked(42);
    expect(ongoing.hasClients).toBe(false);
    letLinesGo();
    await client.untilEnded(alone.id);
  });

  test("lines wait for tokens per minute instead of failing, and other keys' lines go on", async () => {
    const limited = await world.creditCaller(10, { tpmLimits: [{ limit: 60, models: null }] });
    const { id } = await BatchClient.of(world, limited).create(chatLines(5));
    const ended = await client.untilEnded((await client.create(chatLines(12))).id);
    expect(ended.request_counts.completed).toBe(12);
    const waiting = await BatchClient.of(world, limited).get(id);
    expect(waiting.request_counts.completed).toBeLessThan(5);
    expect(waiting.request_counts.failed).toBe(0);
    await BatchClient.of(world, limited).call("POST", `/batches/${id}/cancel`);
  });

  test("no line starts where more than half of a deployment's slots are taken", async () => {
    const letGo = gated((model) => model !== "slots-upstream");
    const calls = [1, 2, 3].map(() => ask(caller, "slots"));
    await asked(3);
    const { id } = await client.create([...chatLines(3, { model: "slots" }), ...chatLines(3)].map(numbered));
    await client.until(id, ({ request_counts: { completed } }) => completed === 3);
    await Bun.sleep(300);
    expect(world.provider.requests.filter(({ body }) => body["model"] === "slots-upstream")).toHaveLength(3);
    letGo();
    for (const call of calls) expect((await call).status).toBe(200);
    expect((await client.untilEnded(id)).request_counts.completed).toBe(6);
  });

  test("lines take at most half of a deployment's slots", async () => {
    const letGo = gated();
    const { id } = await client.create(chatLines(6, { model: "slots" }));
    await asked(2);
    await Bun.sleep(300);
    expect(world.provider.requests).toHaveLength(2);
    letGo();
    expect((await client.untilEnded(id)).request_counts.completed).toBe(6);
  });

  test("a deployment that is busy holds back its own lines only", async () => {
    let isBusy = true;
    world.provider.script((request) =>
      request.body["model"] === "gpt-upstream" && isBusy
        ? openAiError(429, "Slow down.", null, { "retry-after": "2" })
        : usualResponse(request),
    );
    const lines = [...chatLines(10), ...chatLines(20, { model: "local-test" })].map(numbered);
    const { id } = await client.create(lines);
    await client.until(id, ({ request_counts: { completed } }) => completed === 20);
    isBusy = false;
    const ended = await client.untilEnded(id);
    expect(ended.request_counts).toEqual({ total: 30, completed: 30, failed: 0 });
    const busy = world.provider.requests.filter(({ body }) => body["model"] === "gpt-upstream");
    expect(busy.length).toBeLessThan(10 + 9);
    expect(await world.chargesOf(caller)).toHaveLength(30);
  }, 60_000);

  test("a clock that jumps neither expires a batch nor extends it", async () => {
    const clock = (jumpMs: number) => ({ ...systemClock, wallMs: () => Date.now() + jumpMs });
    try {
      const letGo = gated();
      const ahead = await client.create(chatLines(10, other));
      await asked(8);
      Object.assign(world.gateway, { clock: clock(3 * 86_400_000) });
      world.gateway.batches.wake();
      await Bun.sleep(300);
      letGo();
      expect((await client.untilEnded(ahead.id)).request_counts.completed).toBe(10);
      Object.assign(world.gateway, { clock: systemClock });
      await world.reload((config) => `[batches]\nwindow = "2s"\n${config}`);
      const letGoLater = gated();
      const behind = await client.create(chatLines(10, other));
      await asked(18);
      Object.assign(world.gateway, { clock: clock(-3 * 86_400_000) });
      await Bun.sleep(2100);
      letGoLater();
      expect((await client.untilEnded(behind.id)).status).toBe("expired");
    } finally {
      Object.assign(world.gateway, { clock: systemClock });
      await world.reload((config) => config);
    }
  }, 60_000);

  test("a top-up that comes while a line is being denied wakes the batch", async () => {
    const { batches } = world.running.store;
    const { wait } = batches;
    caller = await world.creditCaller(0.00001);
    client = BatchClient.of(world, caller);
    const topUp = { keyId: caller.key.id, amountNano: 1_000_000_000, reference: null, note: null };
    Object.assign(batches, {
      wait: async (...waiting: Parameters<typeof wait>) => {
        Object.assign(batches, { wait });
        await world.running.store.recordTopUp({ ...topUp, atMs: Date.now() });
        await world.gateway.catchUp();
        return wait(...waiting);
      },
    });
    const { id } = await client.create(chatLines(3, other));
    const startedMs = performance.now();
    expect((await client.untilEnded(id)).request_counts.completed).toBe(3);
    expect(performance.now() - startedMs).toBeLessThan(20_000);
  });
});

/** A deployment that no test has slowed down. */
const other = { model: "claude-test" };

const numbered = <Numbered extends object>(line: Numbered, place: number) => ({
  ...line,
  custom_id: `line-${place}`,
});
