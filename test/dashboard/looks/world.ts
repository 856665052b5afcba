import { Database } from "bun:sqlite";
import { join } from "node:path";
import { createAccount } from "../../../src/admin/accounts/accounts.ts";
import { addCap, type CapContext } from "../../../src/admin/caps/caps.ts";
import type { Clock } from "../../../src/base/clock.ts";
import { nanoPerCredit } from "../../../src/base/money/money.ts";
import { issueKey } from "../../../src/keys/issue.ts";
import { openStore } from "../../../src/store/open.ts";
import { seededRandom } from "../../support/random.ts";
import { Sluice } from "../../support/sluice.ts";
import { exchange, fillSample, sampleConfig } from "../sample.ts";

export const token = "the-operators-token";

/** A Wednesday afternoon. The pictures are the same on any day. */
export const nowMs = Date.UTC(2026, 10, 18, 14, 30);
const clock: Clock = { wallMs: () => nowMs, monotonicMs: () => performance.now() };

const preload = join(import.meta.dir, "frozen-clock.ts");
const env = {
  SLUICE_ADMIN_TOKEN: token,
  SLUICE_TEST_NOW: String(nowMs),
  BUN_OPTIONS: `--preload ${preload}`,
};

/** As long as they can be. */
export const longModel = `org/${"a-model-with-a-very-long-name.".repeat(7).slice(0, 196)}`;
export const longOwner = `${"somebody.with.a.long.name.".repeat(5).slice(0, 116)}@example.com`;
const longLabel =
  "The nightly evaluation of all prompts of the support assistant, in every language that we have";

const crowdedConfig = `${sampleConfig}
[[models]]
id = "${longModel}"
provider = "openai"
price = { input = 1.0, output = 2.0 }

[server]
trusted_proxies = ["127.0.0.1"]

[admin]
members = "everyone"
user_header = "x-forwarded-email"
member_keys = { account = "Crowd", cap = "5/day" }
`;

export function startEmpty(): Promise<Sluice> {
  return Sluice.start({ config: sampleConfig, env });
}

/** A month of a company's calls, 10,000 keys, 10,000 tags, and names as long as they can be. */
export function startCrowded(): Promise<Sluice> {
  return Sluice.start({ config: crowdedConfig, env, fill: fillCrowded });
}

const keyCount = 10_000;
const tagCount = 10_000;

async function fillCrowded(dir: string): Promise<void> {
  const store = await openStore({ dir, clock, role: "gateway" });
  await issueKey(store, clock, { mode: "credit", creditNano: 5 * nanoPerCredit, label: "Copied" });
  await store.close();
  copyKey(join(dir, "sluice.db"));
  await fillSample(dir, clock);
  await addLongNames(dir);
}

/** Copies the one key and its account, because each would otherwise take milliseconds. */
function copyKey(path: string): void {
  using database = new Database(path);
  for (const [table, changes] of Object.entries({
    accounts: "no = n + 1000, id = 'own_copy' || n",
    keys: "no = n + 1000, id = 'key_copy' || n, account_no = n + 1000, hash = 'copy' || n, label = 'Student ' || n",
    key_sums: "key_no = n + 1000",
  })) {
    const columns = database
      .query<{ name: string }, []>(`SELECT name FROM pragma_table_info('${table}')`)
      .all();
    const changed = new Map(changes.split(", ").map((change) => change.split(" = ") as [string, string]));
    const values = columns.map(({ name }) => changed.get(name) ?? name).join(", ");
    const source =
      table === "keys" ? "(SELECT * FROM keys WHERE no > 0 LIMIT 1)" : `(SELECT * FROM ${table} LIMIT 1)`;
    database.run(
      `WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < ${keyCount})
       INSERT INTO ${table} SELECT ${values} FROM ${source}, counted`,
    );
  }
}

async function addLongNames(dir: string): Promise<void> {
  const store = await openStore({ dir, clock, role: "gateway" });
  try {
    await createAccount({ store, clock }, { mode: "credit", label: "Crowd", isPostpaid: true });
    const { key } = await issueKey(store, clock, {
      ...{ mode: "credit", creditNano: 90 * nanoPerCredit, label: longLabel, owner: longOwner },
      ...{ models: [longModel, "gpt-5.6"], rpmLimit: 600, tags: { project: "a".repeat(60) } },
      caps: [{ limit: 3 * nanoPerCredit, period: "day", models: null }],
    });
    const random = seededRandom(11);
    const items = Array.from({ length: tagCount }, (_, tag) => {
      const item = exchange([key], random, nowMs - (tagCount - tag) * 60_000);
      if (item.kind !== "settle" || item.record === null) throw new Error("A call is settled.");
      const labels = JSON.stringify({ "tag:project": `project-${tag}`, user: longOwner });
      const model = tag % 3 === 0 ? longModel : item.record.model;
      return {
        ...item,
        charge: { ...item.charge, labels, model, charged: 1_000 * (1 + (tag % 7)) },
        record: { ...item.record, model, costNano: 1_000 * (1 + (tag % 7)) },
      };
    });
    await store.commit(items);
    await addCaps({ store, clock, knownNames: () => null }, key.id);
  } finally {
    await store.close();
  }
}

async function addCaps(context: CapContext, key: string): Promise<void> {
  const month = { period: "month" } as const;
  await addCap(context, { ...month, limit: 5, owner: longOwner, models: "claude-*", then: "house-model" });
  await addCap(context, { ...month, limit: 20, each: "tag:project", key, optional: true });
  await addCap(context, { ...month, limit: 0.00001, tag: "project=project-9996" });
  await addCap(context, { ...month, limit: 200, each: "user", optional: true, values: 500 });
}

/** What the addresses of some states have in them. */
export async function idsIn(gateway: Sluice) {
  const headers = { authorization: `Bearer ${token}` };
  const first = async (path: string) => {
    const response = await gateway.request(`/admin/api/v1/${path}`, { headers });
    const { data } = (await response.json()) as { data: readonly { id: string; label: string }[] };
    return data;
  };
  const [key] = await first("keys?search=Mobile");
  const [longKey] = await first("keys?search=The nightly");
  const account = (await first("accounts")).find(({ label }) => label === "Product teams");
  const issued = await gateway.request("/admin/api/v1/keys", {
    headers,
    body: {
      mode: "credit",
      credit: 5,
      label: "Ada's",
      owner: longOwner,
      caps: [{ limit: 2, period: "day" }],
    },
  });
  const { key: secret } = (await issued.json()) as { key: string };
  const begun = await fetch(`${gateway.url}/oauth/device_authorization`, {
    method: "POST",
    headers: { "x-forwarded-for": "192.0.2.7" },
    body: new URLSearchParams({ client_id: "sluice-cli", device_name: "a laptop" }),
  });
  const { user_code: deviceCode } = (await begun.json()) as { user_code: string };
  return { key: key?.id ?? "", longKey: longKey?.id ?? "", account: account?.id ?? "", secret, deviceCode };
}
