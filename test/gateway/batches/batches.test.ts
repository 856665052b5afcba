import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { creditsFromNano } from "../../../src/base/money/money.ts";
import { migratedDatabase } from "../../store/postgres/fixtures.ts";
import { openAiError } from "../../support/answers.ts";
import { usualResponse } from "../../support/fixtures.ts";
import { hasPostgres } from "../../support/postgres.ts";
import { waitFor } from "../../support/wait.ts";
import { turnTail } from "../turn-world.ts";
import { type Caller, World } from "../world.ts";
import { BatchClient, chatLines, contentOf, type ResultLine } from "./batch-world.ts";

const stores = hasPostgres ? (["SQLite", "PostgreSQL"] as const) : (["SQLite"] as const);
const chatHead = { id: "chatcmpl-1", object: "chat.completion", created: 1, model: "gpt-upstream" };
const settings = `[batches]\nconcurrency = 6\nconcurrency_per_key = 3\nmax_lines = 50\nmax_open_per_key = 3\n`;

describe.each(stores)("batches on %s", (store) => {
  let world: World;
  let database: (AsyncDisposable & { readonly url: string }) | undefined;
  let caller: Caller;
  let client: BatchClient;
  beforeAll(async () => {
    if (store === "PostgreSQL") database = await migratedDatabase();
    const place = database === undefined ? "" : `[store]\nurl = "${database.url}"\n`;
    world = await World.startCounting({ head: place + settings, tail: turnTail });
  }, 120_000);
  beforeEach(async () => {
    await world.reload((config) => config);
    caller = await world.creditCaller();
    client = BatchClient.of(world, caller);
  });
  afterEach(() => world.provider.reset());
  afterAll(async () => {
    await world[Symbol.asyncDispose]();
    await database?.[Symbol.asyncDispose]();
  });

  const codesOf = (results: readonly ResultLine[]) =>
    results.map(({ response, error }) => response?.status_code ?? error?.code);
  const chargesOf = () => world.chargesOf(caller);

  test("each line is a request, charged once, and has one result", async () => {
    const created = await client.create(chatLines(12));
    expect(created).toMatchObject({ object: "batch", endpoint: "/v1/chat/completions" });
    const ended = await client.untilEnded(created.id);
    expect(ended).toMatchObject({
      status: "completed",
      request_counts: { total: 12, completed: 12, failed: 0 },
      error_file_id: null,
    });
    const results = await client.results(ended);
    expect(results.map(({ custom_id }) => custom_id)).toEqual(
      Array.from({ length: 12 }, (_, place) => `line-${place}`),
    );
    expect(new Set(results.map(({ id }) => id)).size).toBe(12);
    expect(codesOf(results)).toEqual(Array(12).fill(200));
    const charges = await chargesOf();
    expect(charges).toHaveLength(12);
    expect(world.provider.requests).toHaveLength(12);
    const asking = await world.creditCaller();
    const [line] = chatLines(1);
    await (await world.ask(asking, { path: "/v1/chat/completions", body: line?.body })).text();
    const [usual] = await world.chargesOf(asking);
    for (const charge of charges) expect(charge).toEqual(usual as typeof charge);
    const paid = charges.reduce((sum, { amount }) => sum - amount, 0);
    expect(ended.sluice.charged).toBe(creditsFromNano(paid));
    expect(ended.usage.input_tokens).toBeGreaterThan(0);
    const file = await client.call<{ bytes: number }>("GET", `/files/${ended.output_file_id}`);
    const content = await (await client.fetch("GET", `/files/${ended.output_file_id}/content`)).text();
    expect(file.body.bytes).toBe(Buffer.byteLength(content));
  });

  test.each([
    ["/v1/responses", { model: "claude-test", input: "Hello" }],
    ["/v1/messages", { model: "gpt-test", max_tokens: 20, messages: [{ role: "user", content: "Hello" }] }],
    ["/v1/chat/completions", { model: "claude-test", messages: [{ role: "user", content: "Hello" }] }],
    ["/v1/chat/completions", { model: "gemini-test", messages: [{ role: "user", content: "Hello" }] }],
  ])("lines call %s, with any provider (%j)", async (endpoint, body) => {
    const ended = await client.untilEnded((await client.create([{ body }, { body }], endpoint)).id);
    expect(ended.request_counts).toEqual({ total: 2, completed: 2, failed: 0 });
    expect(codesOf(await client.results(ended))).toEqual([200, 200]);
    expect(await chargesOf()).toHaveLength(2);
  });

  test("a key with a token budget uses its own origin", async () => {
    caller = await world.tokenCaller(100_000);
    client = BatchClient.of(world, caller);
    const ended = await client.untilEnded((await client.create(chatLines(2))).id);
    expect(ended.request_counts.completed).toBe(2);
    expect(await chargesOf()).toHaveLength(2);
  });

  test("a bad request in a good file fails alone, and costs nothing", async () => {
    const [good] = chatLines(1);
    const bad = [{ model: "unknown" }, { stream: true }, { messages: "none" }];
    const lines = [good, ...bad.map((fields) => ({ body: { ...good?.body, ...fields } }))];
    const ended = await client.untilEnded((await client.create(lines.map((line) => ({ ...line })))).id);
    expect(ended).toMatchObject({
      status: "completed",
      request_counts: { total: 4, completed: 1, failed: 3 },
    });
    const results = await client.content(ended.error_file_id);
    expect(codesOf(results)).toEqual([404, 400, 400]);
    expect(results[0]?.response?.body).toMatchObject({ error: { code: "model_not_found" } });
    expect(await chargesOf()).toHaveLength(1);
  });

  test.each([
    ["", "empty_file", null],
    ["\n\n", "empty_file", null],
    ["{", "invalid_json_line", 1],
    ["[]", "invalid_json_line", 1],
    ['{"custom_id":"a"} x', "invalid_json_line", 1],
    ['{"method":"POST","url":"/v1/chat/completions","body":{}}', "missing_required_parameter", 1],
    ['{"custom_id":"a","method":"POST","url":"/v1/chat/completions"}', "missing_required_parameter", 1],
    ['{"custom_id":"a","method":"GET","url":"/v1/chat/completions","body":{}}', "invalid_method", 1],
    ['{"custom_id":"a","method":"POST","url":"/v1/responses","body":{}}', "url_mismatch", 1],
    ['{"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":[]}', "invalid_body", 1],
    ['{"custom_id":"","method":"POST","url":"/v1/chat/completions","body":{}}', "invalid_custom_id", 1],
    [
      contentOf([{ body: {} }, { body: {}, custom_id: "line-0" }], "/v1/chat/completions"),
      "duplicate_custom_id",
      2,
    ],
    [contentOf(chatLines(51), "/v1/chat/completions"), "too_many_tasks", null],
  ])("a bad file fails: nothing runs (%#)", async (content, code, line) => {
    const batch = await client.create(content);
    expect(batch).toMatchObject({ status: "failed", errors: { data: [{ code, line }] } });
    expect((await client.get(batch.id)).status).toBe("failed");
    expect(world.provider.requests).toEqual([]);
  });

  test.each([
    [{ endpoint: "/v1/audio/speech" }, "endpoint"],
    [{ endpoint: "/v1/responses/compact" }, "endpoint"],
    [{ completion_window: "1h" }, "completion_window"],
    [{ input_file_id: "file-none" }, "input_file_id"],
  ])("a create with %j is rejected", async (fields, param) => {
    const { body: file } = await client.upload("{}");
    const body = { input_file_id: file.id, endpoint: "/v1/responses", completion_window: "24h", ...fields };
    const rejected = await client.call("POST", "/batches", body);
    expect([rejected.status, rejected.body.error.param]).toEqual([400, param]);
  });

  test("a key without credit is rejected at once, and one that runs out waits for a top-up", async () => {
    const { body: file } = await client.upload(contentOf(chatLines(1), "/v1/chat/completions"));
    await world.running.store.recordAdjustment({
      ...{ keyId: caller.key.id, amountNano: -10_000_000_000, reference: null, note: null, atMs: Date.now() },
    });
    await world.gateway.catchUp();
    const create = { input_file_id: file.id, endpoint: "/v1/chat/completions", completion_window: "24h" };
    expect(await client.call("POST", "/batches", create)).toMatchObject({
      status: 402,
      body: { error: { code: "insufficient_credit" } },
    });
    // Each line costs 33 micro-credits at least, and holds more.
    caller = await world.creditCaller(0.0002);
    client = BatchClient.of(world, caller);
    const { id } = await client.create(chatLines(20));
    const waiting = await client.until(id, ({ sluice }) => sluice.state === "waiting");
    expect(waiting).toMatchObject({ status: "in_progress", sluice: { reason: "balance" } });
    expect(waiting.request_counts.completed).toBeLessThan(20);
    await world.running.store.recordTopUp({
      ...{ keyId: caller.key.id, amountNano: 1_000_000_000, reference: null, note: null, atMs: Date.now() },
    });
    await world.gateway.catchUp();
    const ended = await client.untilEnded(id);
    expect(ended.request_counts).toEqual({ total: 20, completed: 20, failed: 0 });
    expect(await chargesOf()).toHaveLength(20);
  });

  test("the rest ends without a result once it has waited for too long", async () => {
    await world.reload((config) => config.replace("[batches]", '[batches]\nwait_for_funds = "0s"'));
    caller = await world.creditCaller(0.0002);
    client = BatchClient.of(world, caller);
    const ended = await client.untilEnded((await client.create(chatLines(20))).id);
    expect(ended.status).toBe("completed");
    const { completed, failed } = ended.request_counts;
    expect(completed + failed).toBe(20);
    expect(await chargesOf()).toHaveLength(completed);
    const errors = await client.content(ended.error_file_id);
    expect(errors.map(({ response, error }) => [response, error?.code])).toEqual(
      Array(failed).fill([null, "insufficient_credit"]),
    );
    expect(new Set((await client.results(ended)).map(({ custom_id }) => custom_id)).size).toBe(20);
  });

  test("a cancelled batch charges what runs, and starts nothing more", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    world.provider.script((request) => ({ ...usualResponse(request), before: [{ until: promise }] }));
    const { id } = await client.create(chatLines(10));
    await waitFor(() => world.provider.requests.length >= 3, "three lines to run");
    const { status, body } = await client.call("POST", `/batches/${id}/cancel`);
    expect([status, body.status]).toEqual([200, "cancelling"]);
    expect((await client.call("POST", `/batches/${id}/cancel`)).body.status).toBe("cancelling");
    resolve();
    const ended = await client.untilEnded(id);
    expect(ended).toMatchObject({
      status: "cancelled",
      request_counts: { total: 10, completed: 3, failed: 7 },
    });
    expect(codesOf(await client.content(ended.error_file_id))).toEqual(Array(7).fill("batch_cancelled"));
    expect(await chargesOf()).toHaveLength(3);
    expect(world.provider.requests).toHaveLength(3);
    expect((await client.call("POST", `/batches/${id}/cancel`)).status).toBe(400);
  });

  test("a batch that takes too long expires with the results that it has", async () => {
    await world.reload((config) => config.replace("[batches]", '[batches]\nwindow = "1s"'));
    const { promise, resolve } = Promise.withResolvers<void>();
    world.provider.script((request) => ({ ...usualResponse(request), before: [{ until: promise }] }));
    const { id } = await client.create(chatLines(5));
    await Bun.sleep(1200);
    resolve();
    const ended = await client.untilEnded(id);
    expect(ended).toMatchObject({ status: "expired", request_counts: { completed: 3, failed: 2 } });
    expect(codesOf(await client.content(ended.error_file_id))).toEqual(["batch_expired", "batch_expired"]);
  });

  test("a failure that the provider bills is charged once, with its result", async () => {
    const failure = {
      id: "resp_1",
      object: "response",
      status: "failed",
      error: { code: "server_error", message: "It broke." },
      output: [],
      usage: { input_tokens: 100, output_tokens: 10, total_tokens: 110 },
    };
    world.provider.script(() => ({ ...openAiError(200, ""), steps: [{ write: JSON.stringify(failure) }] }));
    const { id } = await client.create([{ body: { model: "gpt-test", input: "Hello" } }], "/v1/responses");
    const ended = await client.untilEnded(id);
    expect(ended.request_counts).toEqual({ total: 1, completed: 0, failed: 1 });
    expect(codesOf(await client.content(ended.error_file_id))).toEqual([502]);
    expect(await chargesOf()).toMatchObject([{ outcome: "failed" }]);
    expect(world.provider.requests).toHaveLength(1);
  });

  test("a line that was charged gets its result, even if that could not be noted", async () => {
    const { batches } = world.running.store;
    const { endLine } = batches;
    let failures = 2;
    Object.assign(batches, {
      endLine: (...ended: Parameters<typeof endLine>) => {
        failures -= 1;
        return failures >= 0 ? Promise.reject(new Error("The process was killed.")) : endLine(...ended);
      },
    });
    const ended = await client.untilEnded((await client.create(chatLines(6))).id);
    Object.assign(batches, { endLine });
    expect(ended.request_counts).toEqual({ total: 6, completed: 6, failed: 0 });
    expect(await chargesOf()).toHaveLength(6);
    expect(world.provider.requests).toHaveLength(6);
    expect(codesOf(await client.results(ended))).toEqual(Array(6).fill(200));
    const paid = (await chargesOf()).reduce((sum, { amount }) => sum - amount, 0);
    expect(ended.sluice.charged).toBe(creditsFromNano(paid));
    const undisturbed = await client.untilEnded((await client.create(chatLines(6))).id);
    expect(ended.usage).toEqual(undisturbed.usage);
  });

  test("creates at once begin no more batches than the key may have", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    world.provider.script((request) => ({ ...usualResponse(request), before: [{ until: promise }] }));
    const created = await Promise.all(
      Array.from({ length: 6 }, () => client.tryToCreate(chatLines(2, { model: "claude-test" }))),
    );
    expect(created.map(({ status }) => status).toSorted()).toEqual([200, 200, 200, 429, 429, 429]);
    expect((await client.call<{ data: unknown[] }>("GET", "/batches")).body.data).toHaveLength(3);
    resolve();
    for (const { status, body } of created) if (status === 200) await client.untilEnded(body.id);
  });

  test("a create that a crash breaks off leaves nothing, and one in progress is left alone", async () => {
    const { batches } = world.running.store;
    const { id: keyId } = caller.key;
    const request = JSON.stringify({ headers: [], address: "", metadata: null });
    const times = { createdAtMs: Date.now(), expiresAtMs: Date.now() + 60_000 };
    const { body: file } = await client.upload(contentOf(chatLines(2), "/v1/chat/completions"));
    const begin = (id: string) =>
      batches.begin(
        { id, keyId, fileId: file.id, endpoint: "/v1/chat/completions", request, ...times },
        { node: world.gateway.batches.node, maxOpen: 3, quota: { bytesPerKey: 1e6, filesPerKey: 100 } },
      );
    expect([await begin("batch_crashed"), await begin("batch_going")]).toEqual([null, null]);
    world.gateway.batches.validating.add("batch_going");
    await world.gateway.batches.deleteAbandoned();
    expect(await batches.get("batch_crashed")).toBeNull();
    expect((await batches.get("batch_going"))?.status).toBe("validating");
    world.gateway.batches.validating.clear();
    await world.gateway.batches.deleteAbandoned();
    expect(await batches.get("batch_going")).toBeNull();
    expect(await world.running.store.uploads.find({ keyId, withAccount: false }, file.id)).not.toBeNull();
  });

  test("a file is deleted with all of its parts, and never while a batch reads it", async () => {
    const { uploads } = world.running.store;
    const { promise, resolve } = Promise.withResolvers<void>();
    world.provider.script((request) => ({ ...usualResponse(request), before: [{ until: promise }] }));
    const { id, input_file_id: used } = await client.create(chatLines(1));
    // What is created between a client's check and its deletion is safe, too.
    expect(await uploads.delete(caller.key.id, used)).toBe(false);
    resolve();
    await client.untilEnded(id);
    const parts = 40;
    const { body: file } = await client.upload("x".repeat(parts * 256 * 1024));
    expect(await uploads.part(file.id, parts - 1)).not.toBeNull();
    for (const each of [used, file.id])
      expect((await client.fetch("DELETE", `/files/${each}`)).status).toBe(200);
    const left = await Promise.all(Array.from({ length: parts }, (_, part) => uploads.part(file.id, part)));
    expect(left).toEqual(Array(parts).fill(null));
    expect((await client.fetch("DELETE", `/files/${file.id}`)).status).toBe(404);
    expect((await client.call<{ data: unknown[] }>("GET", "/files?purpose=batch")).body.data).toEqual([]);
  });

  test("uploads at once store no more than the key may", async () => {
    const change = "[batches]\nbytes_per_key = 300000";
    await world.reload((config) => config.replace("[batches]", change));
    const uploads = await Promise.all([1, 2, 3].map(() => client.upload("x".repeat(200_000))));
    expect(uploads.map(({ status }) => status).toSorted()).toEqual([200, 400, 400]);
    expect(await world.running.store.uploads.bytesOf(caller.key.id)).toBe(200_000);
  });

  test("another key's lines start although one has many", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    world.provider.script((request) => ({ ...usualResponse(request), before: [{ until: promise }] }));
    const { id } = await client.create(chatLines(30));
    await waitFor(() => world.provider.requests.length >= 3, "three lines of the first key to run");
    const other = BatchClient.of(world, await world.creditCaller());
    await other.create(chatLines(2, { model: "local-test" }));
    await waitFor(() => world.provider.requests.length >= 4, "a line of the other key to run");
    resolve();
    await client.untilEnded(id);
  });

  test("nobody else reads, uses or deletes a key's files and batches", async () => {
    const { body: file } = await client.upload(contentOf(chatLines(1), "/v1/chat/completions"));
    const { id } = await client.create(chatLines(1));
    const ended = await client.untilEnded(id);
    const other = BatchClient.of(world, await world.creditCaller());
    for (const path of [
      `/files/${file.id}`,
      `/files/${file.id}/content`,
      `/files/${ended.output_file_id}/content`,
      `/batches/${id}`,
    ]) {
      expect((await other.fetch("GET", path)).status).toBe(404);
    }
    expect((await other.fetch("DELETE", `/files/${file.id}`)).status).toBe(404);
    expect((await other.fetch("POST", `/batches/${id}/cancel`)).status).toBe(404);
    const body = { input_file_id: file.id, endpoint: "/v1/chat/completions", completion_window: "24h" };
    expect((await other.fetch("POST", "/batches", body)).status).toBe(400);
    expect((await other.call<{ data: unknown[] }>("GET", "/files")).body.data).toEqual([]);
    expect((await other.call<{ data: unknown[] }>("GET", "/batches")).body.data).toEqual([]);
  });

  test("a batch of a revoked key is cancelled", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    world.provider.script((request) => ({ ...usualResponse(request), before: [{ until: promise }] }));
    const { id } = await client.create(chatLines(10));
    await waitFor(() => world.provider.requests.length >= 3, "three lines to run");
    await world.running.store.updateKey(caller.key.id, { status: "revoked" });
    await world.gateway.catchUp();
    resolve();
    const found = () => world.running.store.batches.get(id);
    await waitFor(async () => (await found())?.endedAtMs != null, "the batch to end");
    expect(await found()).toMatchObject({ status: "cancelled" });
    await world.gateway.batches.prune(Date.now());
    expect(await found()).toBeNull();
  });

  test("a disabled key's batch waits", async () => {
    await world.running.store.updateKey(caller.key.id, { status: "active" });
    const { promise, resolve } = Promise.withResolvers<void>();
    world.provider.script((request) => ({ ...usualResponse(request), before: [{ until: promise }] }));
    const { id } = await client.create(chatLines(6));
    await waitFor(() => world.provider.requests.length >= 3, "three lines to run");
    await world.running.store.updateKey(caller.key.id, { status: "disabled" });
    await world.gateway.catchUp();
    resolve();
    const found = () => world.running.store.batches.get(id);
    await waitFor(async () => (await found())?.waitsFor === "key", "the batch to wait");
    await world.running.store.updateKey(caller.key.id, { status: "active" });
    await world.gateway.catchUp();
    expect((await client.untilEnded(id)).request_counts.completed).toBe(6);
  });

  test("nothing is left in memory or in the database of a batch that is pruned", async () => {
    const { id } = await client.create(chatLines(3));
    await client.untilEnded(id);
    await world.gateway.batches.prune(Date.now() + 100 * 86_400_000);
    expect((await client.call("GET", `/batches/${id}`)).status).toBe(404);
    expect((await client.call<{ data: unknown[] }>("GET", "/files")).body.data).toEqual([]);
    expect(await world.running.store.uploads.bytesOf(caller.key.id)).toBe(0);
  });

  // The last ones, because lines that found a provider busy, or the store, slow their deployment down for a while.
  test("a line whose result could not be stored is not charged, and runs again", async () => {
    const { store } = world.running;
    const { recordResponsePart } = store;
    let failures = 1;
    Object.assign(store, {
      recordResponsePart: (...part: Parameters<typeof recordResponsePart>) => {
        failures -= 1;
        return failures >= 0 ? Promise.reject(new Error("The database stops.")) : recordResponsePart(...part);
      },
    });
    const message = { role: "assistant", content: "long ".repeat(40_000) };
    const usage = { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 };
    const long = { ...chatHead, choices: [{ index: 0, message, finish_reason: "stop" }], usage };
    world.provider.script((request) => ({
      ...usualResponse(request),
      steps: [{ write: JSON.stringify(long) }],
    }));
    const ended = await client.untilEnded((await client.create(chatLines(2))).id);
    Object.assign(store, { recordResponsePart });
    expect(ended.request_counts).toEqual({ total: 2, completed: 2, failed: 0 });
    const results = await client.results(ended);
    expect(results.map(({ response }) => response?.body["choices"])).toEqual([long.choices, long.choices]);
    expect(await chargesOf()).toHaveLength(2);
    expect(world.provider.requests).toHaveLength(3);
  });

  test("lines run again while the provider is busy", async () => {
    let busy = 1;
    world.provider.script((request) => {
      busy -= 1;
      return busy >= 0
        ? openAiError(429, "Slow down.", null, { "retry-after": "1" })
        : usualResponse(request);
    });
    const ended = await client.untilEnded((await client.create(chatLines(3))).id);
    expect(ended.request_counts).toEqual({ total: 3, completed: 3, failed: 0 });
    expect(await chargesOf()).toHaveLength(3);
  }, 60_000);
});
