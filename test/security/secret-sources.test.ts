import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { generateKeyPairSync } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TObject, TSchema } from "@sinclair/typebox";
import type { Json } from "../../src/base/json.ts";
import { withoutSecrets } from "../../src/base/secrets/secrets.ts";
import { type Marks, secrecy } from "../../src/config/schema/marks.ts";
import { configSchema } from "../../src/config/schema.ts";
import { locateStore } from "../../src/config/store.ts";
import { vendorOption, vendorOptionNames } from "../../src/vendors/options.ts";
import { startCollector } from "../observe/collector.ts";
import { json } from "../support/answers.ts";
import { usualResponse } from "../support/fixtures.ts";
import { newFolder } from "../support/new-folder.ts";
import { startProvider } from "../support/provider.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";

/**
 * Every way by which the gateway gets to know a secret, and everything that it writes. A client sends all secrets in one request, and a
 * careless provider quotes them in an error.
 */
const base64Key = (letter: string) => Buffer.from(letter.repeat(32)).toString("base64");

/** What the environment has, by the variable. */
const environment = {
  SLUICE_ADMIN_TOKEN: "canary-admin-token-0123456789",
  OIDC_SECRET: "canary-oidc-secret-77aa",
  CONTENT_KEY: base64Key("c"),
  RESPONSES_KEY: base64Key("r"),
  TRACE_HEADER: "canary-trace-header-91bc",
  ALERT_URL: "http://127.0.0.1:1/canary-alert-address",
  ALERT_SECRET: "canary-alert-secret-1e1e",
  FEED_URL: "http://127.0.0.1:1/canary-feed-address",
  FEED_SECRET: "canary-feed-secret-7c7c",
  POOL_KEY: "canary-pool-key-4f1d",
  PROVIDER_HEADER: "canary-provider-header-5d5d",
  ENTRA_SECRET: "canary-entra-secret-0a0a",
  AWS_ID: "AKIACANARY0000000001",
  AWS_SECRET: "canary-aws-secret-5b21",
  AWS_TOKEN: "canary-aws-session-9c40",
  PGPASSWORD: "canary-database-password",
  AWS_ACCESS_KEY_ID: "AKIACANARY0000000002",
  AWS_SECRET_ACCESS_KEY: "canary-chain-secret-18f0",
  AWS_SESSION_TOKEN: "canary-chain-session-18f1",
  IDENTITY_HEADER: "canary-identity-header-8d3c",
};
/** These name an account, and are not enough to use it. */
const publicVariables = new Set(["AWS_ACCESS_KEY_ID"]);

const files = { "api.key": "canary-key-of-a-file-63e2" };
const proxyPassword = "canary+proxy/password";
const tracePassword = "canary-trace-password-4b4b";
const issuedToken = "canary-issued-token-2d2d2d2d";

const newPem = () =>
  generateKeyPairSync("rsa", { modulusLength: 2048 })
    .privateKey.export({ type: "pkcs8", format: "pem" })
    .toString();
const pems = { configured: newPem(), found: newPem() };

function keyFile(tokenUri: string, privateKey: string): string {
  return JSON.stringify({
    type: "service_account",
    project_id: "p",
    client_email: "someone@example.com",
    private_key: privateKey,
    token_uri: tokenUri,
  });
}

/** The lines of a private key that are no marks. */
function contentOf(pem: string): string[] {
  return pem.split("\n").filter((line) => line !== "" && !line.startsWith("-----"));
}

/** A private key as texts quote it. */
function quotedForms(pem: string): string[] {
  const whole = contentOf(pem).join("");
  return [
    pem,
    pem.replaceAll("\n", "\r\n"),
    pem.replaceAll("\n", "\\n"),
    pem.replaceAll("\n", " "),
    whole,
    (whole.match(/.{1,76}/g) ?? []).join("\n"),
    JSON.stringify({ a: JSON.stringify({ private_key: pem }) }),
    JSON.stringify({ a: JSON.stringify({ private_key: pem.replaceAll("\n", "\\n") }) }),
  ];
}

const folder = newFolder();
const provider = startProvider((request) => {
  if (request.path === "/token") return json({ access_token: issuedToken, expires_in: 3600 });
  const isQuoted = request.text.includes("quote it");
  if (!isQuoted) return usualResponse(request);
  const message = `${Object.values(request.headers).join(" ")} refused: ${request.text}`;
  return json({ error: { message, type: "invalid_request_error" } }, { status: 400 });
});
const collector = startCollector();

const config = `
[server]
trusted_proxies = ["127.0.0.1"]
[log]
level = "trace"
format = "json"
[admin]
members = "everyone"
user_header = "x-forwarded-email"
member_keys = { account = "crowd" }
[admin.oidc]
issuer = "http://127.0.0.1:1"
client_id = "sluice"
client_secret = "env:OIDC_SECRET"
[content]
key = "env:CONTENT_KEY"
[responses]
encryption_key = "env:RESPONSES_KEY"
[tracing]
otlp_endpoint = "${collector.url.replace("//", `//user:${tracePassword}@`)}"
headers = { authorization = "env:TRACE_HEADER" }
content = true
[alerts]
url = "env:ALERT_URL"
secret = "env:ALERT_SECRET"
[feed]
url = "env:FEED_URL"
secret = "env:FEED_SECRET"
[providers.openai]
kind = "openai"
base_url = "${provider.url}/v1"
api_key = ["file:${folder}/api.key", "env:POOL_KEY"]
headers = { X-House = "env:PROVIDER_HEADER" }
[providers.azure]
kind = "azure"
base_url = "${provider.url}/openai/v1"
tenant_id = "tenant"
client_id = "client"
client_secret = "env:ENTRA_SECRET"
[providers.bedrock]
kind = "bedrock"
region = "eu-canary-1"
base_url = "${provider.url}"
access_key_id = "env:AWS_ID"
secret_access_key = "env:AWS_SECRET"
session_token = "env:AWS_TOKEN"
[providers.vertex]
kind = "vertex"
base_url = "${provider.url}"
location = "global"
credentials = "file:${folder}/configured.json"
[providers.found]
kind = "vertex"
base_url = "${provider.url}"
location = "global"
project = "p"
credentials = "adc"
${["openai", "azure", "bedrock", "vertex", "found"].map(modelOf).join("")}
`;

function modelOf(name: string): string {
  const upstream = name === "vertex" || name === "found" ? "meta/llama-4-maverick" : "gpt-5.6";
  return `[[models]]\nid = "${name}"\nprovider = "${name}"\nupstream_model = "${upstream}"\nmax_output_tokens = 100\nprice = { input = 1.0, output = 1.0 }\n`;
}

let sluice: Sluice;
let key: TestKey;
/** Each secret by the name of its source. */
let secrets: Readonly<Record<string, string>>;
let errors = "";

beforeAll(async () => {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const tokenUri = `${provider.url}/token`;
  // In the file of the configuration, line ends are written as in an environment variable.
  const configured = pems.configured.replaceAll("\n", "\\n");
  writeFileSync(join(folder, "configured.json"), keyFile(tokenUri, configured));
  writeFileSync(join(folder, "found.json"), keyFile(tokenUri, pems.found));
  const { AWS_ID: _, ...more } = environment;
  sluice = await startSluice({
    config,
    env: {
      AWS_ID: environment.AWS_ID,
      ...more,
      GOOGLE_APPLICATION_CREDENTIALS: join(folder, "found.json"),
      https_proxy: `http://user:${encodeURIComponent(proxyPassword)}@127.0.0.1:1`,
    },
  });
  await sluice.cliJson("accounts", "create", "--label", "crowd", "--mode", "credit");
  key = await sluice.createKey({ credit: 1000 });
  // The tokens and the key files that are read when they are needed.
  for (const model of ["vertex", "found"]) await ask({ model, messages: [{ role: "user", content: "hi" }] });
  const variables = Object.entries(environment).filter(([name]) => !publicVariables.has(name));
  secrets = {
    ...Object.fromEntries(variables),
    ...files,
    proxyPassword,
    tracePassword,
    issuedToken,
    key: key.key,
    session: await session(),
    deviceCode: await deviceCode(),
  };
  await sendLabels();
  await sendAll();
}, 120_000);
afterAll(async () => {
  await sluice.dispose();
  provider.stop();
  await collector[Symbol.asyncDispose]();
});

async function ask(
  body: object,
  { path = "/v1/chat/completions", headers = {} }: { path?: string; headers?: Record<string, string> } = {},
): Promise<{ id: string; text: string }> {
  const response = await sluice.request(path, { key, body, headers });
  const text = await response.text();
  return { id: response.headers.get("x-request-id") ?? "", text };
}

async function session(): Promise<string> {
  const response = await fetch(`${sluice.url}/admin/api/v1/session`, {
    method: "POST",
    body: JSON.stringify({ token: environment.SLUICE_ADMIN_TOKEN }),
    headers: { origin: sluice.url, "content-type": "application/json" },
  });
  return /sluice_session=(\w+)/.exec(response.headers.get("set-cookie") ?? "")?.[1] ?? "";
}

async function deviceCode(): Promise<string> {
  const body = new URLSearchParams({ client_id: "sluice-cli" });
  const response = await fetch(`${sluice.url}/oauth/device_authorization`, { method: "POST", body });
  return ((await response.json()) as { device_code: string }).device_code;
}

/** In every label that a client can send. */
async function sendLabels(): Promise<void> {
  const messages = [{ role: "user", content: "hi" }];
  for (const secret of [...Object.values(secrets), ...Object.values(pems)]) {
    const isHeader = /^[ -~]+$/.test(secret);
    const isTag = /^[\w.:@-]{1,64}$/.test(secret);
    const headers = {
      ...(isHeader && { "x-session-id": secret, "x-request-id": secret }),
      ...(isTag && { "x-sluice-tags": `${secret}=a,team=${secret}` }),
    };
    // The end of a secret is beyond what is kept of a label.
    const long = `${"x".repeat(240)}${secret}`;
    await ask({ model: "openai", messages, user: `me ${secret}` }, { headers });
    await ask({ model: "openai", messages, user: long, prompt_cache_key: `mine ${secret}` });
    const body = { model: "openai", max_tokens: 10, messages, metadata: { user_id: `me ${secret}` } };
    await ask(body, { path: "/v1/messages" });
  }
}

/** In prompts, in the arguments of a tool, and in an error that quotes them. */
async function sendAll(): Promise<void> {
  const quoted = [...Object.values(secrets), ...Object.values(pems).flatMap(quotedForms)];
  for (const secret of quoted) {
    const call = {
      id: "a",
      type: "function",
      function: { name: "f", arguments: JSON.stringify({ k: secret }) },
    };
    const messages = [
      { role: "user", content: `my secret: ${secret}.` },
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: "a", content: secret },
    ];
    await ask({ model: "openai", messages });
    errors += (await ask({ model: "openai", messages: [{ role: "user", content: `quote it: ${secret}` }] }))
      .text;
  }
}

function api(path: string): Promise<string> {
  const headers = { authorization: `Bearer ${environment.SLUICE_ADMIN_TOKEN}` };
  return sluice.request(`/admin/api/v1${path}`, { headers }).then((response) => response.text());
}

function expectNone(text: string): void {
  const found = Object.entries(secrets).filter(([, secret]) => text.includes(secret));
  expect(found.map(([name]) => name)).toEqual([]);
  for (const [name, pem] of Object.entries(pems)) {
    const lines = contentOf(pem).filter((line) => text.includes(line.slice(8, 40)));
    expect(lines.length, `lines of the ${name} private key`).toBe(0);
  }
}

test("every option that holds a secret is configured above", () => {
  const { providers: _, models: __, ...sections } = configSchema.properties;
  const inSections = Object.entries(sections).flatMap(([name, schema]) => secretsIn(schema, name));
  const options = vendorOptionNames.filter((name) => vendorOption(name).holds !== "value");
  expect(inSections).toEqual([
    // For the store, see below.
    ...["store.url", "store.password", "responses.encryption_key", "content.key"],
    ...["admin.token", "admin.oidc.client_secret"],
    ...["tracing.otlp_endpoint", "tracing.headers", "alerts.url", "alerts.secret"],
    ...["feed.url", "feed.secret"],
  ]);
  for (const name of options) expect(config).toContain(`\n${name} = "`);
});

function secretsIn(schema: TSchema, path: string): string[] {
  return Object.entries((schema as TObject).properties ?? {}).flatMap(([name, field]) => {
    const isSecret = (field as Marks)[secrecy] !== undefined;
    return [...(isSecret ? [`${path}.${name}`] : []), ...secretsIn(field, `${path}.${name}`)];
  });
}

test("the password of the database is known, however it is configured", () => {
  const [url, inFile] = ["canary database/one", "canary-database-two"];
  const store = "postgres://user@db.example.com:5432/sluice";
  const withPassword = store.replace("user@", `user:${encodeURIComponent(url)}@`);
  const place = { cwd: folder, text: "" };
  locateStore({ ...place, env: { SLUICE_STORE: withPassword } });
  const text = '[store]\nurl = "postgres://user@db.example.com:5432/sluice"\npassword = "env:PASSWORD"\n';
  locateStore({ ...place, text, env: { PASSWORD: inFile } });
  for (const password of [url, encodeURIComponent(url), inFile])
    expect(withoutSecrets(`with ${password}, rejected`)).toBe("with [secret], rejected");
});

describe("no secret, wherever the gateway knows it from, is in", () => {
  test("recorded content: one document, its export, and the files", async () => {
    const exported = await api("/content/export");
    expect(exported).toContain("my secret: [secret].");
    expectNone(exported);
    const { data } = JSON.parse(await api("/content?limit=200")) as { data: { id: string }[] };
    expect(data.length).toBeGreaterThan(60);
    for (const { id } of data.slice(0, 40)) expectNone(await api(`/requests/${id}/content`));
    for (const name of ["content.db", "content.db-wal", "sluice.db", "sluice.db-wal"]) {
      const file = join(sluice.folder, "data", name);
      if (existsSync(file)) expectNone(readFileSync(file, "latin1"));
    }
  });

  test("an error that quotes a provider", () => {
    expect(errors).toContain("refused");
    expectNone(errors);
  });

  test("lists, documents and exports of requests and of the ledger", async () => {
    const list = await api("/requests?limit=200");
    const { data } = JSON.parse(list) as { data: { id: string }[] };
    expect(data.length).toBeGreaterThan(60);
    expectNone(list);
    for (const { id } of data.slice(0, 40)) expectNone(await api(`/requests/${id}`));
    const byUser = await api("/usage?by=user");
    expect(byUser).toContain("me [secret]");
    expectNone(byUser);
    for (const by of ["session", "tag:team"]) expectNone(await api(`/usage?by=${by}`));
    for (const path of ["/config", "/audit", "/providers", "/alerts", "/ledger/export"])
      expectNone(await api(path));
  });

  test("spans with content", async () => {
    const attributes = () =>
      JSON.stringify(collector.spans().map((span) => span.attributes as unknown as Json));
    await waitFor(() => collector.spans().length > 60, "the spans");
    expect(attributes()).toContain("my secret: [secret].");
    expectNone(attributes());
  });

  test("the log", () => {
    expect(sluice.output).toContain(key.prefix);
    expectNone(sluice.output);
  });
});
