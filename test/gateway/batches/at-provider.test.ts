import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, spyOn, test } from "bun:test";
import { objectOf, objectsOf } from "../../../src/dialects/json/json-fields.ts";
import { migratedDatabase } from "../../store/postgres/fixtures.ts";
import { anthropicError, cutAfter, json, text } from "../../support/answers.ts";
import {
  costOf,
  errored,
  MessageBatches,
  nativeModel,
  questionOf,
  succeeded,
} from "../../support/message-batches.ts";
import { hasPostgres } from "../../support/postgres.ts";
import { waitFor } from "../../support/wait.ts";
import { type Caller, World } from "../world.ts";
import { BatchClient, chatLines, type ResultLine } from "./batch-world.ts";

const stores = hasPostgres ? (["SQLite", "PostgreSQL"] as const) : (["SQLite"] as const);
const settings = '[batches]\nconcurrency = 8\nprovider_poll = "100ms"\n';
describe.each(stores)("lines at a provider on %s", (store) => {
  let world: World;
  let database: (AsyncDisposable & { readonly url: string }) | undefined;
  let caller: Caller;
  let client: BatchClient;
  let batches: MessageBatches;
  beforeAll(async () => {
    if (store === "PostgreSQL") database = await migratedDatabase();
    const place = database === undefined ? "" : `[store]\nurl = "${database.url}"\n`;
    world = await World.startCounting({ head: place + settings, tail: nativeModel });
  }, 120_000);
  beforeEach(async () => {
    batches = new MessageBatches();
    world.provider.script(batches.script);
    caller = await world.creditCaller();
    client = BatchClient.of(world, caller);
  });
  afterEach(() => world.provider.reset());
  afterAll(async () => {
    await world[Symbol.asyncDispose]();
    await database?.[Symbol.asyncDispose]();
  });

  const lines = (count: number, fields = {}) => chatLines(count, { model: "claude-batch", ...fields });
  const statuses = (results: readonly ResultLine[]) =>
    results.map(({ response, error }) => response?.status_code ?? error?.code);
  const amounts = async () => (await world.chargesOf(caller)).map(({ amount }) => -amount);
  const single = () => world.provider.requests.filter(({ path }) => path === "/anthropic/v1/messages").length;
  const reserved = async () => {
    const [summary] = await world.gateway.accounts.summaries([caller.key.id]);
    return summary?.held ?? 0;
  };

  test("cost the provider's batch price, each charged once by its own usage", async () => {
    const ended = await client.untilEnded((await client.create(lines(20))).id);
    expect(ended.request_counts).toEqual({ total: 20, completed: 20, failed: 0 });
    const results = await client.results(ended);
    expect(results.map(({ response }) => response?.body["choices"])).toMatchObject(
      Array.from({ length: 20 }, (_, n) => [{ message: { content: `Answer ${n}` } }]),
    );
    const charges = await world.chargesOf(caller);
    expect(charges.map(({ amount }) => -amount).toSorted()).toEqual(
      Array.from({ length: 20 }, (_, n) => costOf(n)).toSorted(),
    );
    expect(new Set(charges.map(({ basis }) => basis))).toEqual(new Set(["measured"]));
    expect(batches.linesSent).toHaveLength(20);
    expect(single()).toBe(0);
    expect(await reserved()).toBe(0);
  });

  /** What a single request costs, at the price of batches. */
  const costOfFixture = 25 * 500 + 12 * 1000;
  const message = (question: number, more = {}) => ({
    model: "claude-batch",
    max_tokens: 50,
    messages: [{ role: "user", content: `Question ${question}` }],
    ...more,
  });

  test("go up as the client wrote them, with its betas", async () => {
    const thinking = { thinking: { type: "enabled", budget_tokens: 1024 }, max_tokens: 2000 };
    const requests = [0, 1].map((n) => ({ custom_id: `q${n}`, params: message(n, thinking) }));
    const created = await fetch(`${world.running.url}/v1/messages/batches`, {
      method: "POST",
      headers: {
        "x-api-key": caller.secret,
        "content-type": "application/json",
        "anthropic-version": "2023-06-01",
        "anthropic-beta": "context-1m-2025-08-07",
      },
      body: JSON.stringify({ requests }),
    });
    const { id } = (await created.json()) as { id: string };
    const read = async (rest = "") =>
      (
        await fetch(`${world.running.url}/v1/messages/batches/${id}${rest}`, {
          headers: { "x-api-key": caller.secret },
        })
      ).text();
    await waitFor(async () => JSON.parse(await read()).processing_status === "ended", "the batch to end");
    const results = (await read("/results"))
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(results).toMatchObject([
      { custom_id: "q0", result: { type: "succeeded", message: { content: [{ text: "Answer 0" }] } } },
      { custom_id: "q1", result: { type: "succeeded", message: { usage: { service_tier: "batch" } } } },
    ]);
    const [sent] = batches.batches;
    expect(sent?.headers).toMatchObject({
      "anthropic-beta": "context-1m-2025-08-07",
      "anthropic-version": "2023-06-01",
    });
    const params = batches.linesSent.map((line) => line.params);
    expect(params.toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)))).toEqual(
      [0, 1].map((n) => message(n, { ...thinking, model: "claude-upstream" })),
    );
    expect((await amounts()).toSorted()).toEqual([costOf(0), costOf(1)].toSorted());
  });

  test("of the Responses API are translated, both ways", async () => {
    const tools = [{ type: "function", name: "look", parameters: { type: "object", properties: {} } }];
    const body = { model: "claude-batch", input: "Question 3", max_output_tokens: 100, tools };
    const ended = await client.untilEnded((await client.create([{ body }], "/v1/responses")).id);
    const [result] = await client.results(ended);
    expect(result?.response?.body).toMatchObject({
      object: "response",
      usage: { input_tokens: 14, output_tokens: 6 },
    });
    expect(batches.linesSent[0]?.params).toMatchObject({ tools: [{ name: "look" }] });
    expect(await amounts()).toEqual([costOf(3)]);
  });

  test("are held until their results come, whatever becomes of the key", async () => {
    batches.takesMs = 100_000;
    const { id } = await client.create(lines(5));
    await waitFor(() => batches.linesSent.length === 5, "the lines to be sent");
    const held = await reserved();
    expect(held).toBeGreaterThan(0);
    await world.running.store.updateKey(caller.key.id, { status: "disabled" });
    await world.gateway.catchUp();
    for (const batch of batches.batches) batch.endsAtMs = Date.now();
    await waitFor(async () => (await amounts()).length === 5, "the results to be charged");
    expect((await amounts()).toSorted()).toEqual([0, 1, 2, 3, 4].map(costOf).toSorted());
    expect(await reserved()).toBe(0);
    await world.running.store.updateKey(caller.key.id, { status: "active" });
    await world.gateway.catchUp();
    expect((await client.untilEnded(id)).request_counts.completed).toBe(5);
  });

  test("reserve at most half of what is available", async () => {
    // Each line reserves its input and 20 tokens of output at the price of batches, about 0.000025 credits.
    caller = await world.creditCaller(0.0003);
    client = BatchClient.of(world, caller);
    batches.takesMs = 100_000;
    const { id } = await client.create(lines(12));
    await client.until(id, ({ sluice }) => sluice.reason === "provider");
    // With PostgreSQL the rest is known as of each line's hold, and a few are held at once.
    const most = store === "SQLite" ? 150_000 : 200_000;
    await waitFor(async () => (await reserved()) <= most, "lines under way to give back what they held");
    batches.takesMs = 0;
    for (const batch of batches.batches) batch.endsAtMs = Date.now();
    const ended = await client.untilEnded(id);
    expect(ended.request_counts).toEqual({ total: 12, completed: 12, failed: 0 });
    expect(batches.batches.length).toBeGreaterThan(1);
    expect((await amounts()).toSorted()).toEqual(Array.from({ length: 12 }, (_, n) => costOf(n)).toSorted());
  }, 60_000);

  test("end by the provider's error, or run again", async () => {
    const errors: Record<number, string> = {
      1: "invalid_request_error",
      2: "overloaded_error",
      3: "api_error",
    };
    batches.resultOf = (line) => {
      const type = errors[questionOf(line)];
      return type === undefined ? succeeded(line) : errored(type);
    };
    const ended = await client.untilEnded((await client.create(lines(4))).id);
    expect(ended.request_counts).toEqual({ total: 4, completed: 3, failed: 1 });
    expect(statuses(await client.content(ended.error_file_id))).toEqual([400]);
    expect(single()).toBe(2);
    expect((await amounts()).toSorted()).toEqual([costOf(0), costOfFixture, costOfFixture].toSorted());
    expect(await reserved()).toBe(0);
  });

  test("have one result each, in whatever order, twice, or with others between", async () => {
    const before = world.gateway.batches.counts.unknown;
    batches.arrange = (sent) => {
      const foreign = sent.slice(0, 2).map((line) => line.replace(/slb_\w+/, "slb_of_others_1"));
      return [...sent.toReversed(), ...foreign, ...sent];
    };
    const ended = await client.untilEnded((await client.create(lines(10))).id);
    expect(ended.request_counts.completed).toBe(10);
    expect((await amounts()).toSorted()).toEqual(Array.from({ length: 10 }, (_, n) => costOf(n)).toSorted());
    expect(world.gateway.batches.counts.unknown - before).toBeGreaterThanOrEqual(2);
    expect(single()).toBe(0);
  });

  test("are settled once although the results break off", async () => {
    let reads = 0;
    batches.fault = (request, at) => {
      if (at !== "results") return null;
      reads += 1;
      const batch = batches.named(request);
      if (batch === undefined || reads > 3) return null;
      if (reads === 1) return anthropicError(500, "api_error", "no");
      return cutAfter(batches.results(batch), reads * 700, reads === 2 ? [{ reset: true }] : []);
    };
    const ended = await client.untilEnded((await client.create(lines(10))).id);
    expect(ended.request_counts.completed).toBe(10);
    expect((await amounts()).toSorted()).toEqual(Array.from({ length: 10 }, (_, n) => costOf(n)).toSorted());
    expect(single()).toBe(0);
  });

  test("without a result run again, and that is counted", async () => {
    const before = world.gateway.batches.counts.interrupted;
    batches.arrange = (sent) => sent.filter((line) => !/Answer [45]/.test(line));
    const ended = await client.untilEnded((await client.create(lines(6))).id);
    expect(ended.request_counts.completed).toBe(6);
    expect(world.gateway.batches.counts.interrupted - before).toBe(2);
    expect(await reserved()).toBe(0);
  }, 60_000);

  test("that have expired at the provider run again", async () => {
    batches.resultOf = (line) => (questionOf(line) === 1 ? { type: "expired" } : succeeded(line));
    const ended = await client.untilEnded((await client.create(lines(3))).id);
    expect(ended.request_counts.completed).toBe(3);
    expect(single()).toBe(1);
    expect((await amounts()).toSorted()).toEqual([costOf(0), costOf(2), costOfFixture].toSorted());
  });

  test.each([
    [() => anthropicError(400, "invalid_request_error", "no batches"), 4, 0],
    [() => anthropicError(429, "rate_limit_error", "slow down"), 0, 4],
  ])(
    "that the provider does not accept run here, or later there (%#)",
    async (fault, here, there) => {
      let creates = 0;
      batches.fault = (_, at) => {
        if (at !== "create") return null;
        creates += 1;
        return here > 0 || creates === 1 ? fault() : null;
      };
      const ended = await client.untilEnded((await client.create(lines(4))).id);
      expect(ended.request_counts.completed).toBe(4);
      expect([single(), batches.linesSent.length]).toEqual([here, there]);
      expect(await amounts()).toHaveLength(4);
      expect(await reserved()).toBe(0);
    },
    60_000,
  );

  test.each([
    ["received", true],
    ["not received", false],
  ])(
    "are looked for if the provider did not answer, and has %s them",
    async (_, isReceived) => {
      let creates = 0;
      batches.fault = (request, at) => {
        if (at !== "create") return null;
        creates += 1;
        if (creates > 1) return null;
        // Another program's batch of the same size.
        const foreign = request.text.replaceAll(/slb_\w+/g, "someone_elses");
        batches.create({ body: JSON.parse(foreign), headers: {} });
        if (isReceived) batches.create(request);
        return { ...text(""), before: [{ reset: true }] };
      };
      const ended = await client.untilEnded((await client.create(lines(4))).id);
      expect(ended.request_counts.completed).toBe(4);
      const sent = batches.linesSent.filter(({ custom_id }) => !custom_id.startsWith("someone"));
      expect(sent.map(questionOf).toSorted()).toEqual([0, 1, 2, 3]);
      expect((await amounts()).toSorted()).toEqual([0, 1, 2, 3].map(costOf).toSorted());
    },
    60_000,
  );

  test("are found by any of their ids, though the first result is of others", async () => {
    batches.arrange = (sent) => [(sent[0] ?? "").replace(/slb_\w+/, "someone_elses_1"), ...sent];
    batches.fault = (request, at) => {
      if (at !== "create" || batches.batches.length > 0) return null;
      batches.create(request);
      return { ...text(""), before: [{ reset: true }] };
    };
    const ended = await client.untilEnded((await client.create(lines(1))).id);
    expect(ended.request_counts.completed).toBe(1);
    expect(batches.linesSent).toHaveLength(1);
    expect(await amounts()).toEqual([costOf(0)]);
  }, 60_000);

  test("that come back cancelled, and not by us, are sent again three times, and then fail", async () => {
    batches.resultOf = (line) => (questionOf(line) === 1 ? { type: "canceled" } : succeeded(line));
    const ended = await client.untilEnded((await client.create(lines(2))).id);
    expect(ended.request_counts).toEqual({ total: 2, completed: 1, failed: 1 });
    const [failed] = await client.content(ended.error_file_id);
    expect(JSON.stringify(failed)).toContain("was cancelled four times");
    expect(batches.linesSent.map(questionOf).toSorted()).toEqual([0, 1, 1, 1, 1]);
    expect(await amounts()).toEqual([costOf(0)]);
    expect(single()).toBe(0);
    expect(await reserved()).toBe(0);
  }, 60_000);

  test.each(["auto", "default"])("that name the service tier %s cost the price of batches", async (tier) => {
    const ended = await client.untilEnded((await client.create(lines(1, { service_tier: tier }))).id);
    expect(ended.request_counts.completed).toBe(1);
    expect(await amounts()).toEqual([costOf(0)]);
    expect(single()).toBe(0);
  });

  test("are cancelled there, too, and what ran is charged", async () => {
    batches.takesMs = 100_000;
    const { id } = await client.create(lines(6));
    await waitFor(() => batches.linesSent.length === 6, "the lines to be sent");
    await client.call("POST", `/batches/${id}/cancel`);
    const ended = await client.untilEnded(id);
    // Every second line of each batch that was sent.
    const ran = batches.batches.reduce((sum, { lines: sent }) => sum + Math.ceil(sent.length / 2), 0);
    expect(ended).toMatchObject({
      status: "cancelled",
      request_counts: { total: 6, completed: ran, failed: 6 - ran },
    });
    expect(statuses(await client.content(ended.error_file_id))).toEqual(
      Array(6 - ran).fill("batch_cancelled"),
    );
    expect(await amounts()).toHaveLength(ran);
    expect(await reserved()).toBe(0);
    expect(single()).toBe(0);
  });

  test("keep their results when one of these cannot be read, or comes late", async () => {
    batches.takesMs = 1500;
    let reads = 0;
    batches.arrange = (sent) => {
      reads += 1;
      return ["{no JSON", "[]", ...(reads === 1 ? sent.slice(0, -1) : sent)];
    };
    const ended = await client.untilEnded((await client.create(lines(4))).id);
    expect(ended.request_counts.completed).toBe(4);
    expect((await amounts()).toSorted()).toEqual([0, 1, 2, 3].map(costOf).toSorted());
    expect(single()).toBe(0);
  }, 60_000);

  test("end although their key is revoked and their model is gone", async () => {
    batches.takesMs = 100_000;
    await client.create(lines(3));
    await waitFor(() => batches.linesSent.length === 3, "the lines to be sent");
    await world.reload((config) => config.replace('id = "claude-batch"', 'id = "claude-other"'));
    await world.running.store.updateKey(caller.key.id, { status: "revoked" });
    await world.gateway.catchUp();
    for (const batch of batches.batches) batch.endsAtMs = Date.now();
    await waitFor(async () => (await reserved()) === 0, "the holds to end");
    await waitFor(async () => (await world.running.store.batches.open()).length === 0, "the batch to end");
    await world.reload((config) => config);
  });

  test.each([
    [
      "their model costs more",
      (config: string) => config.replace("input = 0.5\noutput = 1.0", "input = 5.0\noutput = 10.0"),
    ],
    ["their model is gone", (config: string) => config.replace('id = "claude-batch"', 'id = "claude-other"')],
    ["a credit is worth less", (config: string) => `[money]\nusd_per_credit = 0.5\n${config}`],
  ])("cost what they were held at, although %s since", async (_, change) => {
    batches.takesMs = 100_000;
    const { id } = await client.create(lines(5));
    await waitFor(() => batches.linesSent.length === 5, "the lines to be sent");
    await world.reload(change);
    try {
      for (const batch of batches.batches) batch.endsAtMs = Date.now();
      expect((await client.untilEnded(id)).request_counts.completed).toBe(5);
      expect((await amounts()).toSorted()).toEqual([0, 1, 2, 3, 4].map(costOf).toSorted());
      expect(await reserved()).toBe(0);
    } finally {
      await world.reload((config) => config);
    }
  });

  /** No batch is known by its id any more. Returns how often one was asked for. */
  function loseBatches(): () => number {
    let count = 0;
    batches.fault = (_, at) => {
      if (at !== "get") return null;
      count += 1;
      return anthropicError(404, "not_found_error", "what?");
    };
    return () => count;
  }

  test("run again when the provider has lost their batch, and not before it must have been visible", async () => {
    const before = world.gateway.batches.counts.interrupted;
    batches.takesMs = 100_000;
    const { id } = await client.create(lines(3));
    await waitFor(() => batches.linesSent.length === 3, "the lines to be sent");
    // Unknown by its id, and still in the list: it may come back.
    const asked = loseBatches();
    await waitFor(() => asked() >= 4, "the batch to be asked for again and again");
    expect(await reserved()).toBeGreaterThan(0);
    expect(single()).toBe(0);
    batches.batches.splice(0);
    const ended = await client.untilEnded(id);
    expect(ended.request_counts.completed).toBe(3);
    expect(await amounts()).toEqual(Array(3).fill(costOfFixture));
    expect(world.gateway.batches.counts.interrupted - before).toBe(3);
    expect(await reserved()).toBe(0);
  });

  test("are not run again because another credential does not know their batch", async () => {
    const before = world.gateway.batches.counts.interrupted;
    batches.takesMs = 100_000;
    await client.create(lines(2));
    await waitFor(() => batches.linesSent.length === 2, "the lines to be sent");
    const known = batches.batches.splice(0);
    const asked = loseBatches();
    await world.reload((config) => config.replace("TEST_ANTHROPIC_KEY", "TEST_OPENAI_KEY"));
    const atFirst = asked();
    await waitFor(() => asked() >= atFirst + 4, "the batch to be asked for again and again");
    expect(await reserved()).toBeGreaterThan(0);
    expect(world.gateway.batches.counts.interrupted).toBe(before);
    await world.reload((config) => config);
    batches.fault = () => null;
    batches.batches.push(...known);
    for (const batch of known) batch.endsAtMs = 0;
    await waitFor(async () => (await amounts()).length === 2, "the charges");
    expect(await reserved()).toBe(0);
  });

  test("with long results are read on the thread for large bodies", async () => {
    const { largeBodies } = world.gateway;
    const runResponse = spyOn(largeBodies, "runResponse");
    const long = "text ".repeat(300_000);
    batches.resultOf = (line) => {
      const result = succeeded(line);
      if (questionOf(line) !== 1) return result;
      const message = objectOf(result["message"]);
      return { ...result, message: { ...message, content: [{ type: "text", text: long }] } };
    };
    const ended = await client.untilEnded((await client.create(lines(3))).id);
    const results = await client.results(ended);
    expect(results.map(({ response }) => response?.status_code)).toEqual([200, 200, 200]);
    const [content] = objectsOf(results[1]?.response?.body["choices"]).map(
      ({ message }) => objectOf(message)?.["content"],
    );
    expect(content === long).toBe(true);
    const jobs = runResponse.mock.calls.map(([{ name }]) => name);
    expect(jobs.filter((name) => name === "result")).toHaveLength(1);
    expect((await amounts()).toSorted()).toEqual([0, 1, 2].map(costOf).toSorted());
    runResponse.mockRestore();
  });

  test("wait out a provider that is slow or fails", async () => {
    batches.takesMs = 500;
    let gets = 0;
    batches.fault = (_, at) => {
      gets += at === "get" ? 1 : 0;
      return at === "get" && gets <= 2 ? json({ error: "oops" }, { status: 503 }) : null;
    };
    const ended = await client.untilEnded((await client.create(lines(3))).id);
    expect(ended.request_counts.completed).toBe(3);
    expect(await amounts()).toHaveLength(3);
  });
});
