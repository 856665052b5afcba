import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Socket } from "bun";
import { newSecret } from "../../src/keys/secret.ts";
import { configFor } from "../support/config.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";

let provider: ScriptedProvider;
let sluice: Sluice;
let key: TestKey;

beforeAll(async () => {
  provider = startProvider();
  const head = '[server]\nanonymous_rpm = 30\ntrusted_proxies = ["127.0.0.1"]';
  sluice = await startSluice({
    config: configFor({ url: provider.url, head }),
    env: { SLUICE_ADMIN_TOKEN: "the-right-admin-token" },
  });
  key = await sluice.createKey();
});
afterAll(async () => {
  await sluice.dispose();
  provider.stop();
});

const ask = { model: "gpt-test", messages: [{ role: "user", content: "Hello" }] };

async function guess(from: string, headers: Record<string, string> = {}): Promise<number> {
  const response = await sluice.request("/v1/chat/completions", {
    body: ask,
    headers: { authorization: `Bearer ${newSecret()}`, "x-forwarded-for": from, ...headers },
  });
  await response.text();
  return response.status;
}

test("guessing keys is slowed by address, while right keys from there and others elsewhere go on", async () => {
  const statuses = await Promise.all(Array.from({ length: 60 }, () => guess("203.0.113.7")));
  expect(statuses.filter((status) => status === 401).length).toBeLessThanOrEqual(31);
  expect(statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(29);
  const slowed = await sluice.request("/v1/usage", {
    headers: { authorization: `Bearer ${newSecret()}`, "x-forwarded-for": "203.0.113.7" },
  });
  expect(slowed.status).toBe(429);
  expect(Number(slowed.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
  const right = await sluice.request("/v1/chat/completions", {
    key,
    body: ask,
    headers: { "x-forwarded-for": "203.0.113.7" },
  });
  expect(right.status).toBe(200);
  expect(await guess("203.0.113.8")).toBe(401);
  // The left of the header is whatever the guesser wrote: changing it is no new address.
  expect(await guess("198.51.100.1, 203.0.113.7")).toBe(429);
});

test("whoever sends no valid key is logged by address, and nobody else is", async () => {
  expect(await guess("203.0.113.77")).toBe(401);
  const named = await sluice.request("/v1/usage", { key, headers: { "x-forwarded-for": "203.0.113.78" } });
  expect(named.status).toBe(200);
  const lines = () => sluice.output.split("\n").filter((line) => line.includes('"msg":"request"'));
  const id = named.headers.get("x-request-id") ?? "";
  await waitFor(() => lines().some((line) => line.includes(id)), "the log");
  const refused = lines().find((line) => line.includes("203.0.113.77"));
  expect(JSON.parse(refused ?? "{}")).toMatchObject({ key: null, status: 401, address: "203.0.113.77" });
  expect(lines().find((line) => line.includes(id))).not.toContain("address");
});

test("guesses cost no look at the database, and nothing tells a near guess from a far one", async () => {
  const near = key.key.slice(0, -1) + (key.key.endsWith("0") ? "1" : "0");
  const answers: unknown[] = [];
  for (const presented of [near, "x", newSecret(), `${key.key}x`, key.prefix]) {
    const response = await sluice.request("/v1/usage", {
      headers: { authorization: `Bearer ${presented}`, "x-forwarded-for": "203.0.113.99" },
    });
    expect(response.status).toBe(401);
    const { error } = (await response.json()) as { error: Record<string, unknown> };
    answers.push({ ...error, request_id: null });
  }
  for (const answer of answers) expect(answer).toEqual(answers[0]);
});

test("guessing the admin token is slowed by address, and never keeps the right one out", async () => {
  const attempt = (token: string, from: string) =>
    sluice.request("/admin/api/v1/config", {
      headers: { authorization: `Bearer ${token}`, "x-forwarded-for": from },
    });
  for (let tried = 0; tried < 5; tried += 1)
    expect((await attempt("wrong", "203.0.113.20")).status).toBe(401);
  const slowed = await attempt("wrong", "203.0.113.20");
  expect(slowed.status).toBe(429);
  expect(Number(slowed.headers.get("retry-after"))).toBeGreaterThan(0);
  expect((await attempt("the-right-admin-token", "203.0.113.20")).status).toBe(200);
  expect((await attempt("wrong", "203.0.113.21")).status).toBe(401);
});

/** Bun cuts a header phase at 12 s and an idle body at the server's 30 s, which is waited for once. */
if (process.env["SLUICE_TEST_TARGET"] === "executable") {
  test("slow headers and slow bodies are cut by the server, and hold nothing open", cutsSlowClients, 60_000);
}

async function cutsSlowClients(): Promise<void> {
  const head = `POST /v1/chat/completions HTTP/1.1\r\nHost: a.b\r\nAuthorization: Bearer ${key.key}\r\n`;
  const slow = await Promise.all([
    dripping(head, "X-Slow: 1\r\n".repeat(1000)),
    silentAfter(`${head}Content-Length: 1000\r\n\r\n{"model":`),
    silentAfter(`${head}Transfer-Encoding: chunked\r\n\r\n5\r\n{"mod\r\n`),
    silentAfter("POST /v1/cha"),
    silentAfter(""),
  ]);
  const usage = (await (await sluice.request("/v1/usage", { key })).json()) as {
    credits: { reserved: number };
  };
  expect(usage.credits.reserved).toBe(0);
  for (const [index, connection] of slow.entries()) {
    await waitFor(() => connection.closed, `slow connection ${index} to be cut`, 45_000);
  }
}

interface Watched {
  closed: boolean;
}

async function silentAfter(bytes: string): Promise<Watched> {
  const { watched, socket } = await connect();
  socket.write(bytes);
  return watched;
}

/** Byte by byte, so that the connection is never idle. */
async function dripping(bytes: string, rest: string): Promise<Watched> {
  const { watched, socket } = await connect();
  socket.write(bytes);
  void (async () => {
    for (const byte of rest) {
      if (watched.closed) return;
      socket.write(byte);
      await Bun.sleep(100);
    }
  })();
  return watched;
}

async function connect(): Promise<{ watched: Watched; socket: Socket }> {
  const watched = { closed: false };
  const { hostname, port } = new URL(sluice.url);
  const close = () => {
    watched.closed = true;
  };
  const socket = await Bun.connect({
    hostname,
    port: Number(port),
    socket: { data() {}, close, error: close, end: close },
  });
  return { watched, socket };
}
