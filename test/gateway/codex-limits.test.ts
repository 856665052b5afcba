import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { openAiError } from "../support/answers.ts";
import { hello, paths, usageOf, wholeAnswer } from "./wire-answers.ts";
import { type Caller, World } from "./world.ts";

let world: World;
beforeAll(async () => {
  world = await World.start();
});
afterEach(() => world.provider.reset());
afterAll(() => world[Symbol.asyncDispose]());

const codex = { originator: "codex_exec" };

const ask = (caller: Caller, headers: Readonly<Record<string, string>> = {}) =>
  world.ask(caller, { path: paths.responses, body: hello("responses", "gpt-test"), headers });

/** A key whose cap is below what it has spent. */
async function capped(period: "day" | "month"): Promise<Caller> {
  const caller = await world.creditCaller(10);
  world.provider.script(wholeAnswer("responses", { text: "Hello", usage: usageOf("responses", 10, 10) }));
  expect((await ask(caller)).status).toBe(200);
  await world.settled();
  await world.running.store.setCaps(
    { keyId: caller.key.id },
    [{ limit: 1, period, models: null }],
    Date.now(),
  );
  await world.gateway.catchUp();
  return caller;
}

interface LimitError {
  readonly error: {
    readonly type: string;
    readonly code: string;
    readonly message: string;
    readonly resets_at?: number;
    readonly details: { readonly resets_at: string };
  };
}

test("a used-up cap has the type, the time and the words that Codex shows at once", async () => {
  for (const period of ["day", "month"] as const) {
    const response = await ask(await capped(period), codex);
    expect(response.status).toBe(429);
    const { error } = (await response.json()) as LimitError;
    expect(error).toMatchObject({ type: "usage_limit_reached", code: "limit_reached" });
    expect(error.resets_at).toBe(Date.parse(error.details.resets_at) / 1000);
    expect(error.message).toEndWith(".");
    expect(response.headers.get("x-codex-promo-message")).toBe(error.message.slice(0, -1));
    expect(response.headers.get("retry-after")).toMatch(/^\d+$/);
    expect(Number(response.headers.get("retry-after"))).toBeLessThanOrEqual(60);
  }
});

test("other clients are told of it as ever", async () => {
  const caller = await capped("month");
  for (const headers of [{}, { originator: "other" }] as const) {
    const response = await ask(caller, headers);
    const { error } = (await response.json()) as LimitError;
    expect(error).toMatchObject({ type: "quota_error", code: "limit_reached" });
    expect(error).not.toHaveProperty("resets_at");
    expect(response.headers.has("x-codex-promo-message")).toBe(false);
    const left = (Date.parse(error.details.resets_at) - Date.now()) / 1000;
    expect(Math.abs(Number(response.headers.get("retry-after")) - left)).toBeLessThan(60);
  }
});

test("Codex never waits for more than a minute, whatever the provider asks for", async () => {
  const caller = await world.creditCaller(10);
  world.provider.script(openAiError(429, "quota", null, { "retry-after": "7200" }));
  const response = await ask(caller, codex);
  expect([response.status, response.headers.get("retry-after")]).toEqual([503, "60"]);
  expect(Number((await ask(caller)).headers.get("retry-after"))).toBeGreaterThan(60);
});
