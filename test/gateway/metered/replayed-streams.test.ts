import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import type { JsonObject } from "../../../src/base/json.ts";
import { sse } from "../../support/answers.ts";
import { waitFor } from "../../support/wait.ts";
import { type Caller, World } from "../world.ts";
import { event, streamedModels, streamedRoutes } from "./streamed-routes.ts";

let world: World;
beforeAll(async () => {
  world = await World.start({ tail: streamedModels });
});
afterEach(() => world.provider.reset());
afterAll(() => world[Symbol.asyncDispose]());

describe.each(streamedRoutes)("a stream of %s", (path, use, asked, events, cost) => {
  const ask = (by: Caller, more: JsonObject = {}, signal?: AbortSignal) =>
    world.ask(by, {
      ...(signal === undefined ? {} : { signal }),
      path,
      body: { model: `${use}-model`, stream: true, ...asked, ...more },
      headers: { "idempotency-key": "once" },
    });
  const charge = { amount: -cost, basis: "measured", outcome: "completed" } as const;

  test("is charged once and repeated for free, byte for byte, to the same request alone", async () => {
    const caller = await world.creditCaller(1);
    world.provider.script(sse(events.join("")));
    const first = await ask(caller);
    expect(first.status).toBe(200);
    const bytes = await first.text();
    expect(bytes).toBe(events.join(""));
    const again = await ask(caller);
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect(await again.text()).toBe(bytes);
    const other = await ask(caller, { user: "another" });
    expect({ status: other.status, retry: other.headers.get("x-should-retry") }).toEqual({
      status: 409,
      retry: "false",
    });
    expect(await other.json()).toMatchObject({ error: { code: "idempotency_conflict" } });
    expect(world.provider.requests).toHaveLength(1);
    expect(await world.chargesOf(caller)).toEqual([charge]);
  });

  const isCancelled = use === "completions";
  const what = isCancelled
    ? "that its client leaves ends there, and its retry runs again"
    : "that its client leaves runs to its end, is charged once, and is kept for its retry";
  test.each([0, 1])(`${what} (%i events read)`, async (read) => {
    const caller = await world.creditCaller(1);
    const { promise, resolve } = Promise.withResolvers<void>();
    const [begin = "", ...rest] = events;
    const more = isCancelled ? { stall: true as const } : { write: rest.join("") };
    const steps = [{ write: begin }, { until: promise }, more];
    world.provider.script([{ ...sse(""), steps }, sse(events.join(""))]);
    const leaving = new AbortController();
    const asked = ask(caller, {}, leaving.signal);
    const request = await world.provider.nextRequest();
    const reader = read === 0 ? null : (await asked).body?.getReader();
    await reader?.read();
    const underWay = () => [...world.gateway.ongoing.exchanges()];
    await waitFor(() => underWay().every(({ taken }) => taken.answer !== null), "the stream to have begun");
    leaving.abort();
    await asked.then((response) => response.body?.cancel()).catch(() => {});
    await waitFor(
      () => underWay().every(({ hasClientDisconnected }) => hasClientDisconnected),
      "the client to have left",
    );
    if (!isCancelled) expect((await ask(caller)).status).toBe(409);
    resolve();
    await request.over;
    const [left, ...others] = await world.chargesOf(caller);
    expect(left).toMatchObject(isCancelled ? { outcome: "cancelled" } : { ...charge, outcome: "cancelled" });
    expect(others).toEqual([]);
    const again = await ask(caller);
    expect(again.headers.get("idempotent-replayed")).toBe(isCancelled ? null : "true");
    expect(await again.text()).toBe(events.join(""));
    expect(world.provider.requests).toHaveLength(isCancelled ? 2 : 1);
    expect(await world.chargesOf(caller)).toHaveLength(isCancelled ? 2 : 1);
  });

  test("that runs is not begun again, and one that has failed is", async () => {
    const caller = await world.creditCaller(1);
    const { promise, resolve } = Promise.withResolvers<void>();
    const [begin = "", ...rest] = events;
    const steps = [{ write: begin }, { until: promise }, { reset: true as const }];
    world.provider.script([{ ...sse(""), steps }, sse(begin + rest.join(""))]);
    const failing = ask(caller);
    await world.provider.nextRequest();
    const meanwhile = await ask(caller);
    expect(meanwhile.status).toBe(409);
    expect(await meanwhile.json()).toMatchObject({ error: { code: "idempotency_in_flight" } });
    resolve();
    await (await failing).text();
    await world.settled();
    expect(await (await ask(caller)).text()).toBe(events.join(""));
    expect(world.provider.requests).toHaveLength(2);
    expect(await world.chargesOf(caller)).toMatchObject([{ outcome: "failed" }, charge]);
  });
});

test("what is kept of a stream that its client has left has its large events, and what follows its end", async () => {
  const caller = await world.creditCaller(1);
  const { promise, resolve } = Promise.withResolvers<void>();
  const begin = event({ type: "image_generation.partial_image", b64_json: "A".repeat(300_000) });
  const end = event({ type: "image_generation.completed", b64_json: "B".repeat(600_000) });
  const done = "data: [DONE]\n\n";
  const steps = [{ write: begin }, { until: promise }, { write: end }, { sleepMs: 10 }, { write: done }];
  world.provider.script({ ...sse(""), steps });
  const leaving = new AbortController();
  const asking = {
    path: "/v1/images/generations",
    body: { model: "images-model", prompt: "a lock", stream: true },
    headers: { "idempotency-key": "large" },
  };
  const response = await world.ask(caller, { ...asking, signal: leaving.signal });
  await response.body?.getReader().read();
  leaving.abort();
  const underWay = () => [...world.gateway.ongoing.exchanges()];
  await waitFor(
    () => underWay().every(({ hasClientDisconnected }) => hasClientDisconnected),
    "the client to have left",
  );
  resolve();
  expect(await world.chargesOf(caller)).toMatchObject([{ amount: -40_000_000, outcome: "cancelled" }]);
  expect(await (await world.ask(caller, asking)).text()).toBe(begin + end + done);
  expect(world.provider.requests).toHaveLength(1);
});

test("what follows the end of a stream is kept, too, where its client leaves before that", async () => {
  const caller = await world.creditCaller(1);
  const { promise, resolve } = Promise.withResolvers<void>();
  const drawn =
    event({ type: "image_generation.partial_image", b64_json: "AAAA", partial_image_index: 0 }) +
    event({ type: "image_generation.completed", b64_json: "BBBB" });
  const done = "data: [DONE]\n\n";
  world.provider.script({ ...sse(""), steps: [{ write: drawn }, { until: promise }, { write: done }] });
  const leaving = new AbortController();
  const asking = {
    path: "/v1/images/generations",
    body: { model: "images-model", prompt: "a lock", stream: true },
    headers: { "idempotency-key": "done" },
  };
  await world.ask(caller, { ...asking, signal: leaving.signal });
  leaving.abort();
  const underWay = () => [...world.gateway.ongoing.exchanges()];
  await waitFor(
    () => underWay().every(({ hasClientDisconnected }) => hasClientDisconnected),
    "the client to have left",
  );
  resolve();
  expect(await world.chargesOf(caller)).toMatchObject([{ amount: -40_000_000, outcome: "completed" }]);
  expect(await (await world.ask(caller, asking)).text()).toBe(drawn + done);
});
