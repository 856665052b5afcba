import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { upstreamKeys } from "../support/config.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";

const token = "slua_the-token-of-an-operator-0123456789";
const providerKey = upstreamKeys.TEST_OPENAI_KEY;
const timeoutMs = 60_000;

const config = (content: string) => `
[admin]
token = "env:ADMIN"
[providers.demo]
kind = "demo"
[providers.other]
kind = "openai"
api_key = "env:TEST_OPENAI_KEY"
[[models]]
id = "demo"
provider = "demo"
price = { input = 1.0, output = 1.0 }
[content]
${content}
`;

const start = (content: string) => startSluice({ config: config(content), env: { ADMIN: token } });

interface Asked {
  readonly id: string;
  readonly header: string | null;
}

async function ask(sluice: Sluice, key: TestKey, body: object): Promise<Asked> {
  const response = await sluice.request("/v1/chat/completions", {
    key,
    body: { model: "demo", messages: [{ role: "user", content: "Hello" }], ...body },
  });
  await response.text();
  const { headers } = response;
  return { id: headers.get("x-request-id") ?? "", header: headers.get("x-sluice-content") };
}

function api(sluice: Sluice, path: string, method = "GET"): Promise<Response> {
  return sluice.request(`/admin/api/v1${path}`, { method, headers: { authorization: `Bearer ${token}` } });
}

async function isRecorded(sluice: Sluice, { id }: Pick<Asked, "id">): Promise<boolean> {
  return (await api(sluice, `/requests/${id}/content`)).status === 200;
}

/** All bytes of the content's files. */
function contentBytes({ folder }: Sluice): string {
  const files = ["content.db", "content.db-wal"].map((name) => join(folder, "data", name));
  return files.map((file) => (existsSync(file) ? readFileSync(file).toString("latin1") : "")).join("");
}

describe("what is recorded", () => {
  test(
    "is only what does not complete where the operator says `failed`",
    async () => {
      await using sluice = await start('record = "failed"');
      const key = await sluice.createKey();
      const completed = await ask(sluice, key, {});
      const rejected = await ask(sluice, key, { model: "no-such-model" });
      expect(completed.header).toBe("may-be-recorded");
      expect(await isRecorded(sluice, completed)).toBe(false);
      expect(await isRecorded(sluice, rejected)).toBe(true);
    },
    timeoutMs,
  );

  test(
    "is by opt-in where the operator says `none`: what a key, else its account, asks for, and never against a `none`",
    async () => {
      await using sluice = await start('record = "none"');
      const account = async (label: string, content: string) => {
        const flags = ["--mode", "credit", "--postpaid", "--label", label, "--content", content];
        await sluice.cliJson("accounts", "create", ...flags);
      };
      await account("open", "all");
      await account("closed", "none");
      const keyOf = (...flags: readonly string[]) => sluice.cliJson<TestKey>("keys", "create", ...flags);
      const credit = ["--mode", "credit", "--credit", "1"];
      const expectations = [
        { key: await keyOf(...credit), recorded: false },
        { key: await keyOf(...credit, "--content", "all"), recorded: true },
        { key: await keyOf("--account", "open"), recorded: true },
        { key: await keyOf("--account", "open", "--content", "failed"), recorded: false, failed: true },
        { key: await keyOf("--account", "open", "--content", "none"), recorded: false },
        { key: await keyOf("--account", "closed", "--content", "all"), recorded: false },
      ];
      for (const { key, recorded, failed = recorded } of expectations) {
        expect(await isRecorded(sluice, await ask(sluice, key, {}))).toBe(recorded);
        expect(await isRecorded(sluice, await ask(sluice, key, { model: "no-such-model" }))).toBe(failed);
      }
      const own = expectations[1]?.key;
      const refusing = await sluice.request("/v1/chat/completions", {
        ...(own === undefined ? {} : { key: own }),
        headers: { "x-sluice-content": "none" },
        body: { model: "demo", messages: [{ role: "user", content: "Hello" }] },
      });
      await refusing.text();
      expect(refusing.headers.get("x-sluice-content")).toBeNull();
      await sluice.cliJson("keys", "update", own?.id ?? "", "--content", "failed");
      const { data } = (await (await api(sluice, "/audit?limit=5")).json()) as {
        readonly data: readonly { readonly action: string; readonly detail: string | null }[];
      };
      expect(data.find(({ action }) => action === "key.update")?.detail).toContain("content");
    },
    timeoutMs,
  );

  test(
    "is the share that `sample` says, which each response tells",
    async () => {
      await using sluice = await start("sample = 0.25");
      const key = await sluice.createKey();
      const asked: Asked[] = [];
      for (let no = 0; no < 20; no += 1) asked.push(await ask(sluice, key, {}));
      const recorded = await Promise.all(asked.map((each) => isRecorded(sluice, each)));
      expect(recorded.filter(Boolean)).toHaveLength(5);
      expect(asked.map(({ header }) => header)).toEqual(recorded.map((is) => (is ? "recorded" : null)));
    },
    timeoutMs,
  );

  test(
    "has no known secret in any of its files, wherever a client puts it",
    async () => {
      await using sluice = await start("");
      const key = await sluice.createKey();
      const secrets = [token, providerKey, key.key];
      for (const secret of secrets) {
        const call = { id: "a", type: "function", function: { name: "f", arguments: `{"k":"${secret}"}` } };
        const messages = [
          { role: "system", content: secret },
          { role: "user", content: [{ type: "text", text: `my key:${secret}.` }] },
          { role: "assistant", content: null, tool_calls: [call] },
          { role: "tool", tool_call_id: "a", content: secret },
        ];
        await ask(sluice, key, { messages, user: secret, metadata: { [secret]: secret } });
        await ask(sluice, key, { messages, stream: true });
        const named = await ask(sluice, key, { model: secret });
        expect(await isRecorded(sluice, named)).toBe(true);
      }
      const bytes = contentBytes(sluice);
      expect(bytes).toContain("[secret]");
      for (const secret of secrets) expect(bytes.includes(secret), secret.slice(0, 8)).toBe(false);
    },
    timeoutMs,
  );

  test(
    "is cut on both sides at its maximum, and says how much is missing",
    async () => {
      await using sluice = await start('max_request = "2KB"\nmax_response = "1KB"');
      const key = await sluice.createKey();
      const messages = [{ role: "user", content: `say 400 words ${"and more ".repeat(2000)}` }];
      for (const stream of [false, true]) {
        const { id } = await ask(sluice, key, { messages, stream });
        const document = (await (await api(sluice, `/requests/${id}/content`)).json()) as {
          request: unknown;
          response: unknown;
          request_cut: number;
          response_cut: number;
        };
        expect(JSON.stringify(document.request).length).toBeLessThanOrEqual(2000);
        expect(document.request_cut).toBeGreaterThan(15_000);
        expect(JSON.stringify(document.response).length).toBeLessThanOrEqual(1000);
        expect(document.response_cut).toBeGreaterThan(0);
      }
    },
    timeoutMs,
  );
});

test(
  "content is deleted up to the millisecond that is named, by command and by API",
  async () => {
    await using sluice = await start("");
    const key = await sluice.createKey();
    const asked: { readonly id: string; readonly time: string }[] = [];
    for (let no = 0; no < 4; no += 1) {
      const { id } = await ask(sluice, key, { messages: [{ role: "user", content: `request ${no}` }] });
      const { time } = (await (await api(sluice, `/requests/${id}/content`)).json()) as { time: string };
      asked.push({ id, time });
    }
    const [, second, , last] = asked.map(({ time }) => time);
    const deleted = await sluice.cliJson("content", "delete", "--before", `${second}`, "--yes");
    expect(deleted).toEqual({ deleted: 1 });
    expect(await (await api(sluice, `/content?before=${last}`, "DELETE")).json()).toEqual({ deleted: 2 });
    const remain = await Promise.all(asked.map((each) => isRecorded(sluice, each)));
    expect(remain).toEqual([false, false, false, true]);
  },
  timeoutMs,
);

test(
  "content is deleted by the owner of its keys, and by its time",
  async () => {
    await using sluice = await start("");
    const owned = await sluice.cliJson<TestKey>(
      "keys",
      "create",
      "--mode",
      "credit",
      "--credit",
      "1",
      "--owner",
      "ada",
    );
    const other = await sluice.createKey();
    const ofAda = await ask(sluice, owned, { messages: [{ role: "user", content: "canary-of-ada" }] });
    const early = await ask(sluice, other, { messages: [{ role: "user", content: "canary-early" }] });
    for (const each of [ofAda, early]) expect(await isRecorded(sluice, each)).toBe(true);
    expect(contentBytes(sluice)).toContain("canary-of-ada");

    expect(await sluice.cliJson("content", "delete", "--owner", "ada", "--yes")).toEqual({ deleted: 1 });
    expect(await isRecorded(sluice, ofAda)).toBe(false);
    expect(await isRecorded(sluice, early)).toBe(true);
    await waitFor(() => !contentBytes(sluice).includes("canary-of-ada"), "its bytes to be gone");

    expect(await sluice.cliJson("content", "delete", "--before", "now", "--yes")).toEqual({ deleted: 1 });
    expect(await isRecorded(sluice, early)).toBe(false);
    await waitFor(() => !contentBytes(sluice).includes("canary-early"), "its bytes to be gone");
  },
  timeoutMs,
);

test(
  "an encrypted store without its key refuses to start, and says what is missing",
  async () => {
    await using sluice = await start("");
    await sluice.stop();
    const key = Buffer.alloc(32, 1).toString("base64");
    const encrypted = config('key = "env:CONTENT_KEY"');
    await sluice.restart({ config: encrypted, env: { CONTENT_KEY: key } });
    await sluice.stop();
    const starting = sluice.restart({ config: config("") });
    await expect(starting).rejects.toThrow("content.key is not set");
    await starting.catch(() => {});
  },
  timeoutMs,
);
