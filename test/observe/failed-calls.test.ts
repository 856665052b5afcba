import { afterAll, beforeAll, expect, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import { cutBefore, json, openAiError } from "../support/answers.ts";
import { configFor } from "../support/config.ts";
import { answerFrom } from "../support/fixtures.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";

let provider: ScriptedProvider;
let sluice: Sluice;
let key: TestKey;

beforeAll(async () => {
  provider = startProvider();
  sluice = await startSluice({ config: configFor({ url: provider.url }) });
  key = await sluice.createKey();
});

afterAll(async () => {
  await sluice.dispose();
  provider.stop();
});

const secretPrompt = "canary-prompt";

async function ask(body: object = {}): Promise<{ readonly id: string; readonly status: number }> {
  const response = await sluice.request("/v1/chat/completions", {
    key,
    body: { model: "gpt-test", messages: [{ role: "user", content: secretPrompt }], ...body },
  });
  await response.text();
  return { id: response.headers.get("x-request-id") ?? "", status: response.status };
}

function linesOf(id: string): JsonObject[] {
  const lines = sluice.output.split("\n").filter((line) => line.startsWith("{") && line.includes(id));
  return lines.map((line) => JSON.parse(line) as JsonObject);
}

async function exchangeLine(id: string): Promise<JsonObject> {
  const find = () => linesOf(id).find(({ msg }) => msg === "request");
  await waitFor(() => find() !== undefined, "the exchange's line");
  return find() ?? {};
}

test("the line of a failed call names the deployment and each attempt, and none quotes the provider", async () => {
  provider.script(openAiError(500, `I choke on ${secretPrompt} and on sk-upstream-openai-canary`));
  const { id, status } = await ask();
  expect(status).toBe(502);
  const attempts = () => linesOf(id).filter(({ msg }) => msg === "attempt failed");
  const line = await exchangeLine(id);
  // A line has the time at which it was written, so the exchange's line comes after the lines of its attempts.
  for (const { time } of attempts()) expect(Number(line["time"])).toBeGreaterThanOrEqual(Number(time));
  expect(line).toMatchObject({
    outcome: "failed",
    error: "upstream_error",
    deployment: "openai/gpt-upstream",
    attempts: 2,
    failed_attempts: [
      { deployment: "openai/gpt-upstream", failure: "status_500", next: "retry" },
      { deployment: "openai/gpt-upstream", failure: "status_500", next: null },
    ],
  });
  expect(attempts()).toHaveLength(2);
  expect(sluice.output).not.toContain("canary");
});

test("a call that is answered at the second attempt names the first one", async () => {
  provider.script([openAiError(500, "oops"), answerFrom("chat/text.json")]);
  const { id, status } = await ask();
  expect(status).toBe(200);
  expect(await exchangeLine(id)).toMatchObject({
    outcome: "completed",
    attempts: 2,
    failed_attempts: [{ failure: "status_500", next: "retry" }],
  });
});

test("a call that is answered at once has no list of failed attempts", async () => {
  provider.script(answerFrom("chat/text.json"));
  const { id } = await ask();
  const line = await exchangeLine(id);
  expect(line).toMatchObject({ outcome: "completed", attempts: 1 });
  expect(line).not.toHaveProperty("failed_attempts");
});

test("a call whose answer fails after it has begun counts its one attempt", async () => {
  provider.script(json({ id: "x" }));
  const whole = await ask();
  expect(await exchangeLine(whole.id)).toMatchObject({ outcome: "failed", attempts: 1 });
  provider.script(cutBefore(answerFrom("chat/text.sse"), '"finish_reason":"stop"', [{ reset: true }]));
  const stream = await ask({ stream: true });
  expect(await exchangeLine(stream.id)).toMatchObject({
    outcome: "failed",
    attempts: 1,
    deployment: "openai/gpt-upstream",
  });
});

test("a call that no provider was asked about is refused, not failed", async () => {
  const { id } = await ask({ model: "no-such-model" });
  expect(await exchangeLine(id)).toMatchObject({ outcome: "rejected", attempts: 0, deployment: null });
});
