import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { changeStatus } from "../../../src/admin/keys/change-key.ts";
import { createKey } from "../../../src/admin/keys/create-key.ts";
import { systemClock } from "../../../src/base/clock.ts";
import type { JsonObject } from "../../../src/base/json.ts";
import { nanoPerCredit } from "../../../src/base/money/money.ts";
import { lacksOfEvent } from "../../dialects/openai-responses/published-schema.ts";
import { answer, models, say } from "../../gateway/turn-world.ts";
import type { World } from "../../gateway/world.ts";
import { openAiError, sse } from "../../support/answers.ts";
import { RawSocket } from "../../support/raw-socket.ts";
import { refusal, SocketClient } from "../../support/socket.ts";
import { waitFor } from "../../support/wait.ts";
import { bearer, eventsOf, SocketWorld, typesOf } from "./socket-world.ts";

let sockets: SocketWorld;
let world: World;
let url: string;
let open: SocketWorld["open"];
let halt: SocketWorld["halt"];

beforeAll(async () => {
  sockets = await SocketWorld.start();
  ({ world, url, open, halt } = sockets);
});
beforeEach(() => sockets.turns.reset());
afterAll(() => world[Symbol.asyncDispose]());

describe("a response over WebSocket", () => {
  test.each(models)(
    "of %s comes as one frame for each event, charged once, with no [DONE]",
    async (model) => {
      const caller = await world.creditCaller();
      using socket = await open(caller);
      const ended = await socket.ask({ model, input: "Hi", stream: true, stream_options: {} });
      expect(ended.type).toBe("response.completed");
      expect(typesOf(socket.frames)[0]).toBe("response.created");
      expect(socket.frames.map(({ sequence_number }) => sequence_number)).toEqual(
        socket.frames.map((_, index) => index),
      );
      expect(socket.frames.every(({ stream_id }) => stream_id === undefined)).toBe(true);
      if (model === "claude-test") expect(socket.frames.flatMap((frame) => lacksOfEvent(frame))).toEqual([]);
      const second = await socket.ask({ model, input: "Once more", store: false });
      expect(second.response.id).not.toBe(ended.response.id);
      const charges = await world.chargesOf(caller);
      expect(charges).toHaveLength(2);
      expect(charges.every(({ basis, outcome }) => basis === "measured" && outcome === "completed")).toBe(
        true,
      );
    },
  );

  test("is sent up as the same request by POST would be, whatever the frame adds to it", async () => {
    const fields =
      '"model":"gpt-test","input":[{"role":"user","content":"né 1.50"}],"temperature":1.0,"store":false';
    await world.ask(sockets.turns.caller, {
      path: "/v1/responses",
      body: JSON.parse(`{${fields},"stream":true}`),
    });
    const posted = JSON.parse(sockets.turns.lastText());
    using socket = await open();
    socket.send(`{"type":"response.create",${fields},"stream_id":"a","generate":true,"stream":false}`);
    expect((await socket.end()).type).toBe("response.completed");
    expect(sockets.turns.lastText()).toContain('"temperature":1.0');
    const { include, ...sent } = JSON.parse(sockets.turns.lastText());
    expect(sent).toEqual(posted);
    expect(include).toEqual(["reasoning.encrypted_content"]);
  });

  test("takes token-budget keys on their own origin, and only there", async () => {
    const caller = await world.tokenCaller(100_000);
    using socket = await SocketClient.open(url, caller.secret, { path: "/token/v1/responses" });
    expect((await socket.ask({ input: "Hi" })).type).toBe("response.completed");
    expect(await refusal(url, "/v1/responses", bearer(caller))).toMatchObject({ status: 401 });
  });

  test("is an exchange of its own, with a rate token, a usage record and a request id in its errors", async () => {
    const caller = await world.creditCaller();
    using socket = await open(caller);
    world.observed.length = 0;
    await socket.ask({ input: "Hi" });
    const failed = await socket.ask({ input: "Hi", model: "none" });
    expect(failed).toMatchObject({ type: "error", status: 404, error: { code: "model_not_found" } });
    await world.settled();
    const [first, second] = world.observed;
    expect(first).toMatchObject({
      method: "POST",
      route: "/v1/responses",
      outcome: "completed",
      status: 200,
    });
    expect(second).toMatchObject({
      outcome: "rejected",
      status: 404,
      requestId: failed.headers["x-request-id"],
    });
  });

  test("that a provider refuses is an error with its status, and the socket serves the next", async () => {
    using socket = await open();
    world.provider.script([openAiError(400, "No such tool.", "invalid_tool"), openAiError(400, "No.")]);
    expect(await socket.ask({ input: "Hi" })).toMatchObject({ type: "error", status: 400 });
    world.provider.script(answer);
    expect((await socket.ask({ input: "Hi" })).type).toBe("response.completed");
  });

  test("that breaks off in the middle fails in band, charged for what came", async () => {
    const caller = await world.creditCaller();
    using socket = await open(caller);
    world.provider.script((request) => ({
      ...sse(""),
      steps: [
        {
          write: eventsOf(request).slice(0, 2).join(""),
        },
        { reset: true },
      ],
    }));
    expect((await socket.ask({ input: "Hi" })).type).toBe("response.failed");
    expect(await world.chargesOf(caller)).toHaveLength(1);
  });

  test("of a key without credit is refused with 402, and nobody is asked", async () => {
    using socket = await open(await world.creditCaller(0));
    expect(await socket.ask({ input: "Hi" })).toMatchObject({
      status: 402,
      error: { code: "insufficient_credit" },
    });
    expect(world.provider.requests).toEqual([]);
  });
});

describe("a socket that is closed", () => {
  test("cancels what runs on it, which is charged as a stream that was left", async () => {
    const caller = await world.creditCaller();
    halt(2);
    const socket = await open(caller);
    for (const stream of ["a", "b"]) socket.create({ input: "Hi", stream_id: stream });
    await waitFor(() => socket.frames.length === 4, "two responses to begin");
    world.observed.length = 0;
    socket.close();
    await waitFor(() => world.observed.length === 2, "two exchanges to end");
    await world.settled();
    expect(world.observed.map(({ outcome }) => outcome)).toEqual(["cancelled", "cancelled"]);
    await waitFor(() => world.provider.aborted.length === 2, "the provider to be left");
    const charges = await world.chargesOf(caller);
    expect(charges.map(({ outcome }) => outcome)).toEqual(["cancelled", "cancelled"]);
    expect(world.gateway.sockets.countOf(caller.key.id)).toBe(0);
  });

  test("forgets what waits on it", async () => {
    const { release } = halt();
    const caller = await world.creditCaller();
    const socket = await open(caller);
    for (let index = 0; index < 3; index += 1) socket.create({ input: "Hi" });
    await waitFor(() => socket.frames.length === 1, "a response to begin");
    socket.close();
    await world.settled();
    release();
    expect(world.provider.requests).toHaveLength(1);
    expect(world.gateway.bodies.takenBytes).toBe(0);
  });
});

describe("the handshake", () => {
  test("needs a key, and is refused as HTTP requests are", async () => {
    expect(await refusal(url, "/v1/responses", {})).toMatchObject({
      status: 401,
      code: "invalid_credentials",
    });
    const wrong = { authorization: "Bearer sk-wrong" };
    expect(await refusal(url, "/v1/responses", wrong)).toMatchObject({ status: 401 });
  });

  test("takes no Idempotency-Key, which would cover many requests", async () => {
    const headers = { ...bearer(sockets.turns.caller), "idempotency-key": "once" };
    const expected = { status: 400, code: "invalid_request", param: "Idempotency-Key" };
    expect(await refusal(url, "/v1/responses", headers)).toEqual(expected);
  });

  test("of a page is refused unless its origin is allowed", async () => {
    const headers = { ...bearer(sockets.turns.caller), origin: "https://chat.example.com" };
    const expected = { status: 403, code: "origin_not_allowed", param: null };
    expect(await refusal(url, "/v1/responses", headers)).toEqual(expected);
    await world.reload((config) => `[server]\ncors_origins = ["https://chat.example.com"]\n${config}`);
    using socket = await open(sockets.turns.caller, { origin: "https://chat.example.com" });
    expect((await socket.ask({ input: "Hi" })).type).toBe("response.completed");
    await world.reload((config) => config);
  });

  test("is refused with 429 beyond the sockets that a key may have, until one is closed", async () => {
    await world.reload((config) => `[websocket]\nmax_connections_per_key = 1\n${config}`);
    const caller = await world.creditCaller();
    const socket = await open(caller);
    const expected = { status: 429, code: "rate_limit_exceeded", param: null };
    expect(await refusal(url, "/v1/responses", bearer(caller))).toEqual(expected);
    using other = await open();
    socket.close();
    await waitFor(() => world.gateway.sockets.countOf(caller.key.id) === 0, "the socket to be closed");
    using again = await open(caller);
    expect(again.frames).toEqual(other.frames);
    await world.reload((config) => config);
  });

  test("is rejected with 503 where the memory for bodies has no room for an unfinished message of each", async () => {
    const mebibyte = 1024 * 1024;
    const limits = `max_body_bytes = ${4 * mebibyte}\nmax_body_memory = ${16 * mebibyte}`;
    await waitFor(() => world.gateway.socketSlots.takenBytes === 0, "earlier sockets to be closed");
    await world.reload((config) => `[server]\n${limits}\n${config}`);
    const caller = await world.creditCaller();
    const other = await world.creditCaller();
    const third = await world.creditCaller();
    const first = await open(caller);
    using _second = await open(caller);
    const full = { status: 503, code: "service_unavailable", param: null };
    expect(await refusal(url, "/v1/responses", bearer(caller))).toEqual(full);
    using _others = await open(other);
    expect(await refusal(url, "/v1/responses", bearer(third))).toEqual(full);
    first.close();
    await waitFor(() => world.gateway.socketSlots.takenBytes === 2, "the socket to be closed");
    using _another = await open(third);
    await world.reload((config) => config);
  });

  test("that the runtime cannot complete takes none of the sockets that a key may have", async () => {
    const caller = await world.creditCaller();
    const headers = { ...bearer(caller), connection: "Upgrade", upgrade: "websocket" };
    expect((await fetch(`${url}/v1/responses`, { headers })).status).toBe(400);
    expect(world.gateway.sockets.countOf(caller.key.id)).toBe(0);
  });

  test("gets 426 where WebSockets are off, and a GET without one is the wrong method", async () => {
    await world.reload((config) => `[routes]\nwebsocket = false\n${config}`);
    for (const path of ["/v1/responses", "/token/v1/responses"]) {
      expect(await refusal(url, path, {})).toMatchObject({ status: 426, code: "upgrade_required" });
    }
    await world.reload((config) => config);
    const response = await fetch(`${url}/v1/responses`, { headers: bearer(sockets.turns.caller) });
    expect([response.status, response.headers.get("allow")]).toEqual([405, "POST"]);
  });
});

describe("a key that is revoked", () => {
  test("lets what runs end; the next gets 401, and the socket is closed with 1008", async () => {
    const { release } = halt();
    const caller = await world.creditCaller();
    using socket = await open(caller);
    socket.create({ input: "Hi" });
    await waitFor(() => socket.frames.length === 1, "the response to begin");
    socket.create({ input: "I wait" });
    await changeStatus({ store: world.running.store, clock: systemClock }, caller.key.id, "revoked");
    await world.gateway.catchUp();
    release();
    expect((await socket.end()).type).toBe("response.completed");
    expect(await socket.end()).toMatchObject({ type: "error", status: 401 });
    expect((await socket.closed).code).toBe(1008);
    expect(world.provider.requests).toHaveLength(1);
  });

  test("while a large frame of it is read asks nobody", async () => {
    const { largeBodies } = world.gateway;
    const runRequest = largeBodies.runRequest.bind(largeBodies);
    const begun = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    Object.assign(largeBodies, {
      runRequest: async (...asked: Parameters<typeof runRequest>) => {
        begun.resolve();
        await released.promise;
        return runRequest(...asked);
      },
    });
    const caller = await world.creditCaller();
    using socket = await open(caller);
    socket.create({ input: [say("long ".repeat(300_000))] });
    await begun.promise;
    await changeStatus({ store: world.running.store, clock: systemClock }, caller.key.id, "revoked");
    await world.gateway.catchUp();
    released.resolve();
    expect(await socket.end()).toMatchObject({ type: "error", status: 401 });
    Object.assign(largeBodies, { runRequest });
    expect((await socket.closed).code).toBe(1008);
    expect(world.provider.requests).toHaveLength(0);
    expect(await world.chargesOf(caller)).toEqual([]);
  });

  test("is not taken for one that may not use a model: that socket stays", async () => {
    const context = { store: world.running.store, clock: systemClock };
    const spec = { mode: "credit", creditNano: nanoPerCredit, models: ["gpt-test"] } as const;
    const caller = await createKey(context, spec);
    await world.gateway.catchUp();
    using socket = await open(caller);
    const refused = await socket.ask({ input: "Hi", model: "claude-test" });
    expect([refused.status, refused.error.param]).toEqual([403, "model"]);
    expect((await socket.ask({ input: "Hi" })).type).toBe("response.completed");
  });
});

describe("a frame", () => {
  const refused: readonly (readonly [
    string,
    JsonObject | string | Uint8Array<ArrayBuffer>,
    string | null,
  ])[] = [
    ["of another type", { type: "response.cancel" }, "type"],
    ["without a type", {}, "type"],
    ["that is no JSON", "{", null],
    ["that is no object", "12", null],
    ["in binary", new Uint8Array([123, 125]), null],
    ["with a field twice", '{"type":"response.create","type":"response.create"}', "type"],
  ];
  test.each(refused)("%s is refused with 400, and the next is served", async (_what, frame, param) => {
    using socket = await open();
    socket.send(frame);
    const { status, error, headers } = await socket.end();
    expect([status, error.code, error.param]).toEqual([400, "invalid_request", param]);
    expect(headers["x-request-id"]).toStartWith("req_");
    expect((await socket.ask({ input: "Hi" })).type).toBe("response.completed");
  });

  test("of more than 8 MiB closes the socket with 1009", async () => {
    const limit = 8 * 1024 * 1024;
    using large = await open();
    large.create({ input: "x".repeat(limit) });
    expect((await large.closed).code).toBe(1009);
    using fitting = await open();
    const { error } = await fitting.ask({ input: [say("x".repeat(limit - 1000))] });
    expect(error).toMatchObject({ code: "context_length_exceeded" });
  });

  test("that never ends is collected up to 8 MiB, and then closes the socket", async () => {
    const frameBytes = 32 * 1024;
    const caller = await world.creditCaller();
    using raw = await RawSocket.open(url, caller.secret);
    raw.sendUnfinished(8 * 32, frameBytes);
    using other = await open(caller);
    expect((await other.ask({ input: "Hi" })).type).toBe("response.completed");
    expect(world.gateway.sockets.countOf(caller.key.id)).toBe(2);
    using larger = await RawSocket.open(url, caller.secret);
    larger.sendUnfinished(8 * 32 + 1, frameBytes);
    await larger.closed;
  });

  test("that is nearly as large as a body may be is read, although it is there twice", async () => {
    const mebibyte = 1024 * 1024;
    const limits = `max_body_bytes = ${4 * mebibyte}\nmax_body_memory = ${4 * mebibyte}`;
    await world.reload((config) => `[server]\n${limits}\n${config}`);
    using socket = await open();
    const { error } = await socket.ask({ input: [say("x".repeat(3 * mebibyte))] });
    expect(error).toMatchObject({ code: "context_length_exceeded" });
    await world.settled();
    await world.reload((config) => config);
  });

  test("that there is no memory for is answered with an error, and the socket goes on", async () => {
    const mebibyte = 1024 * 1024;
    const limits = `max_body_bytes = ${4 * mebibyte}\nmax_body_memory = ${4 * mebibyte}`;
    await world.reload((config) => `[server]\n${limits}\n[websocket]\nmax_connections = 4\n${config}`);
    const { largeBodies } = world.gateway;
    const runRequest = largeBodies.runRequest.bind(largeBodies);
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    Object.assign(largeBodies, {
      runRequest: (...asked: Parameters<typeof runRequest>) => released.then(() => runRequest(...asked)),
    });
    const input = [say("x".repeat(1.5 * mebibyte))];
    using first = await open();
    using second = await open();
    first.create({ input });
    await waitFor(() => world.gateway.bodies.takenBytes > 3 * mebibyte, "the first frame to be counted");
    second.create({ input });
    expect(await second.end()).toMatchObject({ status: 503, error: { code: "service_unavailable" } });
    Object.assign(largeBodies, { runRequest });
    release();
    expect((await first.end()).type).toBe("response.completed");
    expect((await second.ask({ input: "Hi" })).type).toBe("response.completed");
    await world.settled();
    await world.reload((config) => config);
  });

  test("that is large is read on another thread, in its order, and given up with its socket", async () => {
    const { largeBodies } = world.gateway;
    const runRequest = largeBodies.runRequest.bind(largeBodies);
    const jobs: string[] = [];
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    Object.assign(largeBodies, {
      runRequest: async (...asked: Parameters<typeof runRequest>) => {
        jobs.push(asked[0].name);
        if (asked[0].name === "frame") await released;
        return runRequest(...asked);
      },
    });
    const long = "long ".repeat(300_000);
    using socket = await open();
    socket.create({ model: "chat-test", input: [say(long)] });
    socket.create({ input: "short", stream_id: "other" });
    socket.send(JSON.stringify({ type: "response.unknown", input: long }));
    const leaving = await open();
    leaving.create({ input: [say(long)] });
    await waitFor(() => jobs.length === 2, "both to be read");
    leaving[Symbol.dispose]();
    await leaving.closed;
    expect(world.provider.requests).toHaveLength(0);
    release();
    const [first, second, third] = [await socket.end(), await socket.end(), await socket.end()];
    Object.assign(largeBodies, { runRequest });
    expect([first, second, third].map(({ type }) => type).toSorted()).toEqual([
      "error",
      "response.completed",
      "response.completed",
    ]);
    expect(
      world.provider.requests.map(({ body }) => JSON.stringify(body).length > 1_000_000).toSorted(),
    ).toEqual([false, true]);
    await world.settled();
    expect(world.gateway.bodies.takenBytes).toBeLessThan(2 * long.length);
  });

  test("that would steer a response gets its input back", async () => {
    using socket = await open();
    socket.send({
      type: "response.steer",
      previous_response_id: "resp_1",
      input: "Left!",
      stream_id: "stream",
    });
    await waitFor(() => socket.frames.length === 1, "an answer");
    expect(socket.frames[0]).toMatchObject({
      type: "response.steer.failed",
      error: { code: "steering_not_supported" },
      stream_id: "stream",
      steer: { previous_response_id: "resp_1", input: "Left!" },
    } as object);
  });

  test("asks for nothing in the background", async () => {
    using socket = await open();
    const { status, error } = await socket.ask({ input: "Hi", background: true });
    expect([status, error.code, error.param]).toEqual([400, "invalid_request", "background"]);
  });
});
