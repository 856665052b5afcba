import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import type { CapDetailView } from "../../src/admin/caps/schema.ts";
import type { EntryView } from "../../src/admin/requests/schema.ts";
import { isSoak } from "../support/effort.ts";
import { answerFrom } from "../support/fixtures.ts";
import { sharedPostgres } from "../support/postgres.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import type { KeyOptions, RequestOptions, Sluice, TestKey } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";
import { adminToken, type Nodes, startNodes, withPostgres } from "./nodes.ts";

/** What is promised of one gateway holds for four that share a database: nothing is admitted or charged twice. */

interface Summary {
  credits: { balance: number; reserved: number; used: number };
  tokens: { used: number; reserved: number };
}

const racersPerNode = isSoak ? 1_000 : 250;
const path = "/v1/chat/completions";
const body = { model: "gpt-test", messages: [{ role: "user", content: "Hello" }], max_tokens: 1000 };

let provider: ScriptedProvider;
let nodes: Nodes;

withPostgres(() => {
  beforeAll(async () => {
    provider = startProvider();
    nodes = await startNodes(4, sharedPostgres(), provider);
  }, 120_000);
  afterEach(() => provider.reset());
  afterAll(async () => {
    await nodes[Symbol.asyncDispose]();
    provider.stop();
  });

  test("a balance for 10 admits exactly 10 of all who race for it, and charges exactly those", async () => {
    const held = await heldForOne({}, ({ credits }) => credits.reserved);
    const key = await nodes.first.createKey({ credit: Math.round(held * 10 * 1e9) / 1e9 });
    const { charges, after } = await race(key);
    expect(after.credits.reserved).toBe(0);
    expect(sumOf(charges)).toBe(Math.round(after.credits.used * 1e9));
  }, 120_000);

  test("so does a token budget", async () => {
    const mode = { mode: "token_budget", period: "day" } as const;
    const held = await heldForOne(mode, ({ tokens }) => tokens.reserved);
    const key = await nodes.first.createKey({ ...mode, budget: held * 10 });
    const { charges, after } = await race(key);
    expect(after.tokens.reserved).toBe(0);
    expect(sumOf(charges)).toBe(after.tokens.used);
  }, 120_000);

  test("three caps by value that bind each of 1,000 racers admit and charge exactly what they cover", async () => {
    const probe = "u00";
    const sent = (n: number) => ({ ...body, user: `u${10 + (n % 50)}` });
    const held = await heldForOne({}, ({ credits }) => credits.reserved, { ...body, user: probe });
    const owing = { mode: "credit", postpaid: true };
    const accounts = await Promise.all(
      Array.from({ length: 12 }, (_, n) =>
        admin<{ id: string }>("/accounts", { ...owing, label: `racers ${n}` }),
      ),
    );
    const keys = await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        admin<TestKey>("/keys", {
          account: accounts[n % 12]?.id,
          owner: `p${n % 10}`,
          tags: { project: "atlas" },
        }),
      ),
    );
    const times = (count: number) => ({ limit: Math.round(held * count * 1e9) / 1e9, period: "month" });
    // 50 end users could have 150 requests together, and the 10 owners 120.
    const caps = await Promise.all([
      admin<CapDetailView>("/caps", { ...times(3), each: "user", optional: true }),
      admin<CapDetailView>("/caps", { ...times(12), each: "owner" }),
      admin<CapDetailView>("/caps", { ...times(100), tag: "project=atlas" }),
    ]);
    await everywhere((node) => Promise.all(keys.map((key) => known(node, key))));
    const racer = (n: number) => ({ key: keys[n % 40] as TestKey, body: sent(n) });
    await raceFor(100, racer);
    const charges = (await Promise.all(keys.map(chargesOf))).flat();
    expect(charges).toHaveLength(100);
    const used = await Promise.all(
      caps.map(async ({ id }) => {
        const { used_by } = await nodes.first.cliJson<CapDetailView>("caps", "show", id);
        // The other tests' requests name no end user, and count together.
        return used_by.filter(({ value }) => value !== null && value !== probe);
      }),
    );
    for (const values of used)
      expect(values.reduce((sum, value) => sum + Math.round(value.used * 1e9), 0)).toBe(sumOf(charges));
    const perCall = sumOf(charges) / 100;
    const callsOf = (values: CapDetailView["used_by"] = []) =>
      values.map((value) => Math.round(value.used * 1e9) / perCall);
    expect(Math.max(...callsOf(used[0]))).toBeLessThanOrEqual(3);
    expect(Math.max(...callsOf(used[1]))).toBeLessThanOrEqual(12);
    expect(callsOf(used[2])).toEqual([100]);
    for (const { id } of caps) await nodes.first.cliJson("caps", "remove", id, "--yes");
  }, 120_000);

  test("a rate limit is the same for all of them together", async () => {
    const rpm = 600;
    const perMs = rpm / 60_000;
    const key = await nodes.first.createKey({ rpm });
    const startedMs = performance.now();
    await everywhere((node) => known(node, key));
    const firstTakenMs = performance.now();
    let [allowed, unanswered, lastRefusedMs] = [nodes.all.length, 0, 0];
    const callUntilRefused = async (node: Sluice) => {
      for (let status = 0, sentMs = 0; status !== 429 || sentMs < startedMs + 2_000; ) {
        sentMs = performance.now();
        status = (await node.request("/v1/models", { key })).status;
        expect([200, 429, 503]).toContain(status);
        if (status === 200) allowed += 1;
        else if (status === 503) unanswered += 1;
        else lastRefusedMs = Math.max(lastRefusedMs, sentMs);
        if (allowed > 2 * rpm) return;
      }
    };
    await everywhere((node) => Promise.all(Array.from({ length: 4 }, () => callUntilRefused(node))));
    // What came back between two looks at the clock may have been given or not, and so may a token whose reply was lost.
    const most = rpm + (performance.now() - startedMs) * perMs;
    const least = rpm + (lastRefusedMs - firstTakenMs) * perMs;
    expect(allowed).toBeLessThan(most * 1.02);
    expect(allowed + unanswered).toBeGreaterThan(least * 0.98);
  }, 120_000);

  test("so are tokens per minute, and requests in flight", async () => {
    const key = await nodes.first.createKey({ credit: 100, tpm: 6_000 });
    const limited = await nodes.first.createKey({ credit: 100, "max-concurrent": 5 });
    await everywhere((node) => Promise.all([known(node, key), known(node, limited)]));
    const gate = Promise.withResolvers<void>();
    provider.script({ ...answerFrom("chat/text.json"), before: [{ until: gate.promise }] });
    const startedMs = performance.now();
    const rejected: number[] = [];
    const racing = nodes.all.flatMap((node) =>
      Array.from({ length: 10 }, () =>
        [key, limited].map(async (one) => {
          const { status } = await ask(node, path, { key: one, body });
          if (status !== 200) rejected.push(status);
        }),
      ).flat(),
    );
    // A thousand and some tokens each: five requests of 6,000, and one more for every ten seconds that this takes.
    const passing = () => provider.requests.length;
    const total = racing.length;
    await waitFor(() => rejected.length + passing() === total, "all to be decided about", 60_000);
    const most = 10 + (performance.now() - startedMs) / 10_000;
    expect(passing()).toBeGreaterThanOrEqual(10);
    expect(passing()).toBeLessThanOrEqual(most);
    expect(new Set(rejected)).toEqual(new Set([429]));
    gate.resolve();
    await Promise.all(racing);
    // Hardly any were used, so that the bucket is nearly full again.
    provider.script(null);
    expect(await everywhere(async (node) => (await ask(node, path, { key, body })).status)).toEqual([
      200, 200, 200, 200,
    ]);
  }, 120_000);

  test("an Idempotency-Key runs once, wherever it is sent", async () => {
    const names = Array.from({ length: 200 }, (_, index) => `name ${index}`);
    const key = await nodes.first.createKey({ credit: 100 });
    await everywhere((node) => known(node, key));
    const before = provider.requests.length;
    const answers = await Promise.all(
      names.flatMap((name) =>
        nodes.all.map(async (node) => {
          const response = await ask(node, path, { key, body, headers: { "idempotency-key": name } });
          return { name, status: response.status, text: await response.text() };
        }),
      ),
    );
    expect(provider.requests.length - before).toBe(names.length);
    for (const [name, group] of Map.groupBy(answers, (answer) => answer.name)) {
      const statuses = group.map(({ status }) => status);
      const whole = group.filter(({ status }) => status === 200).map(({ text }) => text);
      expect([
        name,
        new Set(whole).size,
        statuses.every((status) => status === 200 || status === 409),
      ]).toEqual([name, 1, true]);
    }
    expect(await chargesOf(key)).toHaveLength(names.length);
  }, 120_000);

  test("who signs in at one of them is signed in at all, and signed out too", async () => {
    const session = "/admin/api/v1/session";
    const isSignedIn = async (node: Sluice, cookie: string) => {
      const response = await node.request(session, { headers: { cookie } });
      return ((await response.json()) as { signed_in: boolean }).signed_in;
    };
    const { url } = nodes.first;
    const signedIn = await nodes.first.request(session, {
      body: { token: adminToken },
      headers: { origin: url },
    });
    const cookie = (signedIn.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
    expect(await everywhere((node) => isSignedIn(node, cookie))).toEqual([true, true, true, true]);
    await nodes.first.request(session, { method: "DELETE", headers: { cookie, origin: url } });
    expect(await everywhere((node) => isSignedIn(node, cookie))).toEqual([false, false, false, false]);
  }, 120_000);

  test("the ledger is consistent, and a key that one of them makes, changes or disables is so for all", async () => {
    const audit = await nodes.first.cliJson<{ ok: boolean }>("ledger", "audit");
    expect(audit.ok).toBe(true);
    const key = await nodes.first.createKey();
    await everywhere((node) => known(node, key));
    await nodes.first.cliJson("keys", "disable", key.prefix);
    await waitFor(async () => {
      const statuses = await everywhere(async (node) => (await node.request(path, { key, body })).status);
      return statuses.every((status) => status === 403);
    }, "every node to refuse the key");
  }, 120_000);
});

function everywhere<Result>(work: (node: Sluice) => Promise<Result>): Promise<Result[]> {
  return Promise.all(nodes.all.map(work));
}

/** On a starved machine the database may not respond for a second, which is a 503: the client retries, as `retry-after` says. */
async function ask(node: Sluice, path: string, options: RequestOptions): Promise<Response> {
  const giveUpAtMs = performance.now() + 60_000;
  for (;;) {
    const response = await node.request(path, options);
    if (response.status !== 503 || performance.now() > giveUpAtMs) return response;
    await response.body?.cancel();
    await Bun.sleep(100);
  }
}

/** A node that does not know a key looks at once, so that one request is enough. */
async function known(node: Sluice, key: TestKey): Promise<void> {
  expect((await ask(node, "/v1/models", { key })).status).toBe(200);
}

async function summaryOf(key: TestKey): Promise<Summary> {
  return (await (await ask(nodes.first, "/v1/usage", { key })).json()) as Summary;
}

async function chargesOf(key: TestKey): Promise<readonly EntryView[]> {
  const { stdout } = await nodes.first.cli("ledger", "export", "--format", "jsonl", "--key", key.prefix);
  const entries = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as EntryView);
  return entries.filter(({ kind }) => kind === "charge");
}

function sumOf(charges: readonly EntryView[]): number {
  return charges.reduce((sum, { amount }) => sum - amount, 0);
}

/** What one request of the race sets aside while it runs. */
async function heldForOne(
  options: KeyOptions,
  read: (summary: Summary) => number,
  sent: object = body,
): Promise<number> {
  const gate = Promise.withResolvers<void>();
  provider.script({ ...answerFrom("chat/text.json"), before: [{ until: gate.promise }] });
  const probe = await nodes.first.createKey(options);
  const probing = ask(nodes.first, path, { key: probe, body: sent });
  await waitFor(() => provider.requests.length === 1, "the probe to be asked");
  const held = read(await summaryOf(probe));
  gate.resolve();
  expect((await probing).status).toBe(200);
  provider.reset();
  return held;
}

/** Calls the admin API of the first node. */
async function admin<Answer>(path: string, sent: object): Promise<Answer> {
  const response = await nodes.first.request(`/admin/api/v1${path}`, {
    headers: { authorization: `Bearer ${adminToken}` },
    body: sent,
  });
  if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
  return (await response.json()) as Answer;
}

/** All at once on every node, with the provider's answers held back until everybody knows whether it was admitted. */
async function raceFor(
  admitted: number,
  racer: (n: number) => { readonly key: TestKey; readonly body: object },
): Promise<void> {
  const gate = Promise.withResolvers<void>();
  provider.script({ ...answerFrom("chat/text.json"), before: [{ until: gate.promise }] });
  const total = racersPerNode * nodes.all.length;
  const refused: number[] = [];
  const giveUpAtMs = performance.now() + 60_000;
  const runRacer = async (node: Sluice, n: number): Promise<number> => {
    for (let wasUnanswered = false; ; await Bun.sleep(100)) {
      const { status } = await node.request(path, racer(n));
      wasUnanswered ||= status === 503;
      // The hold of a racer that gave up is released in a moment, for the racers that still try.
      const mayAskAgain =
        status === 503 || (wasUnanswered && status === 429 && provider.requests.length < admitted);
      if (mayAskAgain && performance.now() < giveUpAtMs) continue;
      if (status !== 200) refused.push(status);
      return status;
    }
  };
  const racing = nodes.all.flatMap((node, place) =>
    Array.from({ length: racersPerNode }, (_, n) => runRacer(node, place * racersPerNode + n)),
  );
  await waitFor(() => refused.length === total - admitted, "all but those admitted to be refused", 90_000);
  expect(provider.requests).toHaveLength(admitted);
  expect(new Set(refused)).toEqual(new Set([429]));
  gate.resolve();
  const statuses = await Promise.all(racing);
  expect(statuses.filter((status) => status === 200)).toHaveLength(admitted);
}

async function race(key: TestKey): Promise<{ charges: readonly EntryView[]; after: Summary }> {
  await raceFor(10, () => ({ key, body }));
  const charges = await chargesOf(key);
  expect(charges).toHaveLength(10);
  return { charges, after: await summaryOf(key) };
}
