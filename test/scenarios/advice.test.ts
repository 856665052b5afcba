import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { configFor } from "../support/config.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";

// 4,000 tokens of output may cost 0.008 credits, and what comes of it far less.
const body = { model: "gpt-test", max_tokens: 4000, messages: [{ role: "user", content: "Hello" }] };

let provider: ScriptedProvider;
let sluice: Sluice;

beforeAll(async () => {
  provider = startProvider();
  const groq = `[providers.groq]
kind = "openai-compatible"
base_url = "https://api.groq.com/openai/v1"
api_key = "env:KEY_THAT_NOBODY_SET"
models = "catalog"
catalog = "groq"
`;
  sluice = await startSluice({ config: configFor({ url: provider.url, tail: groq }) });
});

afterAll(async () => {
  await sluice.dispose();
  provider.stop();
});

const make = (options: string) => sluice.cliJson<TestKey>("keys", "create", ...options.split(" "));

async function makeOn(account: string, options = ""): Promise<TestKey> {
  const { id } = await sluice.cliJson<{ id: string }>("accounts", "create", ...account.split(" "));
  return make(`--account ${id} ${options}`.trim());
}

async function call(key: TestKey, asked: object = body) {
  const response = await sluice.request("/v1/chat/completions", { key, body: asked });
  const { error } = (await response.json()) as { error?: { code: string; details?: { bound: string } } };
  return {
    id: response.headers.get("x-request-id") ?? "",
    status: response.status,
    code: error?.code,
    bound: error?.details?.bound,
  };
}

/** The commands that an explanation recommends, as arguments. */
async function adviceOn(id: string): Promise<string[][]> {
  await waitFor(async () => (await sluice.cli("requests", "show", id)).code === 0, `${id} to be kept`);
  const { explanation } = await sluice.cliJson<{ explanation: string }>("requests", "show", id);
  const commands = [...explanation.matchAll(/`sluice ([^`]+)`/g)].map(([, command]) => command ?? "");
  return commands.map((command) => command.split(" ").map((part) => part.replaceAll("'", "")));
}

/** Does what is advised, and sends the same call again. */
async function follow(key: TestKey, id: string, asked: object = body) {
  const advice = await adviceOn(id);
  for (const command of advice) expect((await sluice.cli(...command)).code).toBe(0);
  // A running gateway knows of it within a second.
  await waitFor(async () => (await call(key, asked)).status === 200, `the call to pass after ${advice}`);
  return advice.map((command) => command.slice(0, 2).join(" "));
}

describe("what `requests show` advises lets the same call through", () => {
  test.each([
    ["balance", "insufficient_credit", () => make("--mode credit --credit 0.001"), ["keys topup"]],
    [
      "balance",
      "insufficient_credit",
      () => makeOn("--mode credit --label shared --credit 0.001"),
      ["accounts topup"],
    ],
    ["budget", "insufficient_credit", () => make("--mode token_budget --budget 100"), ["keys update"]],
    [
      "budget",
      "insufficient_credit",
      () => makeOn("--mode token_budget --label pool --budget 100"),
      ["accounts update"],
    ],
    [
      "key_cap",
      "insufficient_credit",
      () => make("--mode credit --credit 5 --cap 0.001/day --cap 3/month"),
      ["keys raise-cap"],
    ],
    [
      "key_cap",
      "insufficient_credit",
      () => make("--mode credit --credit 5 --cap 0.001/day --cap 0.002/month:gpt-*"),
      ["keys raise-cap", "keys raise-cap"],
    ],
    [
      "key_cap",
      "insufficient_credit",
      () => make("--mode credit --postpaid --cap 0.001/week"),
      ["keys raise-cap"],
    ],
    [
      "account_cap",
      "insufficient_credit",
      () => makeOn("--mode credit --label capped --credit 5 --cap 0.001/day:gpt-* --cap 0.00005/month:other"),
      ["accounts update"],
    ],
    [
      "balance",
      "insufficient_credit",
      () => makeOn("--mode credit --label poor --credit 0.001 --cap 0.004/day", "--cap 0.002/month"),
      ["accounts topup", "accounts update", "keys raise-cap"],
    ],
    ["key_cap", "limit_reached", () => make("--mode credit --credit 5 --cap 0/day"), ["keys raise-cap"]],
    ["budget", "limit_reached", () => make("--mode token_budget --budget 0 --period month"), ["keys update"]],
  ] as const)("%s, %s: case %#", async (bound, code, create, commands) => {
    const key = await create();
    const refused = await call(key);
    expect(refused).toMatchObject({ bound, code });
    expect(await follow(key, refused.id)).toEqual([...commands]);
  });

  test("by caps by value, of what each request finds used and of what only it names", async () => {
    const key = await make("--mode credit --credit 5 --owner ada --tag project=atlas");
    const add = (options: string) => sluice.cliJson("caps", "add", ...options.split(" "));
    await add("0.001/day --owner ada");
    await add(`0.002/day --each tag:project --key ${key.prefix}`);
    await add(`0.003/month --each user --key ${key.prefix}`);
    const asked = { ...body, user: "u1;$(id)" };
    const refusedBy = async (bound: string) => {
      await waitFor(async () => (await call(key, asked)).bound === bound, `the ${bound} to be known`);
      return (await call(key, asked)).id;
    };
    const id = await refusedBy("user_cap");
    const advice = await adviceOn(id);
    // A client chooses the name, and the operator pastes it into a shell.
    expect((await sluice.cli("requests", "show", id)).stdout).toContain("--value 'u1;$(id)' --note");
    expect(advice.map((command) => command.slice(0, 2).join(" "))).toEqual(Array(3).fill("caps raise"));
    for (const command of advice) expect(await sluice.cli(...command)).toMatchObject({ code: 0 });
    await waitFor(async () => (await call(key, asked)).status === 200, "the call to pass");
  });

  test("by a cap that counts as many values as it can", async () => {
    const key = await make("--mode credit --credit 5");
    await sluice.cliJson("caps", "add", ..."1/day --each user --values 1 --key".split(" "), key.prefix);
    const by = (user: string) => ({ ...body, user });
    expect((await call(key, by("u1"))).status).toBe(200);
    await waitFor(async () => (await call(key, by("u2"))).status === 429, "the cap to be known");
    const refused = await call(key, by("u2"));
    expect(await follow(key, refused.id, by("u2"))).toEqual(["caps update"]);
  });

  test("a cap takes no money: the shared account's balance stays as it was", async () => {
    const key = await makeOn("--mode credit --label team --credit 50", "--cap 0.001/day");
    const balance = async () => {
      const shown = await sluice.cliJson<{ account: string; credit: { balance: number } }>(
        ..."keys show".split(" "),
        key.id,
      );
      return shown.credit.balance;
    };
    const refused = await call(key);
    for (const command of await adviceOn(refused.id)) await sluice.cli(...command);
    expect(await balance()).toBe(50);
  });

  test("by a rate limit", async () => {
    const limited = await make("--mode credit --credit 5 --rpm 30");
    const calls = await Promise.all(Array.from({ length: 32 }, () => call(limited)));
    const late = calls.find(({ code }) => code === "rate_limit_exceeded") ?? { id: "none" };
    expect(await follow(limited, late.id)).toEqual(["keys update"]);
  });

  test("by a status, a list of models or a provider", async () => {
    const changed: [string, string, () => Promise<unknown>][] = [
      ["keys enable", "key_disabled", () => sluice.cli("keys", "disable", stopped.id)],
      ["keys enable", "invalid_credentials", () => sluice.cli("keys", "suspend", stopped.id)],
      [
        "keys update",
        "key_disabled",
        () => sluice.cli("keys", "update", stopped.id, "--models", "claude-test"),
      ],
      [
        "keys update",
        "key_disabled",
        () => sluice.cli("keys", "update", stopped.id, "--provider", "anthropic"),
      ],
      [
        "keys update",
        "key_disabled",
        () => sluice.cli("keys", "update", stopped.id, "--provider", "anthropic", "--models", "local-test"),
      ],
    ];
    const stopped = await make("--mode credit --credit 5");
    for (const [command, code, change] of changed) {
      await change();
      await waitFor(async () => (await call(stopped)).code === code, `the key to be refused with ${code}`);
      const refused = await call(stopped);
      expect(await follow(stopped, refused.id)).toEqual([command]);
    }
  });

  test("by an expiry", async () => {
    const brief = await make("--mode credit --credit 5 --expires 1s");
    await waitFor(async () => (await call(brief)).code === "key_expired", "the key to expire");
    expect(await follow(brief, (await call(brief)).id)).toEqual(["keys update"]);
  });
});

test("`requests show` says what of the running configuration keeps a model from being served", async () => {
  const key = await make("--mode credit --credit 5");
  const explained = async (model: string) => {
    const { id } = await call(key, { ...body, model });
    await waitFor(async () => (await sluice.cli("requests", "show", id)).code === 0, `${id} to be kept`);
    return (await sluice.cliJson<{ explanation: string }>("requests", "show", id)).explanation;
  };
  expect(await explained("claude-opus-4-8")).toContain(
    'The catalog has its price: add "claude-opus-4-8" to `models` of [providers.anthropic]',
  );
  expect(await explained("llama-3.3-70b-versatile")).toContain(
    'Provider "groq" would serve it, but has no usable key; set KEY_THAT_NOBODY_SET',
  );
});
