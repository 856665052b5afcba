import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createAccount } from "../../src/admin/accounts/accounts.ts";
import { systemClock } from "../../src/base/clock.ts";
import { hello, paths, wholeAnswer } from "./wire-answers.ts";
import { World } from "./world.ts";

const head = `
[server]
trusted_proxies = ["127.0.0.1"]

[admin]
admins = ["ada@example.com"]
members = "everyone"
user_header = "x-forwarded-email"
groups_header = "x-forwarded-groups"

[[admin.member_keys]]
for = ["group:capped"]
account = "team"
cap = "5/day"

[[admin.member_keys]]
account = "team"
cap = "500/month"

[[admin.managed_settings]]
claude_code = { model = "claude-test", permissions = { deny = ["WebFetch"], defaultMode = "plan" }, env = { A = "1" } }

[[admin.managed_settings]]
for = ["group:contractors"]
claude_code = { availableModels = ["claude-test"], permissions = { deny = [] }, env = { B = "2" } }

[[admin.managed_settings]]
for = ["ada@example.com", "group:contractors"]
claude_code = { model = "never" }
`;

let world: World;
let addresses = 0;

beforeAll(async () => {
  world = await World.start({ head });
  await createAccount(
    { store: world.running.store, clock: systemClock },
    { mode: "credit", label: "team", creditNano: 10_000_000_000 },
  );
});
afterAll(() => world[Symbol.asyncDispose]());

async function oauth(path: string, form: Readonly<Record<string, string>>) {
  const headers = { "x-forwarded-for": `192.0.2.${addresses}` };
  const body = new URLSearchParams(form);
  const response = await fetch(`${world.running.url}/oauth/${path}`, { method: "POST", headers, body });
  return (await response.json()) as Record<string, string>;
}

async function signIn(user: string, groups = ""): Promise<{ access: string; refresh: string }> {
  addresses += 1;
  const begun = await oauth("device_authorization", { surface: "claude_code" });
  const approved = await fetch(`${world.running.url}/usage/api/v1/device/approve`, {
    method: "POST",
    headers: {
      origin: world.running.url,
      "x-forwarded-for": "192.0.2.200",
      "x-forwarded-email": user,
      "x-forwarded-groups": groups,
    },
    body: JSON.stringify({ user_code: begun["user_code"] }),
  });
  if (!approved.ok) throw new Error(await approved.text());
  const grant_type = "urn:ietf:params:oauth:grant-type:device_code";
  const tokens = await oauth("token", { grant_type, device_code: begun["device_code"] ?? "" });
  return { access: tokens["access_token"] ?? "", refresh: tokens["refresh_token"] ?? "" };
}

function send(path: string, token: string, body: unknown, headers: Readonly<Record<string, string>> = {}) {
  return fetch(world.running.url + path, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
}

function get(path: string, token: string, headers: Readonly<Record<string, string>> = {}) {
  return fetch(world.running.url + path, { headers: { authorization: `Bearer ${token}`, ...headers } });
}

/** Less than what a request has cost. */
async function useUpCap(keyId: string): Promise<void> {
  await world.settled();
  const cap = { limit: 1, period: "day", models: null } as const;
  await world.running.store.setCaps({ keyId }, [cap], systemClock.wallMs());
  await world.gateway.catchUp();
}

const message = hello("messages", "claude-test");

describe("an access token", () => {
  test("is a key on every route, and is charged to its person's key", async () => {
    const { access } = await signIn("bob@example.com");
    for (const [path, body] of [
      [paths.messages, message],
      [`${paths.messages}?beta=true`, { ...message, some_new_field: true }],
      ["/v1/messages/count_tokens", message],
      [paths.chat, hello("chat", "gpt-test")],
      [paths.responses, hello("responses", "gpt-test")],
    ] as const) {
      expect((await send(path, access, body)).status, path).toBe(200);
    }
    for (const path of ["/v1/models", "/v1/models?limit=1000", "/v1/usage"])
      expect((await get(path, access)).status, path).toBe(200);
    const key = world.gateway.keys.find(access);
    expect(key).toMatchObject({ owner: "bob@example.com", label: "sign-in" });
    expect(await world.chargesOf({ key: key ?? expect.unreachable(), secret: "" })).toHaveLength(4);
  });

  test("can be in both headers at once, as `apiKeyHelper` sends it, which a key cannot", async () => {
    const { access } = await signIn("bob@example.com");
    expect((await send(paths.messages, access, message, { "x-api-key": access })).status).toBe(200);
    expect((await send(paths.messages, access, message, { "x-api-key": `${access}x` })).status).toBe(401);
    const { secret } = await world.creditCaller();
    expect((await send(paths.messages, secret, message, { "x-api-key": secret })).status).toBe(401);
  });

  test("that has ended is 401 at once, is not to be retried, and the message names /login", async () => {
    const { access, refresh } = await signIn("bob@example.com");
    await oauth("revoke", { token: refresh });
    for (const path of [paths.messages, "/v1/messages/count_tokens"]) {
      const rejected = await send(path, access, message);
      expect([rejected.status, rejected.headers.get("x-should-retry")]).toEqual([401, "false"]);
      expect(await rejected.json()).toMatchObject({
        error: {
          type: "authentication_error",
          code: "invalid_credentials",
          message:
            "Your sign-in has ended. Sign in again: `/login` in Claude Code, elsewhere `sluice login URL --sign-in`.",
        },
      });
    }
    const settings = await get("/managed/settings", access);
    expect([settings.status, settings.headers.get("x-should-retry")]).toEqual([401, "false"]);
  });

  test("of a disabled key is 403, and the key's end reads as the sign-in's", async () => {
    const { access } = await signIn("dora@example.com");
    const key = world.gateway.keys.find(access);
    const become = async (status: "disabled" | "active" | "suspended" | "revoked") => {
      await world.running.store.updateKey(key?.id ?? "", { status });
      await world.gateway.catchUp();
      const response = await send(paths.messages, access, message);
      return [response.status, ((await response.json()) as { error?: { message: string } }).error?.message];
    };
    expect(await become("disabled")).toEqual([
      403,
      "The API key is disabled. Ask the operator to enable it.",
    ]);
    expect((await become("active"))[0]).toBe(200);
    expect(await become("suspended")).toEqual([401, expect.stringContaining("`/login`")]);
    expect((await become("active"))[0]).toBe(200);
    expect(await become("revoked")).toEqual([401, expect.stringContaining("`/login`")]);
  });

  test("is the only one that works: a refresh token is no key", async () => {
    const { refresh } = await signIn("bob@example.com");
    expect((await send(paths.messages, refresh, message)).status).toBe(401);
    expect((await get("/v1/models", refresh)).status).toBe(401);
  });
});

describe("a used-up cap", () => {
  test("has the form that Claude Code shows as it is, for calls with a sign-in's token alone", async () => {
    const { access } = await signIn("cora@example.com", "capped");
    const key = world.gateway.keys.find(access);
    expect((await send(paths.messages, access, message)).status).toBe(200);
    await useUpCap(key?.id ?? "");
    const rejected = await send(paths.messages, access, message);
    expect(rejected.status).toBe(429);
    const body = (await rejected.json()) as { error: { details: { resets_at: string } } };
    expect(body).toMatchObject({
      error: { type: "billing_error", code: "limit_reached", message: expect.stringContaining("its cap") },
    });
    const reset = String(Date.parse(body.error.details.resets_at) / 1000);
    const unified = [...rejected.headers].filter(([name]) => name.startsWith("anthropic-ratelimit-unified"));
    const prefix = "anthropic-ratelimit-unified-";
    expect(Object.fromEntries(unified)).toEqual({
      [`${prefix}status`]: "rejected",
      [`${prefix}reset`]: reset,
      [`${prefix}overage-reset`]: reset,
      [`${prefix}overage-utilization`]: "1",
      [`${prefix}overage-surpassed-threshold`]: "1",
      [`${prefix}overage-period`]: "daily",
      [`${prefix}overage-disabled-reason`]: "org_spend_cap_reached",
    });
    expect(rejected.headers.get("x-should-retry")).toBe("false");
    const chat = await send(paths.chat, access, hello("chat", "gpt-test"));
    expect(chat.status).toBe(429);
    expect([...chat.headers.keys()].join()).not.toContain("unified");
    expect(await chat.json()).toMatchObject({ error: { type: "quota_error", code: "limit_reached" } });
    const caller = await world.creditCaller();
    expect((await send(paths.messages, caller.secret, message)).status).toBe(200);
    await useUpCap(caller.key.id);
    const keys = await send(paths.messages, caller.secret, message);
    expect(await keys.json()).toMatchObject({ error: { type: "rate_limit_error", code: "limit_reached" } });
    expect([...keys.headers.keys()].join()).not.toContain("unified");
  });

  test("is never what the provider says of its own limits", async () => {
    const { access } = await signIn("bob@example.com");
    const headers = {
      "anthropic-ratelimit-unified-status": "allowed",
      "anthropic-ratelimit-unified-reset": "1",
    };
    const said = wholeAnswer("messages", { text: "Hi", usage: { input_tokens: 1, output_tokens: 1 } });
    world.provider.script({ ...said, headers: { ...said.headers, ...headers } });
    const response = await send(paths.messages, access, message);
    world.provider.script(null);
    expect(response.status).toBe(200);
    expect([...response.headers.keys()].join()).not.toContain("unified");
  });

  test("is what /usage of Claude Code shows, in cents", async () => {
    const { access } = await signIn("eva@example.com");
    expect(await (await get("/api/oauth/usage?skip_spend=1", access)).json()).toEqual({
      extra_usage: {
        is_enabled: true,
        monthly_limit: 50_000,
        used_credits: 0,
        utilization: 0,
        currency: "USD",
      },
    });
    const { secret } = await world.creditCaller();
    expect((await get("/api/oauth/usage", secret)).status).toBe(404);
    expect((await get("/api/oauth/usage", "slu_x")).status).toBe(401);
  });
});

describe("managed settings", () => {
  test("are the person's own laid over everyone's, with the checksum that Claude Code computes", async () => {
    const { access } = await signIn("cleo@example.com", "contractors");
    const response = await get("/managed/settings", access);
    const settings = {
      model: "claude-test",
      permissions: { deny: [], defaultMode: "plan" },
      env: { A: "1", B: "2" },
      availableModels: ["claude-test"],
    };
    const canonical =
      '{"availableModels":["claude-test"],"env":{"A":"1","B":"2"},"model":"claude-test","permissions":{"defaultMode":"plan","deny":[]}}';
    const checksum = `sha256:${new Bun.CryptoHasher("sha256").update(canonical).digest("hex")}`;
    expect(await response.json()).toEqual({ uuid: checksum, checksum, settings });
    expect(response.headers.get("etag")).toBe(`"${checksum}"`);
    const same = await get("/managed/settings", access, { "if-none-match": `"${checksum}"` });
    expect([same.status, await same.text()]).toEqual([304, ""]);
    for (const other of ["*", checksum, `W/"${checksum}"`, '"sha256:0"'])
      expect((await get("/managed/settings", access, { "if-none-match": other })).status, other).toBe(200);
  });

  test("are everyone's for others, and 404 for keys", async () => {
    const { access } = await signIn("bob@example.com");
    expect(await (await get("/managed/settings", access)).json()).toMatchObject({
      settings: { model: "claude-test", env: { A: "1" } },
    });
    const { secret } = await world.creditCaller();
    expect((await get("/managed/settings", secret)).status).toBe(404);
    expect((await fetch(`${world.running.url}/managed/settings`)).status).toBe(401);
  });

  test("follow a reload", async () => {
    const { access } = await signIn("bob@example.com");
    await world.reload((config) =>
      config.replaceAll('model = "claude-test", permissions', 'model = "other", permissions'),
    );
    expect(await (await get("/managed/settings", access)).json()).toMatchObject({
      settings: { model: "other" },
    });
    await world.reload((config) =>
      config.replaceAll(/\[\[admin.managed_settings\]\]\n(?:for.*\n)?claude_code.*\n/g, ""),
    );
    expect((await get("/managed/settings", access)).status).toBe(404);
    await world.reload((config) => config);
  });
});

describe("telemetry", () => {
  test("is accepted with a token, and leaves no trace", async () => {
    const { access } = await signIn("bob@example.com");
    const key = world.gateway.keys.find(access);
    const before = (await world.chargesOf({ key: key ?? expect.unreachable(), secret: "" })).length;
    const observed = world.observed.length;
    for (const signal of ["metrics", "logs", "traces"]) {
      const response = await send(`/v1/${signal}`, access, { resourceMetrics: ["x".repeat(100_000)] });
      expect([response.status, await response.json()]).toEqual([200, {}]);
      expect((await send(`/v1/${signal}`, "", {})).status).toBe(401);
    }
    expect(world.observed.length).toBe(observed);
    expect((await world.chargesOf({ key: key ?? expect.unreachable(), secret: "" })).length).toBe(before);
  });
});
