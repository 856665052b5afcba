import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type BodyDialectName, bodyDialectNames } from "../support/body-dialects.ts";

import { type ScriptedProvider, type SeenRequest, startProvider } from "../support/provider.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";
import { readStream } from "../support/sse.ts";
import { waitFor } from "../support/wait.ts";
import { type Fault, faults } from "./matrix.ts";

/**
 * Every upstream fault in every dialect: what the client gets, what is charged, what the provider saw.
 * Each pair has its own provider and model, because a failed one is in cooldown for a while.
 */
const pairs = bodyDialectNames.flatMap((dialect) =>
  faults.map((fault, index) => ({ dialect, fault, id: `f${index}-${dialect}` })),
);

const asks: Readonly<Record<BodyDialectName, { path: string; body: object }>> = {
  chat: { path: "/v1/chat/completions", body: { messages: [{ role: "user", content: "Hello" }] } },
  responses: { path: "/v1/responses", body: { input: "Hello" } },
  messages: { path: "/v1/messages", body: { messages: [{ role: "user", content: "Hello" }] } },
};

const properEnds: Readonly<Record<BodyDialectName, RegExp>> = {
  chat: /\[DONE\]/,
  responses: /"type":\s*"response\.(completed|incomplete)"/,
  messages: /message_stop/,
};

const inBandShapes: Readonly<Record<BodyDialectName, RegExp>> = {
  chat: /data: \{"error":\{"message":"[^"]+","type":"\w+","code":"\w+"/,
  responses: /event: response\.failed\ndata: \{"type":"response\.failed"/,
  messages: /event: error\ndata: \{"type":"error","error":\{"type":"\w+","message":"/,
};

const heartbeats: Readonly<Record<BodyDialectName, RegExp>> = {
  chat: /^: keepalive$/m,
  responses: /^event: keepalive$/m,
  messages: /^event: ping$/m,
};

/** Answers a TLS greeting with a 400, as web servers do. */
const plain = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() });

let provider: ScriptedProvider;
let sluice: Sluice;

beforeAll(async () => {
  provider = startProvider((request) => {
    const pair = pairs.find(({ id }) => isFor(request, id));
    if (pair === undefined) throw new Error(`nobody should ask for ${request.path}`);
    return pair.fault.answer(pair.dialect);
  });
  sluice = await startSluice({
    config: ["[server]\nheartbeat = 0.25", ...pairs.map(configOf)].join("\n"),
    env: { PROVIDER_KEY: "sk-upstream-canary" },
  });
});
afterAll(async () => {
  await sluice.dispose();
  provider.stop();
  await plain.stop(true);
});

function configOf({ id, dialect, fault }: (typeof pairs)[number]): string {
  const isMessages = dialect === "messages";
  const base = fault.baseUrl?.(plain.url.origin) ?? provider.url;
  return `[providers.${id}]
kind = "${isMessages ? "anthropic" : "openai"}"
base_url = "${base}/${id}${isMessages ? "" : "/v1"}"
api_key = "env:PROVIDER_KEY"
dialects = ["${dialect}"]
timeouts = { first_byte = 0.5, stream_first_byte = 0.5, idle = 0.6, total = 2 }
[[models]]
id = "${id}"
provider = "${id}"
max_output_tokens = 1000
price = { input = 1.0, output = 2.0 }`;
}

function isFor(request: SeenRequest, id: string): boolean {
  return request.path.startsWith(`/${id}/`);
}

interface Standing {
  credits: { used: number; reserved: number };
  requests: { total: number };
}

async function standingOf(key: TestKey): Promise<Standing> {
  return (await (await sluice.request("/v1/usage", { key })).json()) as Standing;
}

describe.each([...bodyDialectNames])("toward a %s client, a provider that", (dialect) => {
  const ofDialect = pairs.filter((pair) => pair.dialect === dialect);
  test.each(ofDialect.map(({ fault, id }): [string, Fault, string] => [fault.name, fault, id]))(
    "%s",
    async (_name, fault, id) => {
      let rounds = 1;
      // A gateway that stands still for the whole of a silence has no time for a heartbeat in it: then once more.
      while (!(await askAndCheck(dialect, fault, id)) && rounds < 5) rounds += 1;
      const asked = provider.requests.filter((request) => isFor(request, id));
      expect(asked).toHaveLength(rounds * (fault.attempts ?? 1));
      expect(rounds).toBeLessThan(5);
    },
  );
});

/** False if the stream should have shown life before it ended, and did not. */
async function askAndCheck(dialect: BodyDialectName, fault: Fault, id: string): Promise<boolean> {
  const key = await sluice.createKey();
  const { path, body } = asks[dialect];
  const response = await sluice.request(path, { key, body: { model: id, stream: fault.stream, ...body } });
  let hasBeaten = false;
  if (fault.expected === "in-band") hasBeaten = await checkInBand(dialect, response);
  else await checkStatus(dialect, fault, fault.expected, response);
  await checkBill(key, fault);
  return hasBeaten || fault.beats !== true;
}

/** Whether there was a heartbeat. */
async function checkInBand(dialect: BodyDialectName, response: Response): Promise<boolean> {
  expect(response.status).toBe(200);
  const { text } = await readStream(response);
  expect(text).toMatch(inBandShapes[dialect]);
  expect(text).not.toMatch(properEnds[dialect]);
  return heartbeats[dialect].test(text);
}

async function checkStatus(
  dialect: BodyDialectName,
  fault: Fault,
  expected: Exclude<Fault["expected"], "in-band">,
  response: Response,
): Promise<void> {
  const text = await response.text();
  const isMessages = dialect === "messages";
  expect(response.status, text).toBe((isMessages ? expected.messagesStatus : undefined) ?? expected.status);
  expect(response.headers.get("x-request-id")).toMatch(/^req_/);
  expect(response.headers.get("retry-after")).toBe(fault.retryAfter ?? null);
  const { error, type } = JSON.parse(text) as { type?: string; error: { code: string; message: string } };
  expect(type).toBe(isMessages ? "error" : undefined);
  expect(error.code).toBe(response.status === 504 ? "upstream_timeout" : expected.code);
  expect(text).not.toContain("canary");
  expect(text).not.toContain("secretaccount");
}

async function checkBill(key: TestKey, fault: Fault): Promise<void> {
  await waitFor(async () => (await standingOf(key)).credits.reserved === 0, "the hold to end");
  const { credits, requests } = await standingOf(key);
  expect(credits.used > 0).toBe(fault.bill === "P");
  expect(requests.total).toBe(fault.bill === "P" ? 1 : 0);
}
