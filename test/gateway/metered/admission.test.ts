import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { createKey } from "../../../src/admin/keys/create-key.ts";
import { systemClock } from "../../../src/base/clock.ts";
import { GatewayError } from "../../../src/base/errors.ts";
import { nanoPerCredit } from "../../../src/base/money/money.ts";
import { json } from "../../support/answers.ts";
import { usageRecords } from "../../support/usage.ts";
import { type Caller, World } from "../world.ts";
import { type MeteredCase, meteredCases, meteredModels } from "./routes.ts";

const unpriced = Object.entries(meteredCases)
  .map(
    ([name, { use = name }]) => `
[[models]]
id = "${name}-unpriced"
provider = "openai"
serves = ["${use}"]
`,
  )
  .join("\n");

let world: World;
beforeAll(async () => {
  world = await World.start({ tail: `${meteredModels()}\n${unpriced}` });
});
afterEach(() => world.provider.reset());
afterAll(() => world[Symbol.asyncDispose]());

/** A key for one model, or for one provider. */
async function limited(limits: { models?: readonly string[]; scope?: string }): Promise<Caller> {
  const spec = { mode: "credit", creditNano: nanoPerCredit, ...limits } as const;
  const issued = await createKey({ store: world.running.store, clock: systemClock }, spec);
  await world.gateway.catchUp();
  return issued;
}

describe.each(Object.entries(meteredCases))("%s", (name, route: MeteredCase) => {
  const ask = (by: Caller, model: string) =>
    world.ask(by, { path: route.path, body: { model, ...route.body } });

  async function expectRefusal(response: Response): Promise<void> {
    expect([response.status, (await response.json()) as object]).toMatchObject([
      403,
      { error: { code: "key_disabled", param: "model" } },
    ]);
    expect(world.provider.requests).toHaveLength(0);
  }

  test("are rejected for a key whose models do not include it, by its id and its alias", async () => {
    const other = await limited({ models: ["gpt-test"] });
    await expectRefusal(await ask(other, `${name}-model`));
    await expectRefusal(await ask(other, `${name}-alias`));
    world.provider.script(route.answer);
    const own = await limited({ models: [`${name}-model`] });
    expect((await ask(own, `${name}-model`)).status).toBe(200);
  });

  test("are rejected for a key of a provider that does not serve the model", async () => {
    await expectRefusal(await ask(await limited({ scope: "anthropic" }), `${name}-model`));
  });

  test("without a price are rejected for keys with credits, unless the route is free", async () => {
    const caller = await world.creditCaller(1);
    if (route.cost > 0) return expectRefusal(await ask(caller, `${name}-unpriced`));
    world.provider.script(route.answer);
    expect((await ask(caller, `${name}-unpriced`)).status).toBe(200);
  });

  test("that end while they are held for are sent to no provider, and cost nothing", async () => {
    const caller = await world.creditCaller(1);
    const { accounts, ongoing } = world.gateway;
    const hold = accounts.hold.bind(accounts);
    accounts.hold = async (wanted) => {
      const held = await hold(wanted);
      for (const exchange of ongoing.exchanges())
        exchange.end(new GatewayError("service_unavailable", "Going down."));
      return held;
    };
    try {
      expect((await ask(caller, `${name}-model`)).status).toBe(503);
    } finally {
      accounts.hold = hold;
    }
    expect(world.provider.requests).toHaveLength(0);
    expect(await world.chargesOf(caller)).toEqual([]);
  });
});

test("a failure that reports its usage is charged once, is not tried elsewhere, and is in the reports", async () => {
  const caller = await world.creditCaller(1);
  const usage = { prompt_tokens: 30, completion_tokens: 4, total_tokens: 34 };
  world.provider.script(json({ error: { message: "out of memory", type: "server_error" }, usage }));
  const body = { model: "completions-model", prompt: "x" };
  const response = await world.ask(caller, { path: "/v1/completions", body });
  expect(response.status).toBe(502);
  expect(world.provider.requests).toHaveLength(1);
  expect(await world.chargesOf(caller)).toEqual([{ amount: -38_000, basis: "measured", outcome: "failed" }]);
  expect(await usageRecords(world.running.store, { keyId: caller.key.id })).toMatchObject([
    { outcome: "failed", usage: { inputTokens: 30, outputTokens: 4 } },
  ]);
  expect(world.observed.at(-1)).toMatchObject({ outcome: "failed", errorCode: "upstream_error" });
});

test.each([
  ["images", { background: "transparent" }],
  ["speech", { speed: 1.5 }],
] as const)("fields of %s that a generation is charged for are the route's own: %j", async (name, fields) => {
  const { path, body, answer, cost } = meteredCases[name] as MeteredCase;
  world.provider.script(answer);
  const asked = { model: `${name}-model`, ...body, ...fields };
  const response = await world.ask(await world.creditCaller(1), { path, body: asked });
  expect(response.status).toBe(200);
  expect(Number(response.headers.get("x-sluice-cost"))).toBe(cost);
  expect(world.provider.requests[0]?.body).toMatchObject(fields);
});
