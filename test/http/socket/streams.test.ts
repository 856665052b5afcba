import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { SocketStreams } from "../../../src/http/socket/streams.ts";
import { BodyBudget } from "../../../src/limits/body-budget.ts";
import type { World } from "../../gateway/world.ts";
import { waitFor } from "../../support/wait.ts";
import { SocketWorld } from "./socket-world.ts";

let sockets: SocketWorld;
let world: World;
let open: SocketWorld["open"];
let halt: SocketWorld["halt"];

beforeAll(async () => {
  sockets = await SocketWorld.start();
  ({ world, open, halt } = sockets);
});
beforeEach(() => sockets.turns.reset());
afterAll(() => world[Symbol.asyncDispose]());

describe("streams", () => {
  test("run side by side, each in its order, with their name on every event", async () => {
    const { release } = halt();
    using socket = await open();
    socket.create({ input: "One", stream_id: "a" });
    socket.create({ input: "Two", stream_id: "a" });
    socket.create({ input: "Three", stream_id: "b.1-_" });
    socket.create({ input: "Four" });
    await waitFor(() => world.provider.requests.length === 3, "three providers to be asked");
    const asked = world.provider.requests.map(({ text }) => /One|Two|Three|Four/.exec(text)?.[0]);
    expect(asked.toSorted()).toEqual(["Four", "One", "Three"]);
    release();
    await waitFor(
      () => socket.frames.filter(({ type }) => type === "response.completed").length === 4,
      "four responses to end",
    );
    expect(sockets.turns.lastText()).toContain("Two");
    const streams = Map.groupBy(socket.frames, ({ stream_id }) => stream_id);
    expect([...streams.keys()].toSorted()).toEqual(["a", "b.1-_", undefined]);
    expect(streams.get("a")?.map(({ sequence_number }) => sequence_number)).toEqual([0, 1, 2, 0, 1, 2]);
  });

  test("have names of letters, digits, _ - and .", async () => {
    using socket = await open();
    for (const streamId of ["", "a b", "é", "x".repeat(257)]) {
      const { status, error, stream_id } = await socket.ask({ input: "Hi", stream_id: streamId });
      expect([status, error.code, error.param]).toEqual([400, "invalid_stream_id", "stream_id"]);
      expect(stream_id).toBe(streamId);
    }
    expect((await socket.ask({ input: "Hi", stream_id: 1 })).error.code).toBe("invalid_stream_id");
    expect((await socket.ask({ input: "Hi", stream_id: null })).type).toBe("response.completed");
    expect((await socket.ask({ input: "Hi", stream_id: "x".repeat(256) })).type).toBe("response.completed");
  });

  test("are as many as the settings say, the default one not counted", async () => {
    await world.reload((config) => `[websocket]\nmax_streams = 2\n${config}`);
    using socket = await open();
    for (const fields of [{ stream_id: "a" }, {}, { stream_id: "b" }, { stream_id: "a" }]) {
      expect((await socket.ask({ input: "Hi", ...fields })).type).toBe("response.completed");
    }
    const { status, error } = await socket.ask({ input: "Hi", stream_id: "c" });
    expect([status, error.code]).toEqual([400, "websocket_stream_limit_reached"]);
    await world.reload((config) => config);
  });

  test("wait beyond the active ones, and are refused with 429 beyond those that may wait", async () => {
    await world.reload((config) => `[websocket]\nmax_concurrent = 2\nmax_queued = 1\n${config}`);
    const { release } = halt();
    using socket = await open();
    for (const stream of ["a", "b", "c", "d"]) socket.create({ input: "Hi", stream_id: stream });
    expect(await socket.end("d")).toMatchObject({ status: 429, error: { code: "rate_limit_exceeded" } });
    await waitFor(() => world.provider.requests.length === 2, "two providers to be asked");
    release();
    for (const stream of ["a", "b", "c"]) expect((await socket.end(stream)).type).toBe("response.completed");
    expect(world.provider.requests).toHaveLength(3);
    await world.reload((config) => config);
  });

  test("share the memory for what waits and what they remember", async () => {
    const { release } = halt();
    using socket = await open();
    const large = "x".repeat(7 * 1024 * 1024);
    socket.create({ input: "Hi" });
    for (let index = 0; index < 5; index += 1) socket.create({ input: large });
    expect(await socket.end()).toMatchObject({ status: 429 });
    socket.close();
    release();
    await world.settled();
    await waitFor(() => world.gateway.bodies.takenBytes === 0, "the memory to be given back");
  });

  test("remember as much of a conversation as a request may have, and count it", () => {
    const { settings } = world.gateway.configured;
    const limited = { ...settings, server: { ...settings.server, maxBodyBytes: 100 } };
    const { bodies } = world.gateway;
    const streams = new SocketStreams({
      settings: () => limited,
      reserve: () => bodies.reserve("streams"),
      begin: () => {},
    });
    const create = { kind: "create", streamId: null, parentId: null, isWarmUp: false } as const;
    const answered = (id: string, bytes: number) => {
      const item = { raw: new Uint8Array(bytes), id: null, type: "message", callId: null, isLeftOut: false };
      const turn = { id, parentId: null, head: new Uint8Array(), input: [item], output: [], isStored: false };
      streams.take({ ...create, body: new Uint8Array() });
      streams.ended({ ...create, body: new Uint8Array() }, [turn]);
    };
    answered("resp_1", 100);
    expect([streams.chain("resp_1")?.length, bodies.takenBytes]).toEqual([1, 100]);
    answered("resp_2", 101);
    expect([streams.chain("resp_2"), bodies.takenBytes]).toEqual([null, 0]);
  });

  test("keep their order when a reload makes room, and count the frames that wait", () => {
    const { settings } = world.gateway.configured;
    const websocket = { ...settings.websocket, maxConcurrent: 1 };
    const begun: string[] = [];
    const { bodies } = world.gateway;
    const streams = new SocketStreams({
      settings: () => ({ ...settings, websocket }),
      reserve: () => bodies.reserve("streams"),
      begin: ({ streamId, body }) => begun.push(`${streamId}${body.length}`),
    });
    const create = (streamId: string, bytes: number) =>
      ({ kind: "create", streamId, parentId: null, isWarmUp: false, body: new Uint8Array(bytes) }) as const;
    streams.take(create("a", 1));
    streams.take(create("b", 1));
    websocket.maxConcurrent = 3;
    streams.take(create("b", 2));
    expect([begun, streams.isIdle, bodies.takenBytes]).toEqual([["a1"], false, 3]);
    streams.ended(create("a", 1), null);
    expect([begun, bodies.takenBytes]).toEqual([["a1", "b1"], 2]);
    streams.ended(create("b", 1), null);
    streams.ended(create("b", 2), null);
    expect([begun, streams.isIdle, bodies.takenBytes]).toEqual([["a1", "b1", "b2"], true, 0]);
  });

  test("forget a response that could not be continued, and no other", () => {
    const { settings } = world.gateway.configured;
    const streams = new SocketStreams({
      settings: () => settings,
      reserve: () => world.gateway.bodies.reserve("streams"),
      begin: () => {},
    });
    const body = new Uint8Array();
    const create = { kind: "create", streamId: null, parentId: null, isWarmUp: false, body } as const;
    const turn = { id: "resp_1", parentId: null, head: body, input: [], output: [], isStored: false };
    const run = (parentId: string | null, chain: readonly (typeof turn)[] | null) => {
      streams.take({ ...create, parentId });
      streams.ended({ ...create, parentId }, chain);
    };
    run(null, [turn]);
    run("resp_other", null);
    expect(streams.chain("resp_1")).toEqual([turn]);
    run("resp_1", null);
    expect(streams.chain("resp_1")).toBeNull();
  });

  test("begin as many as there is room for, and use the memory of what has begun again", () => {
    const { settings } = world.gateway.configured;
    const websocket = { ...settings.websocket, maxConcurrent: 1 };
    const begun: (string | null)[] = [];
    const bodies = new BodyBudget({ totalBytes: () => 1e9, largestBytes: () => 1e9 });
    const streams = new SocketStreams({
      settings: () => ({ ...settings, websocket }),
      reserve: () => bodies.reserve("streams"),
      begin: ({ streamId }) => begun.push(streamId),
    });
    // Together they are more than a socket may keep.
    const body = new Uint8Array(12 * 1024 * 1024);
    const create = (streamId: string) =>
      ({ kind: "create", streamId, parentId: null, isWarmUp: false, body }) as const;
    for (const name of ["a", "b", "c"]) expect(streams.take(create(name))).toBeNull();
    expect(streams.take(create("d"))?.code).toBe("rate_limit_exceeded");
    websocket.maxConcurrent = 2;
    streams.ended(create("a"), null);
    expect(begun).toEqual(["a", "b", "c"]);
    for (const name of ["d", "e"]) expect(streams.take(create(name))).toBeNull();
  });
});
