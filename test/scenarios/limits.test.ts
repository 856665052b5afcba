import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import type { AccountView } from "../../src/admin/accounts/schema.ts";
import { openAiError } from "../support/answers.ts";
import { configFor } from "../support/config.ts";
import { answerFrom } from "../support/fixtures.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";
import { ask } from "./traffic.ts";

const path = "/v1/chat/completions";
let provider: ScriptedProvider;
let sluice: Sluice;

beforeAll(async () => {
  provider = startProvider();
  sluice = await startSluice({ config: configFor({ url: provider.url }) });
}, 60_000);
afterEach(() => provider.reset());
afterAll(async () => {
  await sluice.dispose();
  provider.stop();
});

interface Failed {
  readonly error: { readonly message: string; readonly code: string };
}

interface Row {
  readonly group: string;
  readonly recorded_requests: number;
}

const keyWith = (...args: string[]) =>
  sluice.cliJson<TestKey>("keys", "create", "--mode", "credit", "--credit", "10", ...args);
const accountWith = (label: string, ...args: string[]) =>
  sluice.cliJson<AccountView>(
    "accounts",
    "create",
    "--mode",
    "credit",
    "--credit",
    "10",
    "--label",
    label,
    ...args,
  );
const keyOf = (label: string, ...args: string[]) =>
  sluice.cliJson<TestKey>("keys", "create", "--account", label, ...args);
const chat = (key: TestKey, more: object = {}) => sluice.request(path, { key, body: { ...ask, ...more } });

/** A request that the provider does not answer before `answer` is called. */
async function pendingChat(key: TestKey, more: object = {}) {
  const gate = Promise.withResolvers<void>();
  provider.script({ ...answerFrom("chat/text.json"), before: [{ until: gate.promise }] });
  const before = provider.requests.length;
  const response = chat(key, more);
  await waitFor(() => provider.requests.length > before, "the provider to be asked");
  provider.script(null);
  return {
    async answer() {
      gate.resolve();
      const answered = await response;
      expect(answered.status).toBe(200);
      await answered.text();
    },
  };
}

async function failed(response: Response): Promise<Failed["error"] & { readonly status: number }> {
  const { error } = (await response.json()) as Failed;
  return { status: response.status, code: error.code, message: error.message };
}

describe("default tags", () => {
  const byTag = async (key: TestKey, name: string) => {
    const args = ["usage", "--key", key.prefix, "--by", `tag:${name}`];
    const { data } = await sluice.cliJson<{ readonly data: readonly Row[] }>(...args);
    return data.map(({ group, recorded_requests: requests }) => [group, requests]);
  };

  test("are a request's own first, then its key's, then its account's", async () => {
    await accountWith("tagged", "--tag", "team=core", "--tag", "env=prod");
    const key = await keyOf("tagged", "--tag", "env=test", "--tag", "project=atlas");
    expect((await chat(key)).status).toBe(200);
    const own = await sluice.request(path, { key, body: ask, headers: { "x-sluice-tags": "project=other" } });
    expect(own.status).toBe(200);
    expect(await byTag(key, "team")).toEqual([["core", 2]]);
    expect(await byTag(key, "env")).toEqual([["test", 2]]);
    expect(new Set(await byTag(key, "project"))).toEqual(
      new Set([
        ["atlas", 1],
        ["other", 1],
      ]),
    );
  }, 60_000);

  test("are on a request with eight tags of its client, and may be changed and taken away", async () => {
    const key = await keyWith("--tag", "a=1", "--tag", "b=1");
    const eight = Array.from({ length: 8 }, (_, index) => `t${index}=x`).join(",");
    const response = await sluice.request(path, { key, body: ask, headers: { "x-sluice-tags": eight } });
    expect(response.status).toBe(200);
    expect(await byTag(key, "t7")).toEqual([["x", 1]]);
    expect(await byTag(key, "a")).toEqual([["1", 1]]);
    expect(await byTag(key, "b")).toEqual([["1", 1]]);
    const update = (tag: string) =>
      sluice.cliJson<{ tags: object | null }>("keys", "update", key.prefix, "--tag", tag);
    expect((await update("c=2")).tags).toEqual({ c: "2" });
    expect((await update("none")).tags).toBeNull();
  }, 60_000);

  test.each([
    ["a tag without a value", ["--tag", "project"]],
    ["one name twice", ["--tag", "a=1", "--tag", "a=2"]],
    ["more than eight", Array.from({ length: 9 }, (_, index) => ["--tag", `t${index}=x`]).flat()],
    ["a limit that is no number", ["--tpm", "many"]],
    ["a limit of nothing", ["--tpm", "0"]],
    ["two limits for the same models", ["--tpm", "5", "--tpm", "6"]],
    ["a place for none", ["--max-concurrent", "0"]],
  ])("are refused with what to write: %s", async (_, args) => {
    const { code, stderr } = await sluice.cli("keys", "create", "--mode", "credit", ...args);
    expect([1, 2]).toContain(code);
    expect(stderr).toMatch(/1 or more|from 1 to|such as|up to 8/);
  });
});

describe("tokens per minute", () => {
  test("are reserved at their most, corrected by what was used, and told in the headers", async () => {
    const key = await keyWith("--tpm", "6000");
    const first = await pendingChat(key, { max_tokens: 4000 });
    const second = await chat(key, { max_tokens: 4000 });
    const retryAfter = Number(second.headers.get("retry-after"));
    expect(second.headers.get("x-ratelimit-limit-tokens")).toBe("6000");
    expect(Number(second.headers.get("x-ratelimit-remaining-tokens"))).toBeLessThan(4000);
    expect(await failed(second)).toEqual({
      status: 429,
      code: "rate_limit_exceeded",
      message: expect.stringMatching(
        /up to 40\d\d tokens, but this key's limit is 6000 tokens per minute, and \d+ are left now/,
      ),
    });
    // Two thousand are missing, and a hundred come back each second.
    expect(retryAfter).toBeGreaterThan(0);
    expect(retryAfter).toBeLessThanOrEqual(21);
    await first.answer();
    const third = await chat(key, { max_tokens: 4000 });
    expect(third.status).toBe(200);
    expect(third.headers.get("x-ratelimit-reset-tokens")).toMatch(/^\d+s$/);
  }, 60_000);

  test("are told in Anthropic's names too", async () => {
    const key = await keyWith("--tpm", "6000");
    const body = { model: "claude-test", messages: ask.messages, max_tokens: 100 };
    const { status, headers } = await sluice.request("/v1/messages", { key, body });
    expect(status).toBe(200);
    expect(headers.get("anthropic-ratelimit-tokens-limit")).toBe("6000");
    expect(Number(headers.get("anthropic-ratelimit-tokens-remaining"))).toBeWithin(5_000, 6_001);
    expect(Date.parse(headers.get("anthropic-ratelimit-tokens-reset") ?? "")).toBeGreaterThan(0);
  }, 60_000);

  test("reject what is above the whole limit as invalid, and keep nothing of it", async () => {
    const key = await keyWith("--tpm", "1000");
    const rejected = await failed(await chat(key, { max_tokens: 1000 }));
    expect(rejected).toMatchObject({ status: 400, code: "invalid_request" });
    expect(rejected.message).toContain("this key's limit is 1000 tokens per minute");
    expect((await chat(key, { max_tokens: 900 })).status).toBe(200);
    expect(provider.requests).toHaveLength(1);
  }, 60_000);

  test("are an account's for all its keys together, and some models' alone", async () => {
    await accountWith("minutes", "--tpm", "6000:gpt-*");
    const [ada, bob] = [await keyOf("minutes"), await keyOf("minutes", "--tpm", "50000")];
    const first = await pendingChat(ada, { max_tokens: 4000 });
    const rejected = await failed(await chat(bob, { max_tokens: 4000 }));
    expect(rejected).toMatchObject({ status: 429, code: "rate_limit_exceeded" });
    expect(rejected.message).toContain("this account's limit is 6000 tokens per minute for gpt-*");
    const other = { model: "claude-test", messages: ask.messages, max_tokens: 4000 };
    expect((await sluice.request("/v1/messages", { key: bob, body: other })).status).toBe(200);
    await first.answer();
    expect((await chat(bob, { max_tokens: 4000 })).status).toBe(200);
  }, 60_000);

  test("come back from a request that the provider does not answer", async () => {
    const key = await keyWith("--tpm", "5000");
    provider.script(openAiError(400, "not this"));
    expect((await chat(key, { max_tokens: 4000 })).status).toBe(400);
    provider.script(null);
    expect((await chat(key, { max_tokens: 4000 })).status).toBe(200);
  }, 60_000);

  test("hold for a token budget, whose headers keep their meaning", async () => {
    const key = await sluice.cliJson<TestKey>(
      ...["keys", "create", "--mode", "token_budget", "--budget", "100000", "--tpm", "6000"],
    );
    const answered = await chat(key, { max_tokens: 4000 });
    expect(answered.headers.get("x-ratelimit-limit-tokens")).toBeNull();
    expect(Number(answered.headers.get("x-ratelimit-remaining-tokens"))).toBeGreaterThan(90_000);
    const first = await pendingChat(key, { max_tokens: 4000 });
    expect((await chat(key, { max_tokens: 4000 })).status).toBe(429);
    await first.answer();
  }, 60_000);
});

test("a key has no more requests in flight than it may, and the next one when one has ended", async () => {
  const key = await keyWith("--max-concurrent", "2");
  const [first, second] = [await pendingChat(key), await pendingChat(key)];
  const third = await chat(key);
  expect(third.headers.get("retry-after")).toBe("1");
  expect(await failed(third)).toEqual({
    status: 429,
    code: "rate_limit_exceeded",
    message: expect.stringContaining("its maximum of 2 requests in progress"),
  });
  await first.answer();
  expect((await chat(key)).status).toBe(200);
  await second.answer();
  const { max_concurrent: most } = await sluice.cliJson<{ max_concurrent: number | null }>(
    ...["keys", "update", key.prefix, "--max-concurrent", "none"],
  );
  expect(most).toBeNull();
  expect((await sluice.cli("keys", "show", key.prefix)).stdout).not.toContain("in flight");
}, 60_000);
