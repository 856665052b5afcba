import { describe, expect, test } from "bun:test";
import type { RunningGateway } from "../../src/app/start.ts";
import { systemClock } from "../../src/base/clock.ts";
import { issueKey } from "../../src/keys/issue.ts";
import { temporaryFolder } from "../store/fixtures.ts";
import { clientOf, emptyDatabase } from "../store/postgres/fixtures.ts";
import { hasPostgres, withoutPostgres } from "../support/postgres.ts";
import { SocketClient } from "../support/socket.ts";
import { dataOf, readStream } from "../support/sse.ts";
import { waitFor } from "../support/wait.ts";
import { keyOn, start } from "./demo-gateway.ts";

/** Conversations where several gateways, or one after the other, keep them in one place. */

const on = "[routes]\nconversations = true\n";

interface Answered {
  readonly id: string;
  readonly status: string;
  readonly data: readonly unknown[];
  readonly has_more: boolean;
  readonly error: { readonly code: string } | null;
}

function post(
  { url }: RunningGateway,
  secret: string,
  path: string,
  body: object,
  more: Record<string, string> = {},
): Promise<Response> {
  const headers = { authorization: `Bearer ${secret}`, "content-type": "application/json", ...more };
  return fetch(`${url}/v1/${path}`, { method: "POST", body: JSON.stringify(body), headers });
}

async function ask(
  gateway: RunningGateway,
  secret: string,
  fields: object,
  headers: Record<string, string> = {},
): Promise<Answered> {
  const response = await post(gateway, secret, "responses", { model: "m", ...fields }, headers);
  if (!("stream" in fields)) return (await response.json()) as Answered;
  const events = dataOf(await readStream(response)) as { type: string; response: Answered }[];
  const ended = events.find(({ type }) => type === "response.completed");
  if (ended === undefined) throw new Error("the stream has not ended");
  return ended.response;
}

async function begin(gateway: RunningGateway, secret: string): Promise<string> {
  return ((await (await post(gateway, secret, "conversations", {})).json()) as Answered).id;
}

async function countItems({ url }: RunningGateway, secret: string, id: string): Promise<number> {
  const headers = { authorization: `Bearer ${secret}` };
  const response = await fetch(`${url}/v1/conversations/${id}/items?limit=100`, { headers });
  return ((await response.json()) as Answered).data.length;
}

test("a conversation outlasts a restart on a data folder, also one of megabytes", async () => {
  using folder = temporaryFolder();
  const gateway = await start(folder.dir, "data", on);
  const { secret } = await keyOn(gateway);
  const id = await begin(gateway, secret);
  await ask(gateway, secret, { input: "long ".repeat(200_000), conversation: id });
  await ask(gateway, secret, { input: "Two", conversation: id, stream: true });
  await gateway.stop();
  const again = await start(folder.dir, "data", on);
  expect(await countItems(again, secret, id)).toBe(4);
  expect((await ask(again, secret, { input: "Three", conversation: id })).status).toBe("completed");
  await again.stop();
});

test("a turn that runs when its gateway stops is whole, and the conversation goes on with the next", async () => {
  using folder = temporaryFolder();
  const gateway = await start(folder.dir, "data", on);
  const { key, secret } = await keyOn(gateway);
  const id = await begin(gateway, secret);
  // Created before the turns begin: creating a conversation takes a claim too.
  const others = [await begin(gateway, secret), await begin(gateway, secret)] as const;
  const running = [
    ask(gateway, secret, { input: "sleep 0.3", conversation: others[0] }),
    ask(gateway, secret, { input: "sleep 0.3", conversation: others[1], stream: true }),
    ask(gateway, secret, { input: "sleep 0.3", conversation: id }),
  ];
  await waitFor(() => gateway.gateway.claims.running === 3, "the turns to run");
  const stopping = gateway.stop();
  for (const { status } of await Promise.all(running)) expect(status).toBe("completed");
  await stopping;
  const again = await start(folder.dir, "data", on);
  expect(await countItems(again, secret, id)).toBe(2);
  expect((await ask(again, secret, { input: "fast", conversation: id })).status).toBe("completed");
  const entries = await again.store.listEntries({ afterId: 0, limit: 100, keyId: key.id });
  expect(entries.filter(({ kind }) => kind === "charge")).toHaveLength(4);
  await again.stop();
});

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
else
  describe("on PostgreSQL", () => {
    test("a conversation is shared by all gateways, and changed by one request at a time", async () => {
      await using database = await emptyDatabase();
      using folder = temporaryFolder();
      const store = `${on}[store]\nurl = "${database.url}"\n`;
      const [one, other] = [await start(folder.dir, "one", store), await start(folder.dir, "other", store)];
      const { key, secret } = await keyOn(one);
      await other.gateway.catchUp();
      const id = await begin(one, secret);
      // Each is asked as soon as the one before has answered, on the other gateway: it finds no claim left.
      for (let turn = 0; turn < 12; turn += 1) {
        const gateway = turn % 2 === 0 ? other : one;
        const stream = turn % 4 < 2 ? { stream: true } : {};
        expect(
          (await ask(gateway, secret, { input: `Turn ${turn}`, conversation: id, ...stream })).status,
        ).toBe("completed");
        const items = { items: [{ role: "user", content: `Item ${turn}` }] };
        const added = await post(turn % 2 === 0 ? one : other, secret, `conversations/${id}/items`, items);
        expect(added.status).toBe(200);
      }
      expect(await countItems(one, secret, id)).toBe(36);

      const both = await Promise.all(
        [one, other].map((gateway) => ask(gateway, secret, { input: "sleep 0.5", conversation: id })),
      );
      expect(both.map(({ status, error }) => error?.code ?? status).toSorted()).toEqual([
        "completed",
        "conversation_locked",
      ]);
      expect(await countItems(other, secret, id)).toBe(38);

      // Nor does a refusal leave one.
      const poor = await issueKey(one.store, systemClock, { mode: "credit", creditNano: 0 });
      for (const gateway of [one, other]) await gateway.gateway.catchUp();
      const unpaid = await begin(one, poor.secret);
      for (let turn = 0; turn < 20; turn += 1) {
        const gateway = turn % 2 === 0 ? one : other;
        const once = { "idempotency-key": "once" };
        const { error } = await ask(gateway, poor.secret, { input: "x", conversation: unpaid }, once);
        expect(error?.code).toBe("insufficient_credit");
      }

      // Nor does a client that leaves in the middle, and nothing is added of its turn.
      const left = await SocketClient.open(one.url, secret);
      left.create({ model: "m", conversation: id, input: "say 500 words" });
      await waitFor(() => left.frames.length > 3, "the turn to have begun");
      left[Symbol.dispose]();
      const goesOn = async () =>
        (await ask(other, secret, { input: "fast", conversation: id })).error === null;
      await waitFor(goesOn, "the conversation of a client that has left");
      expect(await countItems(one, secret, id)).toBe(40);

      // Of which the beginning is written ahead, on another connection than the charge.
      for (const gateway of [one, other, one]) {
        await ask(gateway, secret, {
          input: "long ".repeat(60_000),
          conversation: id,
          max_output_tokens: 16,
        });
      }
      expect(await countItems(other, secret, id)).toBe(46);

      // A gateway that is gone keeps no conversation.
      const lost = ask(one, secret, { input: "sleep 60", conversation: id }).catch(() => null);
      const client = clientOf(database.url, { max: 1 });
      const claims = "SELECT FROM responses WHERE route = 'conversation'";
      await waitFor(async () => (await client.query(claims)).length > 0, "the claim of the first gateway");
      expect((await ask(other, secret, { input: "x", conversation: id })).error?.code).toBe(
        "conversation_locked",
      );
      await client.query("SELECT sluice_fence(min(no), max(no)) FROM nodes WHERE dead_at IS NULL");
      await client.close();
      const isFree = async () =>
        (await ask(other, secret, { input: "fast", conversation: id })).error === null;
      await waitFor(isFree, "the conversation of a gateway that is gone");
      await lost;

      expect(await other.store.turns.deleteAll(key.id)).toBeGreaterThan(12);
      expect((await ask(one, secret, { input: "Again", conversation: id })).error?.code).toBe("not_found");
      for (const gateway of [one, other]) await gateway.stop();
    }, 120_000);

    test("a conversation is deleted also when a turn replaces it at that moment", async () => {
      await using database = await emptyDatabase();
      using folder = temporaryFolder();
      const gateway = await start(folder.dir, "one", `${on}[store]\nurl = "${database.url}"\n`);
      const { key, secret } = await keyOn(gateway);
      const client = clientOf(database.url, { max: 1 });
      const { turns } = gateway.store;
      const deletions = [(id: string) => turns.delete(key.id, id, 0), () => turns.deleteAll(key.id)];
      for (const deletion of deletions) {
        const id = await begin(gateway, secret);
        const deleting = await client.transaction(async (query) => {
          await query(replaceAll);
          const deleted = Promise.resolve(deletion(id));
          const isWaiting = async () =>
            (await query("SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'")).length > 0;
          await waitFor(isWaiting, "the deletion to wait");
          return { deleted };
        });
        expect(Number(await deleting.deleted)).toBe(1);
        expect(await turns.find(key.id, id, 0)).toBeNull();
      }
      await client.close();
      await gateway.stop();
    });
  });

/** As a turn does at its end. */
const replaceAll = `
SELECT sluice_keep_turns(json_build_array(json_build_object('key', k.id, 'id', t.id, 'model', '', 'provider', '', 'created', 1,
  'expires', t.expires_at_ms, 'bytes', t.bytes, 'items', '[]'::json, 'parts', 0, 'body', encode(t.body, 'base64'), 'key_bytes', 1000000,
  'replaces', t.no)))
FROM turns t JOIN keys k ON k.no = t.key_no`;
