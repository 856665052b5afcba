import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { FeedView } from "../../src/admin/feed/schema.ts";
import { startSluice, type TestKey } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";
import { equals } from "./admin-equals.ts";

const token = "slua_a-token-to-compare-fields";
const config = `
[admin]
token = "env:ADMIN"
[providers.demo]
kind = "demo"
[[models]]
id = "demo"
provider = "demo"
context_window = 100000
max_output_tokens = 1000
price = { input = 1, output = 2 }
[content]
`;

let sluice: Awaited<ReturnType<typeof startSluice>>;
let key: TestKey;
/** A second key and account, for what can be done only once. */
let other: TestKey;
let requestId = "";
/** Of the first entry, a top-up of 5. */
let cursor = "";

beforeAll(async () => {
  sluice = await startSluice({ config, env: { ADMIN: token } });
  key = await sluice.createKey({ label: "one", credit: 5 });
  other = await sluice.createKey({ label: "other", credit: 5 });
  // An alert says so.
  await sluice.createKey({ label: "expiring", expires: "1d" });
  const feed = await sluice.cliJson<FeedView>("ledger", "feed", "list", "--limit", "1");
  cursor = feed.next_cursor ?? "";
  for (const label of ["atlas", "zephyr"])
    await sluice.cliJson("accounts", "create", "--mode", "credit", "--label", label, "--cap", "5/day");
  for (const { id } of [key, other]) await sluice.cliJson("keys", "update", id, "--cap", "4/day");
  requestId = await ask(key);
  await ask(other);
  await waitFor(async () => (await sluice.cli("requests", "show", requestId, "--content")).code === 0, "it");
}, 60_000);

afterAll(() => sluice.dispose());

async function ask(by: TestKey): Promise<string> {
  const body = { model: "demo", messages: [{ role: "user", content: "Hello" }] };
  const response = await sluice.request("/v1/chat/completions", { key: by, body });
  expect(response.status).toBe(200);
  await response.text();
  return response.headers.get("x-request-id") ?? "";
}

const today = new Date().toISOString().slice(0, 10);
const bill = `date,model,input,output\n${today},demo,1,1\n`;
const billFile = () => {
  const file = join(sluice.folder, "bill.csv");
  writeFileSync(file, bill);
  return file;
};

interface Pair {
  /** The arguments of the command. */
  readonly cli: () => readonly string[];
  /** The path; the operation's own by default. */
  readonly path?: () => string;
  readonly body?: () => object;
  /** What an API's list has under `data` is what a command prints as a list. */
  readonly isList?: true;
  /** One JSON object per line, on both sides. */
  readonly isLines?: true;
}

const list = { isList: true } as const;
const onKey = (verb: string, flags: readonly string[], body: object): Pair => ({
  cli: () => [key.id, ...flags],
  path: () => `/keys/${other.id}/${verb}`,
  body: () => body,
});
const onAccount = (verb: string, flags: readonly string[], body: object): Pair => ({
  cli: () => ["atlas", ...flags],
  path: () => `/accounts/zephyr/${verb}`,
  body: () => body,
});

/** In this order: keys and accounts are revoked and closed last. */
const pairs: Readonly<Record<string, Pair>> = {
  "keys create": { cli: () => ["--mode", "credit"], body: () => ({ mode: "credit" }) },
  "keys list": { ...list, cli: () => [] },
  "keys show": { cli: () => [key.id], path: () => `/keys/${key.id}` },
  "keys update": {
    cli: () => [key.id, "--rpm", "60"],
    path: () => `/keys/${other.id}`,
    body: () => ({ rpm_limit: 60 }),
  },
  "keys topup": onKey("topup", ["1"], { amount: 1 }),
  "keys adjust": onKey("adjust", ["-1", "--note", "n"], { amount: -1, note: "n" }),
  "keys raise-cap": onKey("raise-cap", ["1", "--note", "n"], { amount: 1, note: "n" }),
  "keys rotate": onKey("rotate", [], {}),
  "keys disable": onKey("disable", [], {}),
  "keys enable": onKey("enable", [], {}),
  "keys suspend": onKey("suspend", [], {}),
  "keys move": onKey("move", ["--account", "atlas"], { account: "zephyr" }),
  "keys revoke": onKey("revoke", ["--yes"], {}),
  "accounts create": {
    cli: () => ["--mode", "credit", "--label", "new"],
    body: () => ({ mode: "credit", label: "newer" }),
  },
  "accounts list": { ...list, cli: () => [] },
  "accounts show": { cli: () => ["atlas"], path: () => "/accounts/atlas" },
  "accounts update": {
    cli: () => ["atlas", "--label", "atlas"],
    path: () => "/accounts/zephyr",
    body: () => ({ label: "zephyr" }),
  },
  "accounts topup": onAccount("topup", ["1"], { amount: 1 }),
  "accounts adjust": onAccount("adjust", ["-1", "--note", "n"], { amount: -1, note: "n" }),
  "accounts close": onAccount("close", ["--yes"], {}),
  statement: {
    cli: () => ["--month", today.slice(0, 7)],
    path: () => `/statement?month=${today.slice(0, 7)}`,
  },
  usage: { cli: () => ["--by", "key,model"], path: () => "/usage?by=key,model" },
  reconcile: {
    cli: () => ["--provider", "demo", "--from", today, "--to", today, "--tolerance", "100", billFile()],
    body: () => ({ provider: "demo", from: today, to: today, files: [bill] }),
  },
  "requests list": { ...list, cli: () => [] },
  "requests show": { cli: () => [requestId], path: () => `/requests/${requestId}` },
  "requests export": { isLines: true, cli: () => ["--content"], path: () => "/content/export" },
  "models list": { ...list, cli: () => [] },
  "models check": { ...list, cli: () => [], body: () => ({}) },
  "ledger export": { isLines: true, cli: () => [], path: () => "/entries" },
  "ledger feed list": { cli: () => [], path: () => "/ledger/feed" },
  "ledger feed verify": {
    cli: () => ["--through", cursor, "--count", "1", "--total", "5"],
    path: () => `/ledger/feed/verify?through=${cursor}&count=1&total=5`,
  },
  "ledger feed status": { cli: () => [], path: () => "/ledger/feed/push" },
  "ledger feed resume": { cli: () => [], body: () => ({}) },
  "admin-tokens create": { cli: () => ["--label", "a"], body: () => ({ label: "b" }) },
  "admin-tokens list": { ...list, cli: () => [] },
  "sessions end": {
    cli: () => ["--person", "gone@example.com", "--yes"],
    body: () => ({ person: "gone@example.com" }),
  },
  "admin-tokens revoke": {
    cli: () => ["a", "--yes"],
    path: () => "/admin-tokens/b/revoke",
    body: () => ({}),
  },
  "audit-log": { ...list, cli: () => [] },
  "config show": { cli: () => [], path: () => "/config/toml" },
  "config diff": { cli: () => [], path: () => "/config/check" },
  "config reload": { cli: () => [], body: () => ({}) },
  "store size": { cli: () => [] },
  status: { ...list, cli: () => [] },
  "content delete": {
    cli: () => ["--before", "2030-01-01", "--yes"],
    path: () => "/content?before=2030-01-01",
  },
};

/** Not compared, and why. */
const apart: Readonly<Record<string, string>> = {
  nodes: "needs PostgreSQL; both print what `listNodes` returns",
  "sessions list": "needs a person who has signed in; the sessions' own tests list them both ways",
  "sign-ins list": "needs a person who has signed in; its own tests list and end them",
  "sign-ins revoke": "needs a person who has signed in",
  "sign-ins allow": "needs a person who has signed in",
  "alerts ack": "says when it was done, which differs",
  "models update": "prints what it has planned; its own tests store prices",
  "ledger audit": "prints what the operation answers",
  "ledger anchor": "prints what the operation answers",
  "caps add": "prints what the operation answers",
  "caps list": "prints what the operation answers",
  "caps show": "prints what the operation answers",
  "caps update": "prints what the operation answers",
  "caps raise": "prints what the operation answers",
  "caps remove": "prints what the operation answers",
  "responses list": "prints what the operation answers",
  "responses delete": "prints what the operation answers",
  "batches list": "prints what the operation answers",
  "batches show": "prints what the operation answers",
  "batches cancel": "prints what the operation answers",
  "batches resume": "prints what the operation answers",
  "files list": "prints what the operation answers",
  "files delete": "prints what the operation answers",
  health: "asks /readyz, which needs no token",
};

test("every command that has its equal in the admin API is compared", () => {
  expect([...Object.keys(pairs), ...Object.keys(apart)].toSorted()).toEqual(Object.keys(equals).toSorted());
});

test.each(Object.entries(pairs))(
  "%s --json has the fields of the admin API",
  async (command, pair) => {
    const [operation = ""] = equals[command] ?? [];
    const [method = "GET", path = ""] = operation.split(" ");
    const fromApi = await answerOf(method, pair.path?.() ?? path, pair);
    const { stdout: printed, stderr } = await sluice.cli(...command.split(" "), ...pair.cli(), "--json");
    expect(printed, stderr).not.toBe("");
    const fromCli = pair.isLines ? linesOf(printed) : JSON.parse(printed);
    expect(fieldsThatDiffer(withoutOwn(fromCli), fromApi)).toEqual([]);
  },
  30_000,
);

async function answerOf(method: string, path: string, pair: Pair): Promise<unknown> {
  const headers = { authorization: `Bearer ${token}` };
  const call = () =>
    sluice.request(`/admin/api/v1${path}`, { method, headers, ...(pair.body && { body: pair.body() }) });
  let response = await call();
  const text = await response.text();
  expect(response.status, text).toBe(200);
  if (pair.isLines && path !== "/entries") return linesOf(text);
  if (!pair.isList && !pair.isLines) return JSON.parse(text);
  let rows = (JSON.parse(text) as { data: unknown[] }).data;
  // Alerts are looked for every few seconds.
  await waitFor(
    async () => {
      if (rows.length > 0) return true;
      response = await call();
      rows = ((await response.json()) as { data: unknown[] }).data;
      return rows.length > 0;
    },
    `a row at ${path}`,
    20_000,
  );
  return rows;
}

function linesOf(text: string): unknown[] {
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}

/** Where a command wrote to, which an API cannot answer otherwise. */
function withoutOwn(document: unknown): unknown {
  if (Array.isArray(document) || typeof document !== "object") return document;
  const { data_folder: _, ...rest } = document as Record<string, unknown>;
  return rest;
}

/** Paths of fields that only one side has. Null, and a list without items, may stand for anything. */
function fieldsThatDiffer(cli: unknown, api: unknown, path = ""): string[] {
  if (cli === null || api === null) return [];
  if (Array.isArray(cli) && Array.isArray(api)) {
    return cli.length === 0 || api.length === 0
      ? []
      : fieldsThatDiffer(merged(cli), merged(api), `${path}[]`);
  }
  if (typeof cli !== "object" || typeof api !== "object") {
    return typeof cli === typeof api ? [] : [`${path}: ${typeof cli} and ${typeof api}`];
  }
  const [ours, theirs] = [new Map(Object.entries(cli)), new Map(Object.entries(api))];
  return [...new Set([...ours.keys(), ...theirs.keys()])].flatMap((name) => {
    if (!ours.has(name)) return [`${path}.${name}: only the API`];
    if (!theirs.has(name)) return [`${path}.${name}: only the command`];
    return fieldsThatDiffer(ours.get(name), theirs.get(name), `${path}.${name}`);
  });
}

/** All fields of a list's items. */
function merged(items: readonly unknown[]): unknown {
  const [first] = items;
  return typeof first === "object" && first !== null && !Array.isArray(first)
    ? Object.assign({}, ...(items as object[]))
    : first;
}
