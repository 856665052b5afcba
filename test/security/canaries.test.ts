import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Answer, bytesOf, hangUp, json, sse, text } from "../support/answers.ts";
import { type BodyDialectName, bodyDialectNames } from "../support/body-dialects.ts";
import { fixtureText, usualResponse } from "../support/fixtures.ts";
import { type ScriptedProvider, type SeenRequest, startProvider } from "../support/provider.ts";
import { rawExchange } from "../support/raw.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";

/**
 * Invariant 12: words that must not be written down are sent through every corner of the program, and then
 * looked for in everything it has written: both outputs at the most talkative level, errors, headers, metrics,
 * the admin API and the data folder. The one place that may hold an answer is the store of responses to
 * requests with an `Idempotency-Key`, because replaying it is what the client asked for. Responses that clients may continue
 * are kept too, sealed with a key that is not in the folder.
 */
const secrets = {
  openAiKey: "canary-openai-key-4f1d",
  anthropicKey: "canary-anthropic-key-9b2e",
  geminiKey: "canary-gemini-key-3c8f",
  providerHeader: "canary-provider-header-77aa",
  adminToken: "canary-admin-token-0123456789",
  encryptionKey: Buffer.from("canary-encryption-key-0123456789").toString("base64"),
  cookie: "canary-cookie-5c5c",
  wrongKey: "slu_canaryWrongKeyThatNobodyEverMade0000000",
  foreignHeader: "canary-foreign-header-d00d",
};
const prompt = "canary_prompt_e1e1";
const answer = "canary_answer_a2a2";

/** What a careless provider says: everything it knows, the caller's key and prompt included. */
function careless({ headers, text: sent }: SeenRequest): string {
  const key = headers["authorization"] ?? headers["x-api-key"] ?? headers["x-goog-api-key"];
  return `Key ${key}, ${headers["x-house"]} refused: ${sent}`;
}

/** An answer with the canary in place of the fixtures' text, in whatever dialect and form was asked for. */
function answering(request: SeenRequest): Answer {
  const usual = usualResponse(request);
  const steps = usual.steps.map((step) =>
    "write" in step ? { write: String(step.write).replaceAll(fixtureText.slice(0, 7), answer) } : step,
  );
  const headers = { ...usual.headers, "x-secret-of-provider": request.headers["authorization"] ?? "none" };
  return { ...usual, framing: "chunked", headers, steps };
}

/** An answer that is good at first and then turns into a careless error. */
function turning(request: SeenRequest): Answer {
  const good = answering(request);
  const error = JSON.stringify({
    type: "error",
    error: { type: "server_error", message: careless(request) },
  });
  const events = new TextDecoder().decode(bytesOf(good)).split(/(?<=\n\n)/);
  const upToAnswer = events.slice(0, events.findIndex((event) => event.includes(answer)) + 1).join("");
  return { ...good, steps: [{ write: `${upToAnswer}event: error\ndata: ${error}\n\n` }] };
}

/** Each at a provider of its own, because one that has failed is left alone for a while. */
const scenarios: readonly ((request: SeenRequest) => Answer)[] = [
  answering,
  ...[302, 400, 401, 402, 403, 404, 413, 422, 429, 500, 503, 529].map(
    (status) => (request: SeenRequest) => json({ error: { message: careless(request) } }, { status }),
  ),
  (request) => json({ error: { type: "authentication_error", message: careless(request) } }),
  (request) => sse(`data: {"type":"error","error":{"message":${JSON.stringify(careless(request))}}}\n\n`),
  (request) => (request.body["stream"] === true ? turning(request) : hangUp()),
  (request) => text(careless(request), "text/html"),
  (request) => text(`{"${careless(request)}`, "application/json"),
  () => text(`{${answer}}`, "application/json"),
  () => sse(`data: {${answer}}\n\n`),
  (request) => text(careless(request), "text/plain", { status: 400 }),
];

let provider: ScriptedProvider;
let sluice: Sluice;
let creditKey: TestKey;
let tokenKey: TestKey;
/** Everything that came back to a client, but for the bodies of good answers. */
const seenByClients: string[] = [];

function providersOf(url: string): string {
  const kinds = {
    openai: ["TEST_OPENAI_KEY", "/v1"],
    anthropic: ["TEST_ANTHROPIC_KEY", ""],
    gemini: ["TEST_GEMINI_KEY", ""],
  } as const;
  return Object.entries(kinds)
    .flatMap(([kind, [key, suffix]]) =>
      scenarios.map(
        (_scenario, index) => `[providers.${kind}${index}]
kind = "${kind}"
base_url = "${url}/${index}${suffix}"
api_key = "env:${key}"
headers = { X-House = "env:TEST_PROVIDER_HEADER" }
[[models]]
id = "${kind}${index}"
provider = "${kind}${index}"
max_output_tokens = 1000
price = { input = 1.0, output = 2.0 }
`,
      ),
    )
    .join("\n");
}

beforeAll(async () => {
  provider = startProvider((request) => {
    const scenario = scenarios[Number(request.path.split("/")[1])] ?? answering;
    return scenario(request);
  });
  const head = `[server]\nanonymous_rpm = 100000\n[log]\nlevel = "trace"\nformat = "json"\n[responses]\nencryption_key = "env:TEST_ENCRYPTION_KEY"\n`;
  sluice = await startSluice({
    config: head + providersOf(provider.url),
    env: {
      TEST_OPENAI_KEY: secrets.openAiKey,
      TEST_ANTHROPIC_KEY: secrets.anthropicKey,
      TEST_GEMINI_KEY: secrets.geminiKey,
      TEST_PROVIDER_HEADER: secrets.providerHeader,
      SLUICE_ADMIN_TOKEN: secrets.adminToken,
      SLUICE_LOG_LEVEL: "trace",
      TEST_ENCRYPTION_KEY: secrets.encryptionKey,
    },
  });
  creditKey = await sluice.createKey({ credit: 1000 });
  tokenKey = await sluice.createKey({ mode: "token_budget", budget: 1_000_000 });
  await sendEverything();
  await sendStrangers();
  await sendInQuery();
});
afterAll(async () => {
  await sluice.dispose();
  provider.stop();
});

const asks: Readonly<Record<BodyDialectName, { path: string; body: object }>> = {
  chat: { path: "/v1/chat/completions", body: { messages: [{ role: "user", content: prompt }] } },
  responses: { path: "/v1/responses", body: { input: prompt } },
  messages: { path: "/v1/messages", body: { messages: [{ role: "user", content: prompt }] } },
};

async function ask(
  dialect: BodyDialectName,
  key: TestKey,
  more: object,
  headers: Record<string, string> = {},
): Promise<void> {
  const { path, body } = asks[dialect];
  const response = await sluice.request(path, {
    key,
    body: { ...body, ...more },
    headers: {
      cookie: `session=${secrets.cookie}`,
      "x-foreign": secrets.foreignHeader,
      "x-request-id": "caller-1",
      ...headers,
    },
  });
  seenByClients.push(JSON.stringify([...response.headers]), await response.text());
}

/** Good, bad and broken exchanges of every kind, in every pair of dialects. */
async function sendEverything(): Promise<void> {
  for (const dialect of bodyDialectNames) {
    const models = scenarios.flatMap((_scenario, index) => [
      ...[`openai${index}`, `anthropic${index}`, `gemini${index}`],
    ]);
    await Promise.all(
      models.flatMap((model) => [
        ask(dialect, creditKey, { model, stream: true }),
        ask(dialect, tokenKey, { model, stream: false }),
      ]),
    );
    await ask(dialect, creditKey, { model: "openai0", max_tokens: -1, max_output_tokens: -1 });
    // The name itself is kept, so that an operator can tell what a client got wrong.
    await ask(dialect, creditKey, { model: "no-such-model", metadata: { note: prompt } });
    await ask(dialect, creditKey, { model: "openai0", messages: prompt, input: 5 });
  }
}

/** Google's clients may send the key in the query, which is written nowhere and sent to no provider. */
async function sendInQuery(): Promise<void> {
  const body = { contents: [{ parts: [{ text: prompt }] }] };
  const models = scenarios.flatMap((_scenario, index) => [`openai${index}`, `gemini${index}`]);
  await Promise.all(
    [...models, "no-such-model"].flatMap((model) =>
      [`generateContent?key=${creditKey.key}`, `streamGenerateContent?alt=sse&key=${creditKey.key}`].map(
        async (method) => {
          const response = await sluice.request(`/v1beta/models/${model}:${method}`, { body });
          // A stream that fails breaks off.
          seenByClients.push(await response.text().catch(() => ""));
        },
      ),
    ),
  );
  for (const key of [secrets.wrongKey, tokenKey.key])
    for (const path of ["/v1/models", "/v1beta/models/openai0:predict", "/v1beta/files"])
      seenByClients.push(await (await sluice.request(`${path}?key=${key}`)).text());
  expect(JSON.stringify(provider.requests.map(({ path, headers }) => [path, headers]))).not.toContain(
    creditKey.key,
  );
}

async function sendStrangers(): Promise<void> {
  for (const path of [
    "/v1/chat/completions",
    "/v1/usage",
    "/metrics",
    "/admin/api/v1/config",
    `/${prompt}`,
  ]) {
    for (const headers of [
      { authorization: `Bearer ${secrets.wrongKey}` },
      { authorization: `Basic ${secrets.wrongKey}` },
      { "x-api-key": secrets.wrongKey, authorization: `Bearer ${secrets.wrongKey}` },
    ]) {
      const response = await sluice.request(path, { headers: { cookie: secrets.cookie, ...headers } });
      seenByClients.push(JSON.stringify([...response.headers]), await response.text());
    }
  }
  await rawExchange(sluice.url, `GET /v1/usage?key=${secrets.wrongKey} HTTP/1.1\r\nHost: \r\n\r\n`, 50);
  await rawExchange(sluice.url, `NONSENSE ${secrets.wrongKey}\r\n\r\n`, 50);
}

/** Expects that no secret appears in the text, nor any of the given words from a call. */
function expectNone(where: string, written: string, words: readonly string[] = []): void {
  for (const [name, secret] of Object.entries({
    ...secrets,
    creditKey: creditKey.key,
    tokenKey: tokenKey.key,
  })) {
    const at = written.indexOf(secret);
    expect(at === -1 ? "" : `${name} in ${where}: …${written.slice(Math.max(0, at - 200), at + 60)}`).toBe(
      "",
    );
  }
  for (const word of words) {
    const at = written.indexOf(word);
    expect(at === -1 ? "" : `${word} in ${where}: …${written.slice(Math.max(0, at - 200), at + 60)}`).toBe(
      "",
    );
  }
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

function expectCleanFolder(words: readonly string[]): void {
  const files = filesBelow(join(sluice.folder, "data"));
  expect(files.length).toBeGreaterThan(0);
  for (const file of files) expectNone(file, readFileSync(file, "latin1"), words);
}

describe("no secret, prompt or answer is found in", () => {
  test("what the program wrote to both outputs", async () => {
    const { path, body } = asks.chat;
    const last = await sluice.request(path, { key: creditKey, body: { ...body, model: "openai0" } });
    await sluice.told(last.headers.get("x-request-id") ?? "no id");
    expectNone("the output", sluice.output, [prompt, answer]);
  });

  test("errors and headers", () => {
    expect(seenByClients.length).toBeGreaterThan(scenarios.length * 12);
    expectNone("an answer", seenByClients.join("\n"));
  });

  test("metrics, health and the public pages", async () => {
    const headers = { authorization: `Bearer ${secrets.adminToken}` };
    for (const path of ["/metrics", "/healthz", "/readyz", "/", "/openapi.json", "/v1/models", "/admin"]) {
      const response = await sluice.request(path, path === "/metrics" ? { headers } : {});
      expect(response.status).toBe(200);
      expectNone(path, `${JSON.stringify([...response.headers])}${await response.text()}`, [prompt, answer]);
    }
  });

  test("the admin API", async () => {
    const headers = { authorization: `Bearer ${secrets.adminToken}` };
    const base = "/admin/api/v1";
    const document = (await (await sluice.request(`${base}/openapi.json`)).json()) as {
      paths: Record<string, Record<string, unknown>>;
    };
    const places = Object.keys(document.paths).filter((path) => "get" in (document.paths[path] ?? {}));
    expect(places.length).toBeGreaterThan(8);
    for (const place of places.filter((path) => !path.endsWith("/tail"))) {
      const path = (place.startsWith(base) ? place : base + place).replace(/\{\w+\}/, creditKey.id);
      const response = await sluice.request(path, { headers });
      expectNone(path, await response.text(), [prompt, answer]);
    }
  });

  test("the data folder, while it runs and after it was stopped", async () => {
    expectCleanFolder([prompt, answer]);
    expect(await sluice.stop()).toBe(0);
    expectCleanFolder([prompt, answer]);
    expectNone("the output", sluice.output, [prompt, answer]);
    await sluice.restart();
  });

  test("the data folder after a response was kept for replay, but for that response", async () => {
    for (const dialect of bodyDialectNames) {
      const model = { model: "openai0", stream: true };
      await ask(dialect, creditKey, model, { "idempotency-key": `canary-${dialect}` });
    }
    expectCleanFolder([prompt]);
    const written = filesBelow(join(sluice.folder, "data")).map((file) => readFileSync(file, "latin1"));
    expect(written.join("")).toContain(answer);
  });
});
