import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { StorageView } from "../../src/admin/system/schema.ts";
import type { ContentDocument } from "../../src/content/document.ts";
import { type RequestOptions, startSluice, type TestKey } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";

const oldKey = Buffer.alloc(32, 1).toString("base64");
const newKey = Buffer.alloc(32, 2).toString("base64");
const adminToken = "slua_a-token-for-content-tests";

const config = `
[admin]
token = "env:ADMIN"
[providers.demo]
kind = "demo"
[[models]]
id = "demo"
provider = "demo"
free = true
[[models]]
id = "private"
provider = "demo"
free = true
content = "none"
[content]
`;

const env = { ADMIN: adminToken, NEW_CONTENT_KEY: newKey };

type Sluice = Awaited<ReturnType<typeof startSluice>>;

let sluice: Sluice;
let key: TestKey;
beforeAll(async () => {
  sluice = await startSluice({ config, env });
  key = await sluice.createKey({ label: "reader" });
});
afterAll(() => sluice[Symbol.asyncDispose]());

/** Says something that no other request says, and returns the request's id. */
async function say(words: string, model = "demo", more: object = {}, as = key): Promise<string> {
  const response = await sluice.request("/v1/chat/completions", {
    key: as,
    body: { model, messages: [{ role: "user", content: words }], ...more },
  });
  expect(response.status).toBe(200);
  await response.text();
  return response.headers.get("x-request-id") ?? "";
}

function api(path: string, options: RequestOptions = {}): Promise<Response> {
  const headers = { authorization: `Bearer ${adminToken}` };
  return sluice.request(`/admin/api/v1${path}`, { ...options, headers });
}

async function audited(action: string): Promise<readonly { target: string | null; detail: string | null }[]> {
  const log =
    await sluice.cliJson<{ action: string; target: string | null; detail: string | null }[]>("audit-log");
  return log.filter((line) => line.action === action);
}

/** All bytes of the content's files. */
function filesHold(words: string): boolean {
  return ["content.db", "content.db-wal"].some((name) => {
    const file = join(sluice.folder, "data", name);
    return existsSync(file) && readFileSync(file).includes(words);
  });
}

test("what a request says is read by command and by API, and every reading is in the audit log", async () => {
  const id = await say("the canary of reading", "demo", { user: "ada" });
  const byApi = (await (await api(`/requests/${id}/content`)).json()) as ContentDocument;
  const { stdout } = await sluice.cli("requests", "show", id, "--content");
  expect(JSON.parse(stdout)).toEqual(byApi);
  expect(byApi).toMatchObject({
    id,
    model: "demo",
    key: key.prefix,
    labels: { user: "ada" },
    outcome: "completed",
  });
  expect((await audited("content.read")).filter(({ target }) => target === id)).toHaveLength(2);
  const list = (await (await api("/content?limit=1")).json()) as {
    data: { id: string }[];
    next_cursor: string | null;
  };
  expect(list.data[0]?.id).toBe(id);
  expect((await api("/requests/req_unknown/content")).status).toBe(404);
  expect((await sluice.cli("requests", "show", "req_unknown", "--content")).code).toBe(1);
});

test("a model that says none is not recorded, and its response does not claim so", async () => {
  const id = await say("not to be kept", "private");
  expect((await api(`/requests/${id}/content`)).status).toBe(404);
});

test("only admins read content", async () => {
  const id = await say("for admins alone");
  const viewer = await sluice.cliJson<{ token: string }>(
    "admin-tokens",
    "create",
    "--label",
    "v",
    "--role",
    "viewer",
  );
  const headers = { authorization: `Bearer ${viewer.token}` };
  for (const path of [`/requests/${id}/content`, "/content", "/content/export"])
    expect((await sluice.request(`/admin/api/v1${path}`, { headers })).status).toBe(403);
  const own = await sluice.request(`/usage/api/v1/requests/${id}/content`, {
    headers: { authorization: `Bearer ${key.key}` },
  });
  expect(own.status).toBe(404);
});

test("an export has one object per line, by command and by API, and one line in the audit log each", async () => {
  const mine = await sluice.createKey({ label: "exporter" });
  const ids = [await say("first", "demo", {}, mine), await say("second", "demo", { user: "eve" }, mine)];
  // What waits is written before it is read.
  await api("/content?limit=1");
  const { stdout } = await sluice.cli(
    "requests",
    "export",
    "--content",
    "--jsonl",
    "--key",
    mine.id,
    "--since",
    "1h",
  );
  const lines = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as ContentDocument);
  expect(lines.map(({ id }) => id)).toEqual(ids.toReversed());
  expect(Object.keys(lines[0] ?? {})).toEqual([
    "id",
    "time",
    "model",
    "key",
    "labels",
    "request",
    "response",
  ]);
  const byApi = await (await api(`/content/export?key=${mine.id}`)).text();
  expect(byApi).toBe(stdout);
  const byBatch = await sluice.cli("requests", "export", "--content", "--batch", "batch_none");
  expect([byBatch.code, byBatch.stdout]).toEqual([0, ""]);
  const byUser = await sluice.cli("requests", "export", "--content", "--user", "eve");
  expect(byUser.stdout.trimEnd().split("\n")).toHaveLength(1);
  const detailsOf = async (action: string) =>
    (await audited(action)).flatMap(({ detail }) => (detail?.includes(mine.id) ? [detail] : []));
  const begun = await detailsOf("content.export");
  expect(begun).toHaveLength(2);
  expect(await detailsOf("content.exported")).toEqual(begun.map((filter) => `2 requests: ${filter}`));
});

test("what is deleted is gone from the files, and the deletion is in the audit log", async () => {
  const mine = await sluice.createKey({ label: "leaver" });
  const [one, two, three] = [
    await say("canary-of-one", "demo", {}, mine),
    await say("canary-of-two", "demo", {}, mine),
    await say("canary-of-three", "demo", {}, mine),
  ];
  expect((await api(`/requests/${one}/content`)).status).toBe(200);
  const listed = await sluice.cliJson<StorageView>("store", "size");
  expect(listed.content).toMatchObject({ days: 7, max_bytes: 2e9 });
  expect(listed.content?.requests).toBeGreaterThanOrEqual(3);
  expect(listed.content?.bytes).toBeGreaterThan(16_000);
  expect((await sluice.cli("store", "size")).stdout).toMatch(
    /content +\d+ requests, .*, kept for 7 days, at most \d/,
  );
  expect(((await (await api("/storage")).json()) as StorageView).content?.requests).toBe(
    listed.content?.requests,
  );
  expect(filesHold("canary-of-one")).toBe(true);
  expect(await (await api(`/requests/${one}/content`, { method: "DELETE", body: "{}" })).json()).toEqual({
    deleted: 1,
  });
  expect((await api(`/requests/${one}/content`)).status).toBe(404);
  await waitFor(() => !filesHold("canary-of-one"), "the bytes to be gone");
  expect((await sluice.cli("content", "delete", "--yes")).code).toBe(1);
  expect((await sluice.cli("content", "delete", two, "req_unknown", "--yes")).code).toBe(1);
  expect((await sluice.cli("content", "delete", two)).code).toBe(1);
  expect(await sluice.cliJson("content", "delete", two, "--yes")).toEqual({ deleted: 1 });
  expect((await api(`/content?key=${mine.id}`, { method: "DELETE", body: "{}" })).status).toBe(200);
  expect((await api(`/requests/${three}/content`)).status).toBe(404);
  await waitFor(() => !filesHold("canary-of-two") && !filesHold("canary-of-three"), "the bytes to be gone");
  expect((await api("/content", { method: "DELETE", body: "{}" })).status).toBe(400);
  expect((await audited("content.delete")).length).toBe(3);
});

test("a store that gets a key is encrypted, needs that key, and can be given another", async () => {
  const id = await say("canary-at-rest");
  await api(`/requests/${id}/content`);
  expect(filesHold("canary-at-rest")).toBe(true);
  const useKey = (value: string) => writeFileSync(join(sluice.folder, "content.key"), value);
  const shown = async () => {
    const { code, stdout, stderr } = await sluice.cli("requests", "show", id, "--content");
    return code === 0 ? (JSON.parse(stdout) as ContentDocument).outcome : stderr;
  };
  useKey(oldKey);
  await sluice.stop();
  await sluice.restart({
    config: `${config}key = "file:content.key"\n`,
    env: { SLUICE_LOG_LEVEL: "info" },
  });
  await sluice.told("recorded content is being encrypted");
  expect(filesHold("canary-at-rest")).toBe(false);
  expect(await shown()).toBe("completed");
  const later = await say("canary-encrypted-at-once");
  expect((await api(`/requests/${later}/content`)).status).toBe(200);
  expect(filesHold("canary-encrypted-at-once")).toBe(false);
  const rekey = () => sluice.cli("content", "rekey", "--new-key", "env:NEW_CONTENT_KEY", "--yes");
  const refused = await rekey();
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("stop it first")]);
  await sluice.stop();
  useKey(newKey);
  expect(await shown()).toContain("a different key");
  const { code, output } = await refusedStart();
  expect([code, output]).toEqual([1, expect.stringContaining("a different key")]);
  useKey(oldKey);
  expect((await rekey()).code).toBe(0);
  expect(await shown()).toContain("a different key");
  useKey(newKey);
  expect(await shown()).toBe("completed");
  await sluice.restart();
  expect((await api(`/requests/${id}/content`)).status).toBe(200);
  expect(await audited("content.rekey")).toHaveLength(1);
}, 60_000);

async function refusedStart(): Promise<{ code: number; output: string }> {
  const { code, stdout, stderr } = await sluice.run("serve", "--port", "0");
  return { code, output: stdout + stderr };
}

test("a backup has the content in a second file if it is asked for, and a restore takes it", async () => {
  const id = await say("canary-of-backup");
  await api(`/requests/${id}/content`);
  const file = join(sluice.folder, "copy.db");
  const plain = join(sluice.folder, "plain.db");
  expect((await sluice.cli("backup", plain)).code).toBe(0);
  expect(existsSync(join(sluice.folder, "plain.content.db"))).toBe(false);
  const made = await sluice.cliJson<{ content: string }>("backup", file, "--content");
  expect(made.content).toBe(join(sluice.folder, "copy.content.db"));
  expect(readFileSync(made.content).includes("canary-of-backup")).toBe(false);
  expect((await api(`/requests/${id}/content`, { method: "DELETE", body: "{}" })).status).toBe(200);
  await sluice.stop();
  expect((await sluice.cli("restore", file, "--yes")).code).toBe(0);
  await sluice.restart();
  expect((await api(`/requests/${id}/content`)).status).toBe(200);
}, 60_000);

test("kill -9 loses at most the last second, and leaves a readable file", async () => {
  const id = await say("canary-of-a-crash");
  await waitFor(
    async () => (await sluice.cli("requests", "show", id, "--content")).code === 0,
    "it to be written",
  );
  await Promise.all(Array.from({ length: 50 }, (_, no) => say(`under load ${no}`)));
  await sluice.kill9();
  await sluice.restart();
  expect((await api(`/requests/${id}/content`)).status).toBe(200);
  const audit = await sluice.cliJson<{ ok?: boolean }>("ledger", "audit");
  expect(JSON.stringify(audit)).not.toContain('"ok":false');
}, 60_000);
