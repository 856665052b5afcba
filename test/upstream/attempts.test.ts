import { afterEach, beforeEach, expect, test } from "bun:test";
import type { AttemptRecord } from "../../src/base/requests/attempt.ts";
import { rememberSecret } from "../../src/base/secrets/secrets.ts";
import type { GenerationPlan } from "../../src/upstream/upstream.ts";
import { cutAfter, hangUp, json, openAiError, silence } from "../support/answers.ts";
import { answerFrom } from "../support/fixtures.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { nobody, outcomeOf, type Place, prepared, setUp } from "./fixtures.ts";

let first: ScriptedProvider;
let second: ScriptedProvider;

beforeEach(() => {
  first = startProvider();
  second = startProvider(json({ id: "x" }));
});

afterEach(() => {
  first.stop();
  second.stop();
});

/** Opens a plan, and gives the records of the attempts that failed. */
async function failedAttempts(places: readonly Place[], changes: Partial<GenerationPlan> = {}) {
  const records: AttemptRecord[] = [];
  const { upstream, plan, log } = setUp(places);
  const attemptFailed: GenerationPlan["attemptFailed"] = (_deployment, record) => void records.push(record);
  const opened = await upstream.open(plan({ attemptFailed, ...changes })).catch(() => null);
  opened?.finished("completed");
  return { records, opened, log };
}

test("an attempt that is answered at once leaves no record", async () => {
  const { records, opened } = await failedAttempts([{ url: second.url }]);
  expect(records).toEqual([]);
  expect(opened).toMatchObject({ attempts: 1 });
  expect(opened?.answeredAfterMs).toBeGreaterThan(0);
});

for (const when of ["before the first attempt", "while its request is prepared"]) {
  test(`a client that leaves ${when} costs no call, and gives its slot back`, async () => {
    const { upstream, plan } = setUp([{ url: second.url, maxConcurrent: 1 }]);
    const leaving = new AbortController();
    if (when === "before the first attempt") leaving.abort();
    const prepare = async () => {
      leaving.abort();
      return prepared();
    };
    const records: AttemptRecord[] = [];
    const attemptFailed: GenerationPlan["attemptFailed"] = (_deployment, record) => void records.push(record);
    const opening = upstream.open(plan({ signal: leaving.signal, prepare, attemptFailed }));
    expect(await outcomeOf(opening)).toBe("502 upstream_error");
    expect(second.requests).toHaveLength(0);
    expect(records).toEqual([]);
    expect(upstream.health()[0]).toMatchObject({ inFlight: 0, waiting: 0, recentCalls: 0 });
    expect(await outcomeOf(upstream.open(plan()))).toBe("answered");
  });
}

test("a failed attempt says who was asked, what came, and that the next deployment was asked", async () => {
  first.script(openAiError(418, "I am a teapot"));
  const { records, opened } = await failedAttempts([{ url: first.url }, { url: second.url, priority: 2 }]);
  expect(records).toEqual([
    {
      deployment: "p0/real",
      provider: "p0",
      upstreamModel: "real",
      status: 418,
      code: "upstream_error",
      failure: "status_418",
      cause: null,
      said: "I am a teapot",
      durationMs: expect.any(Number),
      left: "next_deployment",
    },
  ]);
  expect(opened).toMatchObject({ attempts: 2 });
});

test("a retry of the same deployment is told apart from the last attempt", async () => {
  first.script(openAiError(500, "oops"));
  const { records } = await failedAttempts([{ url: first.url }]);
  expect(records.map(({ status, left }) => [status, left])).toEqual([
    [500, "retry"],
    [500, "ended"],
  ]);
});

test("an attempt with another key is told apart from a retry", async () => {
  first.script([openAiError(401, "who are you"), json({ id: "x" })]);
  const { records } = await failedAttempts([{ url: first.url, apiKeys: ["a", "b"] }]);
  expect(records.map(({ status, left }) => [status, left])).toEqual([[401, "other_key"]]);
});

test("without an answer there is no status, but the system's code where it has one", async () => {
  const { records } = await failedAttempts([{ url: nobody }]);
  expect(records[0]).toMatchObject({
    status: null,
    failure: "unreachable",
    cause: "ECONNREFUSED",
    said: null,
  });
  first.script(hangUp());
  const hungUp = await failedAttempts([{ url: first.url }]);
  expect(hungUp.records).toMatchObject([
    { status: null, failure: "connection_closed", code: "upstream_error" },
  ]);
});

test("what needs the operator's attention stays in sight until the deployment answers again", async () => {
  const { upstream, plan } = setUp([{ url: first.url, apiKeys: ["a"] }]);
  const alarm = () => upstream.health()[0]?.alarm;
  expect(alarm()).toBeNull();
  first.script(openAiError(402, "pay"));
  await upstream.open(plan()).catch(() => null);
  expect(alarm()).toBe("billing");
  first.script(openAiError(500, "oops"));
  await upstream.open(plan()).catch(() => null);
  expect(alarm()).toBe("billing");
  first.script(answerFrom("chat/text.json"));
  (await upstream.open(plan())).finished("completed");
  expect(alarm()).toBeNull();
});

test("an answer that breaks off keeps its status", async () => {
  first.script(cutAfter(answerFrom("chat/text.sse"), 3, [{ reset: true }]));
  const { records } = await failedAttempts([{ url: first.url }], { stream: true });
  expect(records).toMatchObject([{ status: 200, failure: "incomplete_response", left: "ended" }]);
});

test("a timeout and a client that leaves are no words of the provider", async () => {
  first.script(silence());
  const slow = await failedAttempts([{ url: first.url, timeouts: { firstByteMs: 30 } }]);
  expect(slow.records).toMatchObject([{ status: null, failure: "timeout", said: null, left: "ended" }]);
  const left = await failedAttempts([{ url: first.url }], { signal: AbortSignal.timeout(20) });
  expect(left.records).toMatchObject([{ status: null, code: null, failure: "cancelled", said: null }]);
});

test("an error within a 200 is told in the provider's words", async () => {
  first.script(openAiError(200, "model exploded"));
  const { records } = await failedAttempts([{ url: first.url }]);
  expect(records).toMatchObject([{ status: 200, failure: "error_in_200", said: "model exploded" }]);
});

test("what a provider said is cut to 500 characters, after secrets were taken out", async () => {
  const apiKey = "canary-of-an-unusual-shape";
  const clientKey = `slu_${"canary0".repeat(5)}`;
  rememberSecret(apiKey);
  for (const status of [400, 401, 429, 500]) {
    // The secret would be cut in half if cutting came first.
    first.script(openAiError(status, `${"x".repeat(490)} ${apiKey} ${clientKey} Bearer sk-canary-canary`));
    const { records, log } = await failedAttempts([{ url: first.url, apiKeys: [apiKey] }]);
    const said = records[0]?.said ?? "";
    expect(said).toHaveLength(500);
    expect(said).not.toContain("cana");
    expect(JSON.stringify(log)).not.toContain("xxx");
  }
});

test("every line of a failed attempt carries the request's id", async () => {
  first.script([openAiError(401, "who are you"), openAiError(500, "oops")]);
  const { log } = await failedAttempts([{ url: first.url, apiKeys: ["a", "b"] }], { requestId: "req_7" });
  expect(log.map(({ fields }) => fields)).toMatchObject([
    { request_id: "req_7", deployment: "p0/real", failure: "status_401" },
    { request_id: "req_7", deployment: "p0/real", failure: "status_500" },
    { request_id: "req_7", deployment: "p0/real", failure: "status_500" },
  ]);
});
