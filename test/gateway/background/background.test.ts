import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { migratedDatabase } from "../../store/postgres/fixtures.ts";
import { openAiError } from "../../support/answers.ts";
import { hasPostgres } from "../../support/postgres.ts";
import { waitFor } from "../../support/wait.ts";
import { answer, models, turnTail } from "../turn-world.ts";
import { type Caller, World } from "../world.ts";
import { BackgroundClient, begun, heldResponse, parsed } from "./background-world.ts";

const stores = hasPostgres ? (["SQLite", "PostgreSQL"] as const) : (["SQLite"] as const);

describe.each(stores)("a response in the background, on %s", (store) => {
  let world: World;
  let database: (AsyncDisposable & { readonly url: string }) | undefined;
  let caller: Caller;
  let client: BackgroundClient;
  beforeAll(async () => {
    if (store === "PostgreSQL") database = await migratedDatabase();
    const place = database === undefined ? "" : `[store]\nurl = "${database.url}"\n`;
    const head = `${place}[routes]\nconversations = true\n[responses]\nbackground_per_key = 4\n`;
    world = await World.startCounting({ head, tail: turnTail });
  }, 120_000);
  beforeEach(async () => {
    world.provider.script(answer);
    caller = await world.creditCaller();
    client = BackgroundClient.of(world, caller);
  });
  afterEach(() => world.provider.reset());
  afterAll(async () => {
    await world[Symbol.asyncDispose]();
    await database?.[Symbol.asyncDispose]();
  });

  describe.each(models)("of %s", (model) => {
    test("is queued, in progress and completed, and costs what a stream costs", async () => {
      const { script, release } = heldResponse();
      world.provider.script(script);
      const queued = await client.create({ model, metadata: { purpose: "test" } });
      expect(queued).toMatchObject({
        ...{ status: "queued", background: true, store: true, output: [], usage: null, error: null },
        ...{ model, metadata: { purpose: "test" } },
      });
      // Bedrock's frames are binary, and come at once.
      if (model !== "bedrock-test") await client.untilStatus(queued.id, (status) => status === "in_progress");
      release();
      const ended = await client.untilEnded(queued.id);
      expect(ended).toMatchObject({ id: queued.id, status: "completed", background: true, store: true });
      expect(ended.output.at(-1)?.type).toBe("message");
      const streaming = await world.creditCaller();
      await (
        await world.ask(streaming, { path: "/v1/responses", body: { model, input: "One", stream: true } })
      ).text();
      expect(await world.chargesOf(caller)).toEqual(await world.chargesOf(streaming));
      expect(world.provider.requests[0]?.body["background"]).toBeUndefined();
    });

    test("has events without gaps, and any number of readers gets the same bytes from anywhere on", async () => {
      const { script, release } = heldResponse();
      world.provider.script(script);
      const created = await client.fetch("POST", "", { model, input: "One", background: true, stream: true });
      expect(created.headers.get("content-type")).toStartWith("text/event-stream");
      const { id, whole } = await begun(created);
      const early = client.events(id, 1);
      release();
      const all = await whole();
      const events = parsed(all);
      expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, place) => place));
      expect(events.slice(0, 3).map(({ type }) => type)).toEqual([
        ...["response.created", "response.queued", "response.in_progress"],
      ]);
      expect(events.at(-1)).toMatchObject({ type: "response.completed", response: { id, background: true } });
      expect(all).toEndWith("data: [DONE]\n\n");
      expect(await client.events(id)).toBe(all);
      for (const after of [0, 1, 2, events.length - 2]) {
        const rest = await client.events(id, after);
        expect(all).toEndWith(rest);
        expect(parsed(rest)[0]?.sequence_number).toBe(after + 1);
      }
      expect(all).toEndWith(await early);
      expect(parsed(await client.events(id, events.length - 1))).toEqual([]);
      expect((await client.get(id)).status).toBe("completed");
    });

    test("is continued once it has completed", async () => {
      const { id } = await client.create({ model });
      await client.untilEnded(id);
      const next = await client.call("POST", "", { model, input: "Two", previous_response_id: id });
      expect(next).toMatchObject({ status: 200, body: { status: "completed" } });
      expect(world.provider.requests.at(-1)?.text).toContain("One");
      const again = await client.create({ model, previous_response_id: next.body.id });
      expect(again.previous_response_id).toBe(next.body.id);
      expect(await client.untilEnded(again.id)).toMatchObject({ previous_response_id: next.body.id });
      const items = await client.call("GET", `/${again.id}/input_items`);
      expect(items.body.data.length).toBeGreaterThan(3);
    });
  });

  test("goes on when its client disconnects", async () => {
    const { script, release } = heldResponse();
    world.provider.script(script);
    const leaving = new AbortController();
    const body = { model: "gpt-test", input: "One", background: true, stream: true };
    const response = await world.ask(caller, { path: "/v1/responses", body, signal: leaving.signal });
    const { id } = await begun(response);
    await client.untilStatus(id, (status) => status === "in_progress");
    leaving.abort();
    await Bun.sleep(100);
    expect(world.provider.aborted).toEqual([]);
    release();
    expect(await client.untilEnded(id)).toMatchObject({ status: "completed" });
    expect(parsed(await client.events(id)).at(-1)?.type).toBe("response.completed");
    expect(await world.chargesOf(caller)).toMatchObject([{ outcome: "completed" }]);
  });

  test("is cancelled: the provider is stopped, what was produced is charged, and the end is final", async () => {
    const { script } = heldResponse();
    world.provider.script(script);
    const created = await client.fetch("POST", "", {
      model: "claude-test",
      input: "One",
      background: true,
      stream: true,
    });
    const { id, reader, whole } = await begun(created);
    await client.untilStatus(id, (status) => status === "in_progress");
    await reader.until("output_text.delta");
    const cancelled = await client.call("POST", `/${id}/cancel`);
    expect(cancelled).toMatchObject({ status: 200, body: { id, status: "cancelled", background: true } });
    expect(await client.get(id)).toEqual(cancelled.body);
    expect(await client.call("POST", `/${id}/cancel`)).toEqual(cancelled);
    expect(parsed(await whole()).at(-1)).toMatchObject({
      type: "response.failed",
      response: { status: "cancelled" },
    });
    expect(world.provider.aborted).toHaveLength(1);
    expect(await world.chargesOf(caller)).toMatchObject([{ outcome: "cancelled" }]);
    const next = await client.call("POST", "", { model: "gpt-test", input: "Two", previous_response_id: id });
    expect(next).toMatchObject({ status: 400, body: { error: { param: "previous_response_id" } } });
    expect(next.body.error.message).toContain("is cancelled");
  });

  test("costs nothing if it is cancelled before a provider has answered", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    world.provider.script((request) => ({ ...answer(request), before: [{ until: promise }] }));
    const { id } = await client.create({});
    await waitFor(() => world.provider.requests.length === 1, "the provider to be asked");
    expect((await client.get(id)).status).toBe("queued");
    expect((await client.call("POST", `/${id}/cancel`)).body.status).toBe("cancelled");
    resolve();
    expect(await world.chargesOf(caller)).toEqual([]);
  });

  test("is deleted, and cancelled before that", async () => {
    const { script } = heldResponse();
    world.provider.script(script);
    const { id } = await client.create({});
    await client.untilStatus(id, (status) => status === "in_progress");
    expect(await client.call("DELETE", `/${id}`)).toMatchObject({ status: 200, body: { id, deleted: true } });
    for (const path of [`/${id}`, `/${id}?stream=true`])
      expect((await client.call("GET", path)).status).toBe(404);
    expect((await client.call("POST", `/${id}/cancel`)).status).toBe(404);
    expect(await world.chargesOf(caller)).toMatchObject([{ outcome: "cancelled" }]);
  });

  test("fails as its provider does, and shows why", async () => {
    world.provider.script(openAiError(500, "Broken."));
    const { id } = await client.create({ stream: false });
    const failed = await client.untilEnded(id);
    expect(failed).toMatchObject({ id, status: "failed", output: [], error: { code: "server_error" } });
    const streamed = await client.fetch("POST", "", {
      model: "gpt-test",
      input: "One",
      background: true,
      stream: true,
    });
    const events = parsed(await streamed.text());
    expect(events.at(-1)).toMatchObject({ type: "response.failed", response: { status: "failed" } });
    expect(await client.get(events[0]?.response?.id ?? "")).toEqual(events.at(-1)?.response as never);
    expect(await world.chargesOf(caller)).toEqual([]);
    const next = await client.call("POST", "", { model: "gpt-test", input: "Two", previous_response_id: id });
    expect(next.status).toBe(400);
  });

  test("fails in the middle, charged for what was produced", async () => {
    const { script, release } = heldResponse();
    world.provider.script((request) => {
      const held = script(request);
      return { ...held, steps: [...held.steps.slice(0, 2), { reset: true }] };
    });
    const { id } = await client.create({ model: "claude-test", stream: false });
    release();
    expect(await client.untilEnded(id)).toMatchObject({ id, status: "failed", background: true });
    expect(await world.chargesOf(caller)).toMatchObject([{ outcome: "failed" }]);
  });

  test("cannot be continued before it has ended, and locks its conversation until then", async () => {
    const { script, release } = heldResponse();
    world.provider.script(script);
    const made = await world.ask(caller, { path: "/v1/conversations", body: {} });
    const { id: conversation } = (await made.json()) as { id: string };
    const { id } = await client.create({ conversation });
    const early = await client.call("POST", "", {
      model: "gpt-test",
      input: "Two",
      previous_response_id: id,
    });
    expect(early).toMatchObject({
      status: 400,
      body: { error: { code: "invalid_request", param: "previous_response_id" } },
    });
    const locked = await client.call("POST", "", { model: "gpt-test", input: "Two", conversation });
    expect(locked).toMatchObject({ status: 400, body: { error: { code: "conversation_locked" } } });
    release();
    expect(await client.untilEnded(id)).toMatchObject({
      status: "completed",
      conversation: { id: conversation },
    });
    await world.settled();
    const next = await client.call("POST", "", { model: "gpt-test", input: "Two", conversation });
    expect(next.body.status).toBe("completed");
    expect(world.provider.requests.at(-1)?.text).toContain("One");
  });

  test("is of its key alone", async () => {
    const { id } = await client.create({ stream: false });
    await client.untilEnded(id);
    const other = BackgroundClient.of(world, await world.creditCaller());
    for (const [method, path] of [
      ["GET", `/${id}`],
      ["GET", `/${id}?stream=true`],
      ["DELETE", `/${id}`],
      ["POST", `/${id}/cancel`],
    ] as const) {
      const { status, body } = await other.call(method, path);
      expect([status, body.error.code]).toEqual([404, "not_found"]);
    }
  });

  test("is begun once for an Idempotency-Key, and its retry gets the same bytes", async () => {
    const body = { model: "gpt-test", input: "One", background: true };
    const ask = async (more: object) => {
      const key = { "idempotency-key": `same ${JSON.stringify(more)} ${caller.key.id}` };
      const response = await client.fetch("POST", "", { ...body, ...more }, key);
      return { replayed: response.headers.get("idempotent-replayed"), text: await response.text() };
    };
    for (const more of [{}, { stream: true }]) {
      world.provider.requests.length = 0;
      const first = await ask(more);
      const second = await ask(more);
      expect(second.text).toBe(first.text);
      await world.settled();
      expect(world.provider.requests).toHaveLength(1);
    }
    expect(await world.chargesOf(caller)).toHaveLength(2);
  });

  test("ends with an error at once if it cannot be paid, and leaves nothing behind", async () => {
    const poor = await world.creditCaller(0);
    const { status, body } = await BackgroundClient.of(world, poor).call("POST", "", {
      ...{ model: "gpt-test", input: "One", background: true },
    });
    expect([status, body.error.code]).toEqual([402, "insufficient_credit"]);
    expect(await world.running.store.turns.sums(poor.key.id, Date.now())).toMatchObject({ count: 0 });
  });

  test("is one of at most `background_per_key`", async () => {
    const { script, release } = heldResponse();
    world.provider.script(script);
    const begun = await Promise.all([1, 2, 3, 4].map(() => client.create({})));
    const { status, body } = await client.call("POST", "", {
      model: "gpt-test",
      input: "One",
      background: true,
    });
    expect([status, body.error.code]).toEqual([429, "rate_limit_exceeded"]);
    expect(world.gateway.backgrounds.inFlight).toBe(4);
    release();
    for (const { id } of begun) await client.untilEnded(id);
    await world.settled();
    expect((await client.create({})).status).toBe("queued");
    expect(await world.running.store.turns.sums(caller.key.id, Date.now())).toMatchObject({ count: 5 });
  });

  test.each([
    [{ store: false }, "background"],
    [{ background: 1 }, "background"],
    [{ background: "yes" }, "background"],
    [{ previous_response_id: "resp_unknown" }, "previous_response_id"],
  ])("cannot be %j", async (fields, param) => {
    const body = { model: "gpt-test", input: "One", background: true, ...fields };
    const { status, body: answered } = await client.call("POST", "", body);
    expect([status, answered.error.param]).toEqual([400, param]);
    expect(await world.chargesOf(caller)).toEqual([]);
  });

  test("has no events if it was not created with `stream: true`, nor has any other response", async () => {
    const { id } = await client.create({});
    const { id: foreground } = (await client.call("POST", "", { model: "gpt-test", input: "One" })).body;
    for (const each of [id, foreground]) {
      const { status, body } = await client.call("GET", `/${each}?stream=true`);
      expect([status, body.error.param]).toEqual([400, "stream"]);
    }
    expect((await client.call("POST", `/${foreground}/cancel`)).status).toBe(400);
    for (const after of ["-1", "x", "1.5"]) {
      const { status, body } = await client.call("GET", `/${id}?stream=true&starting_after=${after}`);
      expect([status, body.error.param]).toEqual([400, "starting_after"]);
    }
  });
});
