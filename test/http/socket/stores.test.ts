import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type RunningGateway, startGateway } from "../../../src/app/start.ts";
import { systemClock } from "../../../src/base/clock.ts";
import type { JsonObject } from "../../../src/base/json.ts";
import { nanoPerCredit } from "../../../src/base/money/money.ts";
import { loadSettings } from "../../../src/config/load.ts";
import { issueKey } from "../../../src/keys/issue.ts";
import { temporaryFolder } from "../../store/fixtures.ts";
import { emptyDatabase } from "../../store/postgres/fixtures.ts";
import { hasPostgres, withoutPostgres } from "../../support/postgres.ts";
import { SocketClient } from "../../support/socket.ts";

const demo =
  '[providers.demo]\nkind = "demo"\n[[models]]\nid = "m"\nprovider = "demo"\nprice = { input = 1, output = 1 }\n';

function start(dir: string, store: string): Promise<RunningGateway> {
  const file = join(dir, "sluice.toml");
  writeFileSync(file, store + demo);
  const flags = { port: 0, data: join(dir, "data") };
  return startGateway({
    settings: loadSettings({ file, env: { SLUICE_LOG_LEVEL: "silent" }, flags }).settings,
  });
}

/** Once the terminal frame has come, charge, usage record and stored response are in the store, and outlast the socket. */
async function converse(store: string): Promise<void> {
  using folder = temporaryFolder();
  const gateway = await start(folder.dir, store);
  const spec = { mode: "credit", creditNano: nanoPerCredit } as const;
  const { key, secret } = await issueKey(gateway.store, systemClock, spec);
  await gateway.gateway.catchUp();
  const charges = async () => {
    const entries = await gateway.store.listEntries({ afterId: 0, limit: 100, keyId: key.id });
    return entries.filter(({ kind, outcome }) => kind === "charge" && outcome === "completed").length;
  };
  let last: string | null = null;
  for (let turn = 1; turn <= 2; turn += 1) {
    using socket = await SocketClient.open(gateway.url, secret);
    const fields = { model: "m", input: `Turn ${turn}`, previous_response_id: last };
    const { type, response } = await socket.ask(fields);
    expect([type, await charges()]).toEqual(["response.completed", turn]);
    last = response.id;
  }
  await refuseDeleted(gateway.url, secret);
  await gateway.stop();
  expect(gateway.describeLosses()).toEqual([]);
}

/** Also where the deleted response comes before the one that is continued, which is not stored itself. */
async function refuseDeleted(url: string, secret: string): Promise<void> {
  using socket = await SocketClient.open(url, secret);
  const ask = (fields: JsonObject) => socket.ask({ model: "m", input: "Go on", ...fields });
  const { response: first } = await ask({});
  const { response: second } = await ask({ previous_response_id: first.id, store: false });
  expect(second.status).toBe("completed");
  const headers = { authorization: `Bearer ${secret}` };
  expect((await fetch(`${url}/v1/responses/${first.id}`, { method: "DELETE", headers })).status).toBe(200);
  const { error } = await ask({ previous_response_id: second.id, store: false });
  expect(error?.code).toBe("previous_response_not_found");
}

test("each turn is charged and stored when its last frame comes, and gone once it is deleted, on SQLite", () =>
  converse(""));

if (!hasPostgres) test.skipIf(true)(withoutPostgres, () => {});
else
  test("each turn is charged and stored when its last frame comes, and gone once it is deleted, on PostgreSQL", async () => {
    await using database = await emptyDatabase();
    await converse(`[store]\nurl = "${database.server.url(database.name)}"\n`);
  }, 60_000);
