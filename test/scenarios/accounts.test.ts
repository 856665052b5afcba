import { afterAll, beforeAll, expect, test } from "bun:test";
import type { AccountView } from "../../src/admin/accounts/schema.ts";
import { configFor } from "../support/config.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";
import { ask } from "./traffic.ts";

let provider: ScriptedProvider;
let sluice: Sluice;

beforeAll(async () => {
  provider = startProvider();
  sluice = await startSluice({ config: configFor({ url: provider.url }) });
});
afterAll(async () => {
  await sluice.dispose();
  provider.stop();
});

interface Refused {
  readonly error: { readonly message: string; readonly code: string; readonly details: object };
}

interface Summary {
  readonly credits: Readonly<Record<string, number>>;
  readonly requests: { readonly total: number };
  readonly explanation: string;
}

const account = (...args: string[]) => sluice.cliJson<AccountView>("accounts", "create", ...args);
const keyOf = (label: string, ...args: string[]) =>
  sluice.cliJson<TestKey>("keys", "create", "--account", label, ...args);
const usageOf = async (key: TestKey) =>
  (await (await sluice.request("/v1/usage", { key })).json()) as Summary;

async function chat(key: TestKey): Promise<number> {
  const response = await sluice.request("/v1/chat/completions", { key, body: { ...ask, max_tokens: 100 } });
  await response.text();
  return response.status;
}

test("two keys draw on one balance, and each has figures of its own", async () => {
  await account("--mode", "credit", "--label", "pot", "--credit", "1");
  const [ada, bob] = [await keyOf("pot"), await keyOf("pot")];
  expect([await chat(ada), await chat(ada), await chat(bob)]).toEqual([200, 200, 200]);
  const [hers, his] = [await usageOf(ada), await usageOf(bob)];
  for (const name of ["total_purchased", "balance", "used", "remaining"]) {
    expect(hers.credits[name]).toBe(his.credits[name] ?? Number.NaN);
  }
  expect(hers.credits["total_purchased"]).toBe(1);
  const spent = (hers.credits["lifetime_spend"] ?? 0) + (his.credits["lifetime_spend"] ?? 0);
  expect(spent).toBeCloseTo(hers.credits["used"] ?? 0, 9);
  expect(hers.credits["lifetime_spend"]).toBeCloseTo(2 * (his.credits["lifetime_spend"] ?? 0), 9);
  expect([hers.requests.total, his.requests.total]).toEqual([2, 1]);
  expect(hers.explanation).toContain("account");
});

test("a cap that is used up refuses its key in both formats, names itself, and lets the other key go on", async () => {
  await account("--mode", "credit", "--label", "invoice", "--postpaid");
  const capped = await keyOf("invoice", "--cap", "0.000001/day");
  const free = await keyOf("invoice");
  const tooLittle = await sluice.request("/v1/chat/completions", { key: capped, body: ask });
  expect(tooLittle.status).toBe(402);
  await sluice.cliJson("keys", "update", capped.id, "--cap", "0.0005/day");
  // What the command line changes is known to the gateway within a second.
  await waitFor(async () => (await chat(capped)) === 200, "the gateway to know the higher cap");
  const { credits } = await usageOf(capped);
  await sluice.cliJson("keys", "update", capped.id, "--cap", `${credits["lifetime_spend"]}/day`);
  const isUsedUp = async () =>
    (await sluice.request("/v1/chat/completions", { key: capped, body: ask })).status === 429;
  await waitFor(isUsedUp, "the gateway to know the lower cap");
  for (const [path, body] of [
    ["/v1/chat/completions", ask],
    ["/v1/messages", { ...ask, model: "claude-test", max_tokens: 10 }],
  ] as const) {
    const refused = await sluice.request(path, { key: capped, body });
    expect(refused.status).toBe(429);
    expect(refused.headers.get("x-should-retry")).toBe("false");
    expect(Number(refused.headers.get("retry-after"))).toBeWithin(1, 86_401);
    const { error } = (await refused.json()) as Refused;
    expect(error).toMatchObject({
      code: "limit_reached",
      details: { bound: "key_cap", period: "day", limit: credits["lifetime_spend"] },
    });
    expect(error.details).toHaveProperty("used");
    expect(error.details).toHaveProperty("resets_at");
    expect(error.message).toContain("reached its cap");
  }
  expect(await chat(free)).toBe(200);
  expect((await sluice.cli("ledger", "audit", "--deep")).code).toBe(0);
});

test("a charge of a shared account is there after kill -9, and so is what its caps have used", async () => {
  await account("--mode", "credit", "--label", "crash", "--credit", "1", "--cap", "0.5/month");
  const key = await keyOf("crash");
  expect(await chat(key)).toBe(200);
  const before = await sluice.cliJson<AccountView>("accounts", "show", "crash");
  await sluice.kill9();
  await sluice.restart();
  const after = await sluice.cliJson<AccountView>("accounts", "show", "crash");
  expect(after.credit).toEqual(before.credit);
  expect(after.caps).toEqual(before.caps);
  expect(after.caps[0]?.used).toBeGreaterThan(0);
  expect((await sluice.cli("ledger", "audit", "--deep")).code).toBe(0);
});
