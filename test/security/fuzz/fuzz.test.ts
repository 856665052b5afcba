import { afterAll, beforeAll, expect, test } from "bun:test";
import { type BodyDialectName, bodyDialectNames } from "../../support/body-dialects.ts";

import { configFor } from "../../support/config.ts";
import { usualResponse } from "../../support/fixtures.ts";
import { type ScriptedProvider, type SeenRequest, startProvider } from "../../support/provider.ts";
import { seededRandom } from "../../support/random.ts";
import { type Sluice, startSluice, type TestKey } from "../../support/sluice.ts";
import { waitFor } from "../../support/wait.ts";
import { fuzzedResponse } from "./answers.ts";
import { fuzzedRequest } from "./requests.ts";
import { Wire, type WireResponse } from "./wire.ts";

/**
 * Whatever clients and providers send: no crash, no 500, no hang, no hold left open, and books that are right.
 * Each input is made from the run's seed and its own number, so that `SEED=… INPUT=…` sends one of them again.
 */
const isCompiled = process.env["SLUICE_TEST_TARGET"] === "executable";
const inputs = process.env["SLUICE_SOAK"] === "1" ? 1_000_000 : isCompiled ? 4_000 : 1_000;
const seed = Number(process.env["SEED"] ?? Date.now() % 1_000_000);
const only = process.env["INPUT"] === undefined ? null : Number(process.env["INPUT"]);
const connections = 24;
const timeoutMs = 20_000;
const adminToken = "fuzz-admin-token";
/** Providers of each dialect: one that has failed often is left alone, so that the damage needs many. */
const copies = 30;
const reloadEvery = 400;
const statuses = new Map<number, number>();

let provider: ScriptedProvider;
let sluice: Sluice;
let keys: TestKey[];
let config: string;

beforeAll(async () => {
  provider = startProvider((request) => answerOf(request));
  const head = '[server]\nanonymous_rpm = 10000000\n[log]\nlevel = "warn"\nformat = "json"';
  config = configFor({ url: provider.url, head, tail: manyProviders(provider.url) });
  sluice = await startSluice({ config, env: { SLUICE_ADMIN_TOKEN: adminToken } });
  keys = [
    await sluice.createKey({ credit: 4_000_000 }),
    await sluice.createKey({ mode: "token_budget", budget: 1_000_000_000_000 }),
  ];
});
afterAll(async () => {
  await sluice.dispose();
  provider.stop();
});

function manyProviders(url: string): string {
  return bodyDialectNames
    .flatMap((dialect) =>
      Array.from({ length: copies }, (_copy, index) => {
        const isMessages = dialect === "messages";
        return `[providers.${dialect}${index}]
kind = "${isMessages ? "anthropic" : "openai"}"
base_url = "${url}/${dialect}${isMessages ? "" : "/v1"}"
api_key = "env:TEST_OPENAI_KEY"
dialects = ["${dialect}"]
timeouts = { first_byte = 5, stream_first_byte = 5, idle = 2, total = 10 }
[[models]]
id = "${dialect}-${index}"
provider = "${dialect}${index}"
max_output_tokens = 1000
price = { input = 1.0, output = 2.0 }`;
      }),
    )
    .join("\n");
}

function answerOf(request: SeenRequest) {
  const dialect = bodyDialectNames.find((name) => request.path.startsWith(`/${name}/`));
  const number = /fuzz-input-(\d+)/.exec(request.text)?.[1];
  if (dialect === undefined || number === undefined) return usualResponse(request);
  return fuzzedResponse(dialect, request.body["stream"] === true, randomOf(Number(number), 1));
}

function randomOf(input: number, part: number) {
  return seededRandom(seed * 7919 + input * 31 + part);
}

/** A good request in one of the nine pairs, which gets a damaged answer. */
function askForDamage(input: number): Uint8Array {
  const random = randomOf(input, 0);
  const dialect: BodyDialectName = random.pick(bodyDialectNames);
  const model = `${random.pick(bodyDialectNames)}-${random.below(copies)}`;
  const text = `fuzz-input-${input}`;
  const content = dialect === "responses" ? { input: text } : { messages: [{ role: "user", content: text }] };
  const body = JSON.stringify({ model, stream: random.chance(0.7), ...content });
  const path = { chat: "/v1/chat/completions", responses: "/v1/responses", messages: "/v1/messages" }[
    dialect
  ];
  const repeat = random.chance(0.05) ? `Idempotency-Key: ${input}\r\n` : "";
  return Buffer.from(
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${keys[0]?.key}\r\n${repeat}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

/** All inputs of one kind over many connections; a reload now and then gives every provider a new chance. */
async function sendAll(
  make: (input: number) => Uint8Array,
  check: (response: WireResponse) => string | null,
) {
  const numbers = only === null ? null : [only];
  let next = 0;
  let reloading: Promise<void> | null = null;
  const worker = async () => {
    const wire = new Wire(sluice.url);
    while (next < (numbers?.length ?? inputs / 2)) {
      const input = numbers?.[next] ?? next;
      next += 1;
      if (next % reloadEvery === 0) reloading = sluice.reload(config);
      await reloading;
      const bytes = make(input);
      const complaint = await wire.exchange(bytes, timeoutMs).then(check, (error) => String(error));
      if (complaint !== null) {
        throw new Error(
          `SEED=${seed} INPUT=${input}: ${complaint}\n${Buffer.from(bytes).toString("latin1").slice(0, 3000)}`,
        );
      }
      provider.requests.length = 0;
    }
    wire.close();
  };
  await Promise.all(Array.from({ length: connections }, worker));
  if (only === null) expectVariety();
}

/** A fuzzer whose inputs are all refused at the door finds nothing behind it. */
function expectVariety(): void {
  const total = [...statuses.values()].reduce((sum, count) => sum + count, 0);
  console.log(`answered with ${[...statuses].map(([status, count]) => `${status}: ${count}`).join(", ")}`);
  expect(statuses.get(200) ?? 0).toBeGreaterThan(total / 8);
  expect(total - (statuses.get(200) ?? 0)).toBeGreaterThan(total / 20);
  statuses.clear();
}

/** What a response must never contain, whatever was sent. */
function neverThis({ status, body }: WireResponse): string | null {
  statuses.set(status, (statuses.get(status) ?? 0) + 1);
  if (status === 500 || body.includes('"code":"internal_error"'))
    return `status ${status}: ${body.slice(0, 500)}`;
  return null;
}

async function expectSound(): Promise<void> {
  const headers = { authorization: `Bearer ${adminToken}` };
  const inFlight = async () =>
    /^sluice_requests_in_flight (\d+)$/m.exec(
      await (await sluice.request("/metrics", { headers })).text(),
    )?.[1];
  await waitFor(async () => (await inFlight()) === "0", "all exchanges to end");
  for (const key of keys) {
    const usage = (await (await sluice.request("/v1/usage", { key })).json()) as {
      credits: { reserved: number };
      tokens: { reserved: number };
    };
    expect([usage.credits.reserved, usage.tokens.reserved]).toEqual([0, 0]);
  }
  const audit = await sluice.cli("ledger", "audit");
  expect(audit.code, audit.stdout + audit.stderr).toBe(0);
  expect(sluice.output).not.toContain("a route failed");
  expect(sluice.output).not.toContain('"internal_error"');
}

test(
  `${inputs / 2} damaged requests to every route (SEED=${seed})`,
  async () => {
    await sendAll(
      (input) => fuzzedRequest(randomOf(input, 0), { keys, adminToken }),
      (response) =>
        neverThis(response) ?? (response.status > 500 && response.status !== 503 ? response.body : null),
    );
    await expectSound();
  },
  60 * 60_000,
);

test(
  `${inputs / 2} damaged answers in all nine pairs of dialects (SEED=${seed})`,
  async () => {
    await sendAll(
      askForDamage,
      (response) => neverThis(response) ?? (response.status === 0 ? "closed" : null),
    );
    await expectSound();
  },
  60 * 60_000,
);
