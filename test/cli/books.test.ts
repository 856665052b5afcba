import { Database } from "bun:sqlite";
import { beforeAll, describe, expect, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../src/base/clock.ts";
import { ownAccountId } from "../../src/base/own-account.ts";
import { openStore } from "../../src/store/open.ts";
import { nanoRates } from "../support/rates.ts";
import { type KeyJson, newPlace, type Place, sluice, sluiceJson } from "./fixtures.ts";

/** Charges as a gateway writes them, so that the commands have something to tell. */
async function charge(place: Place, keyId: string, model: string, exchanges: number): Promise<void> {
  const dir = join(place.folder, "sluice-data");
  const store = await openStore({ dir, clock: systemClock, role: "gateway" });
  const atMs = Date.now();
  for (let index = 0; index < exchanges; index += 1) {
    const exchangeId = `exc_${model}_${index}`;
    await store.commit([
      {
        kind: "settle",
        holdId: `hold_${exchangeId}`,
        hasRow: false,
        charge: {
          keyId,
          accountId: ownAccountId(keyId),
          exchangeId,
          atMs,
          periodStartMs: 0,
          countedAtMs: atMs,
          charged: 250_000_000,
          owed: 0,
          overrun: 0,
          basis: "measured",
          outcome: "completed",
          model,
          requestedModel: null,
          labels: null,
          provider: "demo",
          rates: nanoRates,
          quantities: { output: 250_000_000 },
          listCostNano: null,
        },
        record: {
          exchangeId,
          keyId,
          atMs,
          route: "/v1/chat/completions",
          model,
          provider: "demo",
          upstreamModel: model,
          stream: true,
          outcome: "completed",
          status: 200,
          usage: {
            inputTokens: 10,
            cachedInputTokens: 5,
            cacheWriteTokens: 0,
            outputTokens: 20,
            reasoningTokens: 0,
          },
          basis: "measured",
          costNano: 250_000_000,
          firstByteMs: 40,
          totalMs: 100,
          attempts: 1,
        },
        response: null,
        outcomeRecord: null,
      },
    ]);
  }
  await store.close();
}

const place = newPlace();
let key: KeyJson;

beforeAll(async () => {
  key = await sluiceJson(
    place,
    "keys",
    "create",
    "--mode",
    "credit",
    "--credit",
    "5",
    "--label",
    "=alice, once",
  );
  await sluiceJson(place, "keys", "topup", key.prefix, "1", "--note", '=HYPERLINK("x")');
  await charge(place, key.id, "demo-small", 2);
  await charge(place, key.id, "demo-large", 1);
});

describe("usage", () => {
  interface Report {
    readonly by: string;
    readonly data: readonly {
      readonly group: string;
      readonly recorded_requests: number;
      readonly spend: number;
    }[];
    readonly total: {
      readonly recorded_requests: number;
      readonly spend: number;
      readonly output_tokens: number;
    };
  }

  test("adds up by day, by model and by key, the dearest first", async () => {
    const byModel = await sluiceJson<Report>(place, "usage", "--by", "model");
    expect(byModel.data).toMatchObject([
      { group: "demo-small", recorded_requests: 2, spend: 0.5 },
      { group: "demo-large", recorded_requests: 1, spend: 0.25 },
    ]);
    expect(byModel.total).toMatchObject({ recorded_requests: 3, spend: 0.75, output_tokens: 60 });
    for (const since of ["1d", "yesterday", new Date().toISOString().slice(0, 4).concat("-01")]) {
      const byDay = await sluiceJson<Report>(place, "usage", "--since", since);
      expect(byDay).toMatchObject({ by: "day", total: { recorded_requests: 3 } });
    }
  });

  test("ends before a time, so that a month that is over can be billed", async () => {
    const month = ["--since", "2020-10-01", "--until", "2020-11-01"];
    const report = await sluiceJson<Report>(place, "usage", "--by", "key", ...month);
    expect(report).toMatchObject({
      since: "2020-10-01T00:00:00.000Z",
      until: "2020-11-01T00:00:00.000Z",
      data: [],
    });
    expect((await sluice(place, "usage", ...month)).stdout).toBe(
      "No usage from 2020-10-01 00:00 to 2020-11-01 00:00 UTC.\n",
    );
    expect((await sluice(place, "requests", "list", ...month)).stdout).toContain("to 2020-11-01 00:00 UTC");
    const backwards = await sluice(place, "usage", "--since", "1h", "--until", "2h");
    expect(backwards).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--until must be after --since"),
    });
  });

  test("of a key says on which day it was used last, and that another never was", async () => {
    const today = new Date().toISOString().slice(0, 10);
    const shown = await sluiceJson<{ last_used_on: string }>(place, "keys", "show", key.id);
    expect(Math.abs(Date.parse(today) - Date.parse(shown.last_used_on))).toBeLessThanOrEqual(86_400_000);
    const other = newPlace();
    const { id } = await sluiceJson<KeyJson>(other, "keys", "create", "--mode", "credit");
    expect(await sluiceJson<object>(other, "keys", "show", id)).toMatchObject({ last_used_on: null });
    expect((await sluice(place, "keys", "list")).stdout).toMatch(/LAST USE .*\n.* (today|1d ago) /);
  });

  test("keeps to one key, and names keys as people know them", async () => {
    const other = await sluiceJson<KeyJson>(place, "keys", "create", "--mode", "credit");
    expect((await sluiceJson<Report>(place, "usage", "--key", other.prefix)).total.recorded_requests).toBe(0);
    const { stdout } = await sluice(place, "usage", "--by", "key");
    expect(stdout).toContain(`${key.prefix} =alice, once`);
    expect(stdout).toMatch(/total\s+3\s+0\s+\d+\s+15 \(33 %\)\s+60\s+0\.75\s+40 ms/);
  });

  test("tells two things apart at once, as JSON and as CSV", async () => {
    interface Pairs {
      readonly by: string;
      readonly data: readonly { readonly groups: Record<string, string>; readonly spend: number }[];
      readonly total: { readonly spend: number };
    }
    const pairs = await sluiceJson<Pairs>(place, "usage", "--by", "key,model");
    expect(pairs.by).toBe("key,model");
    expect(pairs.data.map(({ groups, spend }) => [groups["key"], groups["model"], spend])).toEqual([
      [key.id, "demo-small", 0.5],
      [key.id, "demo-large", 0.25],
    ]);
    const csv = (await sluice(place, "usage", "--by", "owner,model", "--csv")).stdout.trimEnd().split("\n");
    const columns = csv[0]?.split(",") ?? [];
    expect(columns.slice(0, 3)).toEqual(["owner", "model", "name"]);
    const spend = csv
      .slice(1)
      .map((line) => Number(line.replace(/"[^"]*"/, "").split(",")[columns.indexOf("spend")]));
    expect(spend).toEqual([0.5, 0.25]);
    for (const by of ["account", "owner", "route", "month", "hour,provider", "day,account,route"]) {
      const { total } = await sluiceJson<Pairs>(place, "usage", "--by", by);
      expect({ by, spend: total.spend }).toEqual({ by, spend: 0.75 });
    }
    for (const by of ["key,key", "key,week", "model:x", ""])
      expect((await sluice(place, "usage", "--by", by)).code).toBe(2);
    expect((await sluice(place, "usage", "--csv", "--json")).code).toBe(2);
  });

  test("says so when nothing was used, and refuses what it does not understand", async () => {
    const empty = newPlace();
    await sluiceJson(empty, "keys", "create", "--mode", "credit");
    expect((await sluice(empty, "usage")).stdout).toStartWith("No usage from ");
    expect((await sluice(place, "usage", "--since", "last week")).code).toBe(2);
    expect((await sluice(place, "usage", "--by", "week")).code).toBe(2);
    expect((await sluice(place, "usage", "--key", "nobody")).code).toBe(1);
  });
});

test("every list is CSV too, and no label is run as a formula", async () => {
  const keys = (await sluice(place, "keys", "list", "--csv")).stdout;
  expect(keys).toStartWith("id,prefix,label,owner,account,mode,status,left,");
  expect(keys).toContain(`"'=alice, once"`);
  const exchanges = (await sluice(place, "requests", "list", "--csv")).stdout.trimEnd().split("\n");
  expect(exchanges).toHaveLength(4);
  expect(exchanges[0]).toStartWith("ended_at,at,id,key_id,key_prefix,key_label,route,model,");
  expect((await sluice(place, "accounts", "list", "--csv")).stdout).toBe(
    "id,label,mode,status,postpaid,balance,purchased,used,budget_tokens,keys,caps\n",
  );
  expect((await sluice(place, "models", "list", "--csv")).stdout).toMatch(/^id,aliases,.*\ndemo-/);
  expect((await sluice(place, "ledger", "audit", "--csv")).stdout).toBe(
    "key_id,where,field,kept,recomputed\n",
  );
});

test("a statement adds up to the ledger's entries of its month", async () => {
  interface Statement {
    readonly accounts: readonly {
      readonly account: string;
      readonly opening: number;
      readonly closing: number;
      readonly total_nano: number;
      readonly lines: readonly {
        readonly kind: string;
        readonly model: string;
        readonly amount_nano: number;
      }[];
    }[];
  }
  const month = new Date().toISOString().slice(0, 7);
  const exported = (await sluice(place, "ledger", "export", "--format", "jsonl", "--since", month)).stdout;
  const entries = exported
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  const { accounts } = await sluiceJson<Statement>(place, "statement", "--month", month);
  for (const { account, opening, closing, total_nano: total, lines } of accounts) {
    const own = entries.filter((entry) => entry["account_id"] === account && entry["kind"] !== "overrun");
    const sum = own.reduce((nano, entry) => nano + Number(entry["amount"]), 0);
    expect(lines.reduce((nano, line) => nano + line.amount_nano, 0)).toBe(sum);
    expect(total).toBe(sum);
    expect(Math.round((closing - opening) * 1e9)).toBe(sum);
  }
  const ofKey = accounts.find(({ lines }) => lines.some(({ model }) => model === "demo-small"));
  expect(ofKey?.lines.map(({ kind }) => kind)).toContain("topup");
  const csv = (await sluice(place, "statement", "--month", month, "--account", ofKey?.account ?? "", "--csv"))
    .stdout;
  expect(csv.trimEnd().split("\n")).toHaveLength(1 + (ofKey?.lines.length ?? 0));
  const text = (await sluice(place, "statement", "--month", month)).stdout;
  expect(text).toStartWith(`=alice, once  ${month}`);
  expect(text).toContain("closing balance");
  expect((await sluice(place, "statement", "--month", "2020-01")).stdout).toBe(
    "No account had an entry in 2020-01.\n",
  );
  expect((await sluice(place, "statement", "--month", "2020-13")).code).toBe(1);
});

test("keys show tells what is left after the charges", async () => {
  const shown = await sluiceJson<KeyJson>(place, "keys", "show", key.prefix);
  expect(shown.credit).toEqual({ purchased: 6, used: 0.75, balance: 5.25 });
});

describe("ledger export", () => {
  test("writes CSV that no spreadsheet runs as a formula", async () => {
    const { stdout } = await sluice(place, "ledger", "export");
    const lines = stdout.trimEnd().split("\n");
    expect(lines[0]).toStartWith("id,");
    expect(lines).toHaveLength(1 + 5);
    expect(stdout).toContain(`"'=HYPERLINK(""x"")"`);
  });

  test("writes JSON lines, of one key when it is named", async () => {
    const other = await sluiceJson<KeyJson>(place, "keys", "create", "--mode", "credit", "--credit", "1");
    const amounts = async (...flags: string[]) => {
      const { stdout } = await sluice(place, "ledger", "export", ...flags);
      return stdout
        .trimEnd()
        .split("\n")
        .map((line) => (JSON.parse(line) as { amount: number }).amount);
    };
    expect(await amounts("--json", "--key", other.prefix)).toEqual([1_000_000_000]);
    const all = await amounts("--format", "jsonl");
    expect(all.reduce((sum, amount) => sum + amount, 0)).toBe(5_250_000_000 + 1_000_000_000);
  });
});

describe("ledger audit", () => {
  test("passes when the ledger is consistent", async () => {
    const { code, stdout } = await sluice(place, "ledger", "audit");
    expect(code).toBe(0);
    expect(stdout).toContain("the ledger is consistent");
  });

  test("finds a sum that somebody has changed, and gives status 1", async () => {
    const forged = newPlace();
    await sluiceJson(forged, "keys", "create", "--mode", "credit", "--credit", "5");
    const database = new Database(join(forged.folder, "sluice-data", "sluice.db"));
    database.run("UPDATE accounts SET posted = posted + 1");
    database.close();
    const { code, stdout } = await sluice(forged, "ledger", "audit", "--json");
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      ok: false,
      accounts: 1,
      differences: [{ field: "posted", kept: 5_000_000_001, recomputed: 5_000_000_000 }],
    });
    const told = await sluice(forged, "ledger", "audit");
    expect(told.stdout).toContain("5000000001");
    expect(told.stderr).toContain("1 difference");
  });
});

describe("backup and restore", () => {
  test("bring everything back as it was, and keep what they replace", async () => {
    const from = newPlace();
    const kept = await sluiceJson<KeyJson>(from, "keys", "create", "--mode", "credit", "--label", "kept");
    const { file } = await sluiceJson<{ file: string; bytes: number }>(from, "backup", "copy.db");
    const late = await sluiceJson<KeyJson>(from, "keys", "create", "--mode", "credit", "--label", "late");
    const { replaced } = await sluiceJson<{ replaced: string }>(from, "restore", "copy.db", "--yes");
    expect(file).toBe(join(from.folder, "copy.db"));
    expect(existsSync(replaced)).toBe(true);
    const keys = await sluiceJson<KeyJson[]>(from, "keys", "list");
    expect(keys.map(({ id }) => id)).toEqual([kept.id]);
    // The log of what was replaced is gone with it, so this is all that tells of it.
    const [told] = await sluiceJson<{ action: string; target: string; detail: string }[]>(from, "audit-log");
    expect(told).toMatchObject({
      action: "data.restore",
      target: file,
      detail: `the previous data is in ${replaced}`,
    });
    await sluiceJson(from, "restore", replaced, "--yes");
    expect((await sluiceJson<KeyJson[]>(from, "keys", "list")).map(({ id }) => id)).toContain(late.id);
  });

  test("an existing file is not overwritten, a foreign one not restored, and nothing without a yes", async () => {
    const from = newPlace();
    await sluiceJson(from, "keys", "create", "--mode", "credit");
    writeFileSync(join(from.folder, "precious"), "not a database at all, only some text");
    expect((await sluice(from, "backup", "precious")).code).toBe(1);
    expect((await sluice(from, "backup", "nowhere/copy.db")).stderr).toContain("nowhere does not exist");
    const long = "x".repeat(300);
    expect((await sluice(from, "backup", long)).stderr).toContain("x… cannot be written: ENAMETOOLONG");
    for (const name of ["precious", "sluice-data"]) {
      const foreign = await sluice(from, "restore", name, "--yes");
      expect(foreign.code).toBe(1);
      expect(foreign.stderr).toContain("is not a Sluice database");
    }
    await sluice(from, "backup", "good.db");
    const unasked = (await sluice(from, "restore", "good.db")).stderr;
    expect(unasked).toContain("This replaces everything in");
    expect(unasked).toContain("pass --yes");
    expect(unasked).not.toContain("undone");
    const no = await sluice({ ...from, answer: "" }, "restore", "good.db");
    expect(no).toMatchObject({ code: 1 });
    expect(no.stderr).toContain("nothing was changed");
  });
});
