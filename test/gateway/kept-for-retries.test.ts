import { expect, test } from "bun:test";
import type { RunningGateway } from "../../src/app/start.ts";
import { temporaryFolder } from "../store/fixtures.ts";
import { emptyDatabase } from "../store/postgres/fixtures.ts";
import { hasPostgres, withoutPostgres } from "../support/postgres.ts";
import { keyOn, start } from "./demo-gateway.ts";

/** What a key may keep of responses to requests with an Idempotency-Key. */

const limit = "[retention]\nresponse_bytes_per_key = 4000\n";

function ask(
  { url }: RunningGateway,
  secret: string,
  idempotencyKey: string,
  text = "Hi",
): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    body: JSON.stringify({ model: "m", messages: [{ role: "user", content: text }] }),
    headers: {
      authorization: `Bearer ${secret}`,
      "content-type": "application/json",
      "idempotency-key": idempotencyKey,
    },
  });
}

async function fillsUp(gateway: RunningGateway): Promise<void> {
  const { key, secret } = await keyOn(gateway);
  const seen: (string | null)[] = [];
  const sizes: number[] = [];
  while (!seen.includes("not-kept") && seen.length < 20) {
    const response = await ask(gateway, secret, `request ${seen.length}`);
    expect(response.status).toBe(200);
    sizes.push((await response.bytes()).length);
    seen.push(response.headers.get("x-sluice-idempotency"));
  }
  const kept = seen.length - 1;
  expect(seen).toEqual([...Array.from({ length: kept }, () => null), "not-kept"]);
  const keptBytes = sizes.slice(0, kept).reduce((sum, bytes) => sum + bytes, 0);
  expect(keptBytes).toBeLessThanOrEqual(2000);
  expect(keptBytes + (sizes[kept] ?? 0)).toBeGreaterThan(2000);
  expect(await gateway.store.retryBytes(key.id)).toBe(keptBytes);
  const first = await ask(gateway, secret, "request 0");
  expect(first.headers.get("idempotent-replayed")).toBe("true");
  const retried = await ask(gateway, secret, `request ${kept}`);
  expect(retried.status).toBe(409);
  expect(await retried.json()).toMatchObject({ error: { code: "idempotency_conflict" } });
  const { secret: others } = await keyOn(gateway);
  expect((await ask(gateway, others, "request 0")).headers.get("x-sluice-idempotency")).toBeNull();
}

test("a response that a key has no room for is answered, says so, and its retry is 409", async () => {
  using folder = temporaryFolder();
  const gateway = await start(folder.dir, "data", limit);
  await fillsUp(gateway);
  await gateway.stop();
});

test.skipIf(!hasPostgres)(
  hasPostgres ? "the same on PostgreSQL, where a second gateway counts it too" : withoutPostgres,
  async () => {
    await using database = await emptyDatabase();
    using folder = temporaryFolder();
    const store = `[store]\nurl = "${database.server.url(database.name)}"\n${limit}`;
    const gateway = await start(folder.dir, "one", store);
    await fillsUp(gateway);
    const other = await start(folder.dir, "other", store);
    const { key, secret } = await keyOn(gateway);
    while ((await ask(gateway, secret, crypto.randomUUID())).headers.get("x-sluice-idempotency") === null);
    await other.gateway.catchUp();
    const response = await ask(other, secret, "at the other");
    expect(response.headers.get("x-sluice-idempotency")).toBe("not-kept");
    expect(other.gateway.claims.keptBytes(key.id)).toBeGreaterThan(1000);
    for (const each of [gateway, other]) await each.stop();
  },
  60_000,
);
