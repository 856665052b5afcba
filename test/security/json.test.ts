import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { text } from "../support/answers.ts";
import { configFor } from "../support/config.ts";
import { fixture } from "../support/fixtures.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";

/**
 * Invariant 16: no JSON crashes the gateway or pollutes it. After every trick an innocent request must still
 * be answered as before, and the provider must see the client's bytes and nothing that a trick put in.
 */
let provider: ScriptedProvider;
let sluice: Sluice;
let key: TestKey;

beforeAll(async () => {
  provider = startProvider();
  sluice = await startSluice({ config: configFor({ url: provider.url }) });
  key = await sluice.createKey();
});
beforeEach(() => provider.reset());
afterAll(async () => {
  await sluice.dispose();
  provider.stop();
});

const user = '"messages":[{"role":"user","content":"Hello"}]';
const routes = [
  ["/v1/chat/completions", user],
  ["/v1/responses", '"input":"Hello"'],
  ["/v1/messages", user],
  ["/v1/messages/count_tokens", user],
] as const;
const models = ["gpt-test", "claude-test"] as const;

/** All routes, passed through and translated. */
const places = routes.flatMap(([path, content]) =>
  models.map((model): { path: string; start: string } => ({
    path,
    start: `{"model":"${model}",${content}`,
  })),
);

async function send(path: string, body: string): Promise<Response> {
  return sluice.request(path, { key, body });
}

async function expectUnharmed(): Promise<void> {
  provider.reset();
  const body = JSON.stringify({ model: "gpt-test", messages: [{ role: "user", content: "Hello" }] });
  const response = await send("/v1/chat/completions", body);
  expect(response.status).toBe(200);
  expect(await response.text()).toBe(fixture("chat/text.json"));
  expect(provider.requests[0]?.text).toBe(body.replace("gpt-test", "gpt-upstream"));
  const translated = await send("/v1/chat/completions", body.replace("gpt-test", "claude-test"));
  expect(translated.status).toBe(200);
  expect(Object.keys(provider.requests[1]?.body ?? {}).sort()).toEqual([
    "max_tokens",
    "messages",
    "model",
    "stream",
  ]);
  expect(provider.requests[1]?.body["stream"]).toBe(false);
  const usage = (await (await sluice.request("/v1/usage", { key })).json()) as {
    credits: { reserved: number };
  };
  expect(usage.credits.reserved).toBe(0);
}

const pollution = [
  '"__proto__":{"stream":true,"isAdmin":true,"max_tokens":1,"model":"claude-test"}',
  '"constructor":{"prototype":{"stream":true}}',
  '"prototype":{"stream":true}',
  '"__proto__":null',
  '"hasOwnProperty":1,"toString":1,"valueOf":1',
  '"metadata":{"__proto__":{"x":1},"constructor":{"prototype":{"x":1}}}',
  '"tools":[{"__proto__":{"type":"function"},"type":"function","name":"x","function":{"name":"__proto__","parameters":{"__proto__":{"x":1}}},"input_schema":{"type":"object","properties":{"__proto__":{"type":"string"}}}}]',
  '"stop":["__proto__"]',
  '"then":"x","toJSON":"x"',
];

const oddValues = [
  '"seed":1e999',
  '"seed":-1e999',
  '"seed":123456789012345678901234567890',
  '"seed":1E-999',
  '"seed":-0',
  '"x":"\\ud800"',
  '"x":"\\udc00\\ud800"',
  '"\\ud83d":"\\ude00"',
  '"x":"\\u0000\\u001f\\u007f"',
  '"\\u0000":1',
  '"":1',
  '"x":""',
  `"x":"${"a".repeat(100_000)}"`,
  `"${"n".repeat(100_000)}":1`,
  `"x":${"[".repeat(62)}${"]".repeat(62)}`,
  `"x":${'{"a":'.repeat(60)}1${"}".repeat(60)}`,
];

const refused = [
  ["too deep a list", `"x":${"[".repeat(65)}${"]".repeat(65)}`],
  ["too deep an object", `"x":${'{"a":'.repeat(65)}1${"}".repeat(65)}`],
  ["a million open brackets", `"x":${"[".repeat(1_000_000)}`],
  ["an open string", '"x":"'],
  ["a bare NaN", '"x":NaN'],
  ["a bare Infinity", '"x":-Infinity'],
  ["a trailing comma", '"x":1,'],
  ["a comment", '"x":1/*x*/'],
  ["a leading zero", '"x":01'],
  ["a raw line break in a string", '"x":"a\nb"'],
  ["a bad escape", '"x":"\\x41"'],
  ["single quotes", "'x':1"],
  ["a governed name twice", '"model":"claude-test"'],
  ["a governed name twice, once escaped", '"mod\\u0065l":"claude-test"'],
  ["stream twice", '"stream":false,"stream":true'],
  ["max_tokens twice", '"max_tokens":1,"max_tokens":100000'],
] as const;

/** Some are longer than a test's name should be. */
function named(members: readonly string[]): [string, string][] {
  return members.map((member) => [member.slice(0, 60), member]);
}

describe("a body with", () => {
  test.each(named(pollution))("%s changes nothing but itself", async (_name, member) => {
    for (const { path, start } of places) {
      const response = await send(path, `${start},${member}}`);
      expect([200, 400], `${path} ${await response.clone().text()}`).toContain(response.status);
      expect(response.headers.get("content-type")).toStartWith("application/json");
    }
    await expectUnharmed();
  });

  test("odd but legal values is answered or refused, never failed", async () => {
    for (const member of oddValues) {
      for (const { path, start } of places) {
        const response = await send(path, `${start},${member}}`);
        expect([200, 400], `${path} ${member.slice(0, 60)} ${await response.clone().text()}`).toContain(
          response.status,
        );
      }
    }
    await expectUnharmed();
  });

  test.each([...refused])("%s gets 400", async (_what, member) => {
    for (const { path, start } of places) {
      const response = await send(path, `${start},${member}}`);
      expect(response.status, path).toBe(400);
      expect(await response.json()).toMatchObject({ error: { code: "invalid_request" } });
    }
    expect(provider.requests).toEqual([]);
    await expectUnharmed();
  });

  const list = (items: number) => `[${Array(items).fill('"x"').join(",")}]`;
  const members = (count: number) =>
    `{${Array.from({ length: count }, (_, index) => `"${index}":1`).join(",")}}`;

  test.each([
    ["100,001 items", `"x":${list(100_001)}`],
    ["100,001 members", `"x":${members(100_001)}`],
    ["as many in all", `"x":[${list(50_000)},${members(50_001)}]`],
  ])("%s gets 400 that says so", async (_what, member) => {
    for (const { path, start } of places) {
      const response = await send(path, `${start},${member}}`);
      expect(response.status, path).toBe(400);
      expect(await response.text()).toContain("more than 100000 list items");
    }
    expect(provider.requests).toEqual([]);
  });

  test("10,001 messages, input items or tools gets 400 that names them; one less passes", async () => {
    const messages = (count: number) => `[${Array(count).fill('{"role":"user","content":"a"}').join(",")}]`;
    const tools = (count: number) => `[${Array(count).fill("{}").join(",")}]`;
    const bodies: [string, string, (count: number) => string][] = [
      ["/v1/chat/completions", "messages", (count) => `{"model":"gpt-test","messages":${messages(count)}}`],
      ["/v1/responses", "input", (count) => `{"model":"gpt-test","input":${messages(count)}}`],
      ["/v1/messages", "messages", (count) => `{"model":"claude-test","messages":${messages(count)}}`],
      ["/v1/chat/completions", "tools", (count) => `{"model":"gpt-test",${user},"tools":${tools(count)}}`],
    ];
    for (const [path, name, body] of bodies) {
      const response = await send(path, body(10_001));
      expect(response.status, name).toBe(400);
      expect(await response.text()).toContain(`\`${name}\` has 10001 items`);
      expect(provider.requests).toEqual([]);
      expect((await send(path, body(10_000))).status, name).toBe(200);
      provider.reset();
    }
  });

  test.each(["null", "[]", '"x"', "5", "true", "", " ", "\ufeff{}", "{}{}", "{} x", "{", "\u0000"])(
    "%p for all gets 400",
    async (body) => {
      for (const [path] of routes) expect((await send(path, body)).status).toBe(400);
    },
  );

  test("passes through with its numbers, escapes, order and white space as they were", async () => {
    const odd = `{ "seed" : 1.0e2, "x":"\\u0041\\ud83d\\ude00", ${user} ,"z":123456789012345678901234567890,"model":"gpt-test","__proto__":{"a":1} }`;
    expect((await send("/v1/chat/completions", odd)).status).toBe(200);
    expect(provider.requests[0]?.text).toBe(odd.replace("gpt-test", "gpt-upstream"));
  });
});

describe("a provider's answer with", () => {
  test.each(
    named([
      ...pollution,
      ...oddValues,
      '"usage":{"__proto__":{"prompt_tokens":5},"prompt_tokens":-5,"completion_tokens":1e999}',
      '"usage":{"prompt_tokens":9007199254740993,"completion_tokens":1.5,"input_tokens":"7","output_tokens":null}',
      '"usage":[]',
      '"usage":"x"',
    ]),
  )("%s neither crashes nor pollutes nor costs more than there is", async (_name, member) => {
    // A key of its own only where the figures may empty it.
    const payer = member.startsWith('"usage"') ? await sluice.createKey() : key;
    for (const [path, content] of routes.slice(0, 3)) {
      for (const model of models) {
        provider.script((request) => {
          const dialect = request.path.endsWith("/messages")
            ? "messages"
            : request.path.endsWith("/responses")
              ? "responses"
              : "chat";
          const usual = fixture(`${dialect}/text.json`).trimEnd();
          return text(`${usual.slice(0, -1)},${member}}`, "application/json");
        });
        const body = `{"model":"${model}",${content}}`;
        const response = await sluice.request(path, { key: payer, body });
        expect([200, 402, 502], await response.clone().text()).toContain(response.status);
      }
    }
    const usage = (await (await sluice.request("/v1/usage", { key: payer })).json()) as {
      credits: { balance: number; reserved: number };
    };
    expect(usage.credits.balance).toBeGreaterThanOrEqual(0);
    expect(usage.credits.reserved).toBe(0);
  });

  test("all of that leaves the books right", async () => {
    const audit = await sluice.cli("ledger", "audit");
    expect(audit.code, audit.stdout + audit.stderr).toBe(0);
  });
});
