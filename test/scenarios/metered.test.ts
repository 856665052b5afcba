import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { meteredCases, meteredModels } from "../gateway/metered/routes.ts";
import { migratedDatabase } from "../store/postgres/fixtures.ts";
import { json } from "../support/answers.ts";
import { configFor } from "../support/config.ts";
import { hasPostgres } from "../support/postgres.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { type Sluice, startSluice } from "../support/sluice.ts";

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

async function start(store: "SQLite" | "PostgreSQL"): Promise<Sluice> {
  const config = configFor({ url: provider.url, tail: meteredModels() });
  if (store === "SQLite") return startSluice({ config });
  const database = await migratedDatabase();
  databases.push(database);
  return startSluice({ config, env: { SLUICE_STORE: database.url } });
}

interface Spent {
  readonly credits: { readonly used: number; readonly reserved: number };
}

describe.each(hasPostgres ? (["SQLite", "PostgreSQL"] as const) : (["SQLite"] as const))("on %s", (store) => {
  test("every charge is there after a kill right behind the last byte, once, and a repeated request is free", async () => {
    await using sluice = await start(store);
    const key = await sluice.createKey({ mode: "credit", credit: 10 });
    const usage = async () => (await (await sluice.request("/v1/usage", { key })).json()) as Spent;
    const names = Object.keys(meteredCases);
    const ask = (name: string) => {
      const { path = "", body = {} } = meteredCases[name] ?? {};
      const headers = { "idempotency-key": name };
      return sluice.request(path, { key, body: { model: `${name}-model`, ...body }, headers });
    };
    let due = 0;
    for (const [place, name] of names.entries()) {
      const { answer = json({}), cost = 0 } = meteredCases[name] ?? {};
      provider.script(answer);
      const response = await ask(name);
      expect(response.status).toBe(200);
      await response.arrayBuffer();
      due += cost;
      // One kill behind each kind of charge would take minutes: the last byte of any is like that of all others.
      if (place === 0 || place === names.length - 1) {
        await sluice.kill9();
        await sluice.restart();
      }
    }
    const { credits } = await usage();
    expect(credits.used).toBeCloseTo(due, 9);
    expect(credits.reserved).toBe(0);
    for (const name of names) {
      const again = await ask(name);
      expect(again.headers.get("idempotent-replayed")).toBe("true");
    }
    expect((await usage()).credits.used).toBeCloseTo(due, 9);
    const audit = await sluice.cli("ledger", "audit");
    expect(audit.code).toBe(0);
    const report = await sluice.cliJson<{ data: { group: string }[] }>("usage", "--by", "route");
    const routes = report.data.map(({ group }) => group);
    for (const { path } of Object.values(meteredCases)) expect(routes).toContain(path);
  }, 120_000);
});

/** The most that a process has taken, in megabytes. */
function peakOf(pid: number): number {
  const [, kilobytes = "0"] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kilobytes) / 1024;
}

test("a file of 200 MB passes through a gateway that never has it in memory", async () => {
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
  const before = peakOf(sluice.pid);
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
