import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import type { ExchangeView } from "../../src/admin/requests/schema.ts";
import { nanoPerCredit } from "../../src/base/money/money.ts";
import { type MeteredCase, meteredCases, meteredModels } from "../gateway/metered/routes.ts";
import { streamedModels, streamedRoutes } from "../gateway/metered/streamed-routes.ts";
import { migratedDatabase } from "../store/postgres/fixtures.ts";
import { sse } from "../support/answers.ts";
import { configFor } from "../support/config.ts";
import { hasPostgres } from "../support/postgres.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { type Sluice, startSluice } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";

/** The money of metered routes, in a program of its own, on both stores. */

let provider: ScriptedProvider;
const databases: AsyncDisposable[] = [];
beforeAll(() => {
  provider = startProvider();
});
afterAll(async () => {
  provider.stop();
  for (const database of databases) await database[Symbol.asyncDispose]();
});

async function start(store: "SQLite" | "PostgreSQL", tail: string): Promise<Sluice> {
  const config = configFor({ url: provider.url, tail });
  if (store === "SQLite") return startSluice({ config });
  const database = await migratedDatabase();
  databases.push(database);
  return startSluice({ config, env: { SLUICE_STORE: database.url } });
}

interface Spent {
  readonly credits: { readonly used: number; readonly reserved: number };
}

/** Of a crowd, by a balance for no more. */
const fewServed = 3;

const rounded = (credits: number) => Number(credits.toFixed(9));

describe.each(hasPostgres ? (["SQLite", "PostgreSQL"] as const) : (["SQLite"] as const))("on %s", (store) => {
  test("every charge is there after a kill right behind its last byte, once, and a repeated request is free", async () => {
    await using sluice = await start(store, meteredModels());
    const key = await sluice.createKey({ mode: "credit", credit: 10 });
    const usage = async () => (await (await sluice.request("/v1/usage", { key })).json()) as Spent;
    const cases = Object.entries(meteredCases);
    const ask = async (name: string, { path, body }: MeteredCase) => {
      const headers = { "idempotency-key": name };
      const response = await sluice.request(path, {
        key,
        body: { model: `${name}-model`, ...body },
        headers,
      });
      expect(response.status, name).toBe(200);
      await response.arrayBuffer();
      return response.headers.get("idempotent-replayed");
    };
    let due = 0;
    for (const [name, route] of cases) {
      provider.script(route.answer);
      await ask(name, route);
      await sluice.kill9();
      await sluice.restart();
      due += route.cost;
      expect((await usage()).credits, name).toMatchObject({ used: expect.closeTo(due, 9), reserved: 0 });
    }
    for (const [name, route] of cases) expect(await ask(name, route)).toBe("true");
    expect((await usage()).credits.used).toBeCloseTo(due, 9);
    expect((await sluice.cli("ledger", "audit")).code).toBe(0);
    const report = await sluice.cliJson<{ data: { group: string }[] }>("usage", "--by", "route");
    const routes = report.data.map(({ group }) => group);
    for (const [, { path }] of cases) expect(routes).toContain(path);
    const listed = await sluice.cliJson<ExchangeView[]>("requests", "list");
    expect(new Set(listed.map(({ units }) => units?.kind))).toContain("images");
  }, 120_000);

  test("every stream's charge is there after a kill right behind its last event", async () => {
    await using sluice = await start(store, streamedModels);
    const key = await sluice.createKey({ mode: "credit", credit: 10 });
    let due = 0;
    for (const [path, use, asked, events, cost] of streamedRoutes) {
      provider.script(sse(events.join("")));
      const body = { model: `${use}-model`, stream: true, ...asked };
      const response = await sluice.request(path, { key, body });
      expect(await response.text(), path).toBe(events.join(""));
      await sluice.kill9();
      await sluice.restart();
      due += cost / nanoPerCredit;
      const { credits } = (await (await sluice.request("/v1/usage", { key })).json()) as Spent;
      expect(credits, path).toMatchObject({ used: expect.closeTo(due, 9), reserved: 0 });
    }
    expect((await sluice.cli("ledger", "audit")).code).toBe(0);
  }, 120_000);

  test("a client that leaves has paid, and no crowd is served beyond a balance", async () => {
    await using sluice = await start(store, meteredModels());
    for (const [name, { path, body, answer, hold: most, countedHold, cost, isCancelled }] of Object.entries(
      meteredCases,
    )) {
      // A file may be longer than what is held for it; and what is free has nothing to be held.
      const hold = countedHold ?? most;
      if (hold === 0 || hold < cost) continue;
      const paid = isCancelled ? 0 : cost;
      const rich = await sluice.createKey({ mode: "credit", credit: rounded(hold * fewServed + paid) });
      const poor = await sluice.createKey({ mode: "credit", credit: rounded(cost / 2) });
      const ask = (signal: AbortSignal | null = null, { key } = rich) =>
        fetch(`${sluice.url}${path}`, {
          method: "POST",
          headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
          body: JSON.stringify({ model: `${name}-model`, ...body }),
          signal,
        });
      const credits = async () =>
        ((await (await sluice.request("/v1/usage", { key: rich })).json()) as Spent).credits;
      const later = () => {
        const answering = Promise.withResolvers<void>();
        provider.script({ ...answer, before: [{ until: answering.promise }] });
        return answering;
      };

      const whenLeft = later();
      const leaving = new AbortController();
      const asked = provider.requests.length;
      expect((await ask(null, poor)).status, name).toBe(402);
      expect(provider.requests, name).toHaveLength(asked);
      const left = ask(leaving.signal).catch(() => "left");
      await waitFor(() => provider.requests.length > asked, `${name} to be asked for`);
      expect((await credits()).reserved, name).toBeCloseTo(hold, 9);
      leaving.abort();
      expect(await left).toBe("left");
      whenLeft.resolve();
      await waitFor(async () => (await credits()).reserved === 0, `${name} to end`);
      expect((await credits()).used, name).toBeCloseTo(paid, 9);

      const whenRefused = later();
      const statuses: number[] = [];
      const crowd = Array.from({ length: 12 }, async () => {
        const response = await ask();
        await response.arrayBuffer();
        statuses.push(response.status);
      });
      await waitFor(() => statuses.length === crowd.length - fewServed, `${name} to be refused`);
      // There would be enough, once others have ended.
      expect(new Set(statuses), name).toEqual(new Set([429]));
      whenRefused.resolve();
      await Promise.all(crowd);
      expect(statuses.slice(-fewServed), name).toEqual(Array.from({ length: fewServed }, () => 200));
      expect(await credits(), name).toMatchObject({
        used: expect.closeTo(paid + fewServed * cost, 9),
        reserved: 0,
      });
    }
    expect((await sluice.cli("ledger", "audit")).code).toBe(0);
  }, 120_000);
});

/** The most that a process has taken, in megabytes. */
function peakOf(pid: number): number {
  const [, kilobytes = "0"] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kilobytes) / 1024;
}

/** Linux counts the peak from now on; returns what is used now. */
function forgetPeak(pid: number): number {
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
  return peakOf(pid);
}

test("a file of 200 MB passes through a gateway that grows by less than 64 MB", async () => {
  const received = Promise.withResolvers<number>();
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    maxRequestBodySize: 1e9,
    async fetch(request) {
      let bytes = 0;
      for await (const chunk of request.body ?? []) bytes += chunk.length;
      received.resolve(bytes);
      return Response.json({ text: "hello", usage: { type: "duration", seconds: 60 } });
    },
  });
  const tail = `
[[models]]
id = "hear"
provider = "local"
serves = ["transcriptions"]
price = { audio_minutes = 0.006 }
`;
  await using sluice = await startSluice({
    config: configFor({ url: `http://127.0.0.1:${server.port}`, tail }),
  });
  const key = await sluice.createKey({ mode: "credit", credit: 10 });
  const before = forgetPeak(sluice.pid);
  const head = '--b\r\ncontent-disposition: form-data; name="file"; filename="long.mp3"\r\n\r\n';
  const end = '\r\n--b\r\ncontent-disposition: form-data; name="model"\r\n\r\nhear\r\n--b--\r\n';
  const megabyte = new Uint8Array(1024 * 1024);
  let sent = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      sent += 1;
      if (sent === 1) controller.enqueue(Buffer.from(head));
      else if (sent <= 201) controller.enqueue(megabyte);
      else {
        controller.enqueue(Buffer.from(end));
        controller.close();
      }
    },
  });
  const response = await fetch(`${sluice.url}/v1/audio/transcriptions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key.key}`, "content-type": "multipart/form-data; boundary=b" },
    body,
  });
  expect(response.status).toBe(200);
  expect(response.headers.get("x-sluice-cost")).toBe("0.006");
  expect(await received.promise).toBeGreaterThan(200 * megabyte.length);
  expect(peakOf(sluice.pid) - before).toBeLessThan(64);
  await server.stop(true);
}, 120_000);
