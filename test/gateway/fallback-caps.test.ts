import { expect, test } from "bun:test";
import type { CapLimit } from "../../src/store/store.ts";
import { json } from "../support/answers.ts";
import type { SeenRequest } from "../support/provider.ts";
import { onBothStores } from "./on-both-stores.ts";
import { hello, paths, usageOf, wholeAnswer } from "./wire-answers.ts";
import type { Caller, World } from "./world.ts";

/** A call of `big` with 100,000 tokens of output costs 2 credits, one of `small` a thousandth. */
const models = `
[[models]]
id = "big"
provider = "openai"
upstream_model = "big-up"
context_window = 200000
max_output_tokens = 200000
price = { input = 1.0, output = 20.0 }

[[models]]
id = "small"
provider = "openai"
upstream_model = "small-up"
context_window = 200000
max_output_tokens = 200000
price = { input = 0.001, output = 0.02 }
fallbacks = ["big"]

[[models]]
id = "house"
provider = "openai"
upstream_model = "house-up"
context_window = 200000
max_output_tokens = 200000
price = { input = 0.001, output = 0.02 }
fallbacks = ["big", "small"]
`;
const body = (model: string) => hello("chat", model, { max_tokens: 100_000 });
const bigCost = 2;

function failing(...upstreamModels: string[]) {
  return ({ body: sent }: SeenRequest) =>
    upstreamModels.includes(String(sent["model"]))
      ? json({ error: { message: "down", type: "server_error" } }, { status: 500 })
      : wholeAnswer("chat", { text: "Hello", usage: usageOf("chat", 0, 100_000) });
}

async function capped(world: World, caps: readonly CapLimit[]): Promise<Caller> {
  const caller = await world.creditCaller(1_000);
  await world.running.store.setCaps({ keyId: caller.key.id }, caps, Date.now());
  await world.gateway.catchUp();
  return caller;
}

const day = (credits: number, models: string): CapLimit => ({ limit: credits * 1e9, period: "day", models });

async function usedOf(world: World, { key }: Caller): Promise<readonly number[]> {
  await world.settled();
  const [summary] = await world.gateway.accounts.summaries([key.id]);
  return summary?.caps.map(({ used }) => used / 1e9) ?? [];
}

onBothStores(models, (world) => {
  test("an entry names the model that served, and counts in the caps of both", async () => {
    world().provider.script(failing("small-up"));
    const caller = await capped(world(), [day(20, "big"), day(20, "small"), day(20, "house")]);
    const response = await world().ask(caller, { path: paths.chat, body: body("small") });
    expect(response.status).toBe(200);
    const [big = 0, small, house] = await usedOf(world(), caller);
    expect(big).toBeCloseTo(bigCost, 3);
    expect([small, house]).toEqual([big, 0]);
    const entries = await world().running.store.listEntries({ afterId: 0, limit: 9, keyId: caller.key.id });
    expect(entries.at(-1)).toMatchObject({ model: "big", requestedModel: "small" });
    const id = response.headers.get("x-request-id") ?? "";
    const { exchange } = (await world().running.store.reports.exchange(id, null)) ?? {};
    expect(exchange).toMatchObject({ model: "big", labels: { fallbackFrom: "small" } });
  });

  test("the requested model is held for at its own price", async () => {
    const own = await world().heldFor({ path: paths.chat, body: body("small") });
    const dear = await world().heldFor({ path: paths.chat, body: body("big") });
    expect(own * 900).toBeLessThan(dear);
  });

  test("a fallback that a cap denies is passed over for the next, and named", async () => {
    world().provider.script(failing("house-up"));
    const caller = await capped(world(), [day(1, "big")]);
    const response = await world().ask(caller, { path: paths.chat, body: body("house") });
    expect(response.status).toBe(200);
    expect(response.headers.get("x-sluice-model")).toBe("small");
    await world().settled();
    const id = response.headers.get("x-request-id") ?? "";
    const { attempts = [] } = (await world().running.store.reports.exchange(id, null)) ?? {};
    expect(attempts).toHaveLength(2);
    expect(attempts.at(-1)?.denied).toMatchObject([
      { model: "big", message: expect.stringContaining("cap") },
    ]);
    expect(world().provider.requests.map(({ body: sent }) => sent["model"])).toEqual([
      "house-up",
      "small-up",
    ]);
  });

  test("if limits deny all fallbacks, the client gets the error of the model itself", async () => {
    world().provider.script(failing("small-up"));
    const caller = await capped(world(), [day(1, "big")]);
    const response = await world().ask(caller, { path: paths.chat, body: body("small") });
    expect(response.status).toBe(502);
    expect(await response.json()).toMatchObject({ error: { code: "upstream_error" } });
    expect(response.headers.get("x-sluice-model")).toBeNull();
    await world().settled();
    expect(await usedOf(world(), caller)).toEqual([0]);
    expect(new Set(world().provider.requests.map(({ body: sent }) => sent["model"]))).toEqual(
      new Set(["small-up"]),
    );
  });

  test("the balance is asked too before a fallback runs", async () => {
    world().provider.script(failing("small-up"));
    const caller = await world().creditCaller(1);
    const response = await world().ask(caller, { path: paths.chat, body: body("small") });
    expect(response.status).toBe(502);
    expect(await world().chargesOf(caller)).toEqual([]);
  });

  test("a cap on a model holds where it runs as a fallback, however many requests are in flight", async () => {
    world().provider.script(failing("small-up"));
    const caller = await capped(world(), [day(20, "big")]);
    const responses = await Promise.all(
      Array.from({ length: 40 }, () => world().ask(caller, { path: paths.chat, body: body("small") })),
    );
    const served = responses.filter(({ status }) => status === 200);
    expect(served.length).toBeGreaterThan(0);
    expect(served.length).toBeLessThanOrEqual(20 / bigCost);
    for (const response of served) expect(response.headers.get("x-sluice-model")).toBe("big");
    // What the requested model alone would have been answered.
    for (const response of responses.filter((each) => !served.includes(each)))
      expect(response.status).toBe(502);
    const [used = 0] = await usedOf(world(), caller);
    expect(used).toBeLessThanOrEqual(20);
    expect(used).toBeCloseTo(served.length * bigCost, 3);
  });
});
