import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import type { JsonObject } from "../../../src/base/json.ts";
import { nextLoopIteration } from "../../../src/base/loop/pacer.ts";
import { extensionsHeader } from "../../../src/http/socket/client-socket.ts";
import { InflateLimiter } from "../../../src/limits/byte-limiter.ts";
import type { answer } from "../../gateway/turn-world.ts";
import { usageOf, wholeAnswer } from "../../gateway/wire-answers.ts";
import { World } from "../../gateway/world.ts";
import { sse } from "../../support/answers.ts";
import { FakeClock } from "../../support/clock.ts";
import { RawSocket } from "../../support/raw-socket.ts";
import { refusal } from "../../support/socket.ts";
import { waitFor } from "../../support/wait.ts";
import { bearer, connected, eventsOf, SocketWorld } from "./socket-world.ts";

/** How a socket carries much, little and nothing, and how it ends. */

const create = { type: "response.create", model: "gpt-test", input: "Hi" };

/** An answer of so many megabytes, in events of 64 KB. */
function longResponse(megabytes: number) {
  const delta = (sequence: number) =>
    `event: response.output_text.delta\ndata: ${JSON.stringify({ type: "response.output_text.delta", sequence_number: sequence, output_index: 1, delta: "x".repeat(64 * 1024) })}\n\n`;
  return (request: Parameters<typeof answer>[0]) => {
    const [head = "", , tail = ""] = eventsOf(request);
    const deltas = Array.from({ length: megabytes * 16 }, (_, index) => ({ write: delta(index + 1) }));
    return { ...sse(""), steps: [{ write: head }, ...deltas, { write: tail }] };
  };
}

/** More than the kernel takes for a client and a provider. */
const megabytes = 32;

test("a short frame is read at once, however many long ones of other sockets wait", async () => {
  await using world = await World.start();
  const caller = await world.creditCaller();
  const long = JSON.stringify({ type: "unknown", text: "x".repeat(100 * 1024) });
  const others = Array.from({ length: 16 }, () => connected(world, caller));
  for (const { socket } of others) socket.message(null, long);
  const { socket, sent } = connected(world, await world.creditCaller());
  socket.message(null, '{"type":"unknown"}');
  expect(sent).toHaveLength(1);
  await waitFor(() => others.every((other) => other.sent.length === 1), "the long frames to be answered");
  for (const each of [...others, { socket }]) each.socket.close();
}, 30_000);

describe("a client that does not read", () => {
  test("gets everything once it reads again", async () => {
    await using world = await World.start();
    world.provider.script(longResponse(megabytes));
    using socket = await RawSocket.open(world.running.url, (await world.creditCaller()).secret);
    socket.stopReading();
    socket.send(create);
    await waitFor(() => world.provider.requests.length === 1, "the provider to be asked");
    await waitFor(() => world.gateway.watchdog.size === 1, "the stream to begin");
    socket.read();
    await waitFor(() => socket.latest.includes('"response.completed"'), "the end");
    expect(socket.receivedBytes).toBeGreaterThan(megabytes * 1024 * 1024);
    await world.settled();
    expect(world.observed.at(-1)?.outcome).toBe("completed");
  });

  test("stops its providers, is cut off after the time for stalled readers, and pays for what it left", async () => {
    await using world = await World.start({ head: "[server]\nclient_idle_timeout = 1\n" });
    const caller = await world.creditCaller();
    world.provider.script(longResponse(megabytes));
    using socket = await RawSocket.open(world.running.url, caller.secret);
    socket.stopReading();
    socket.send(create);
    socket.send({ ...create, stream_id: "other" });
    await waitFor(() => world.gateway.sockets.countOf(caller.key.id) === 0, "the socket to be cut off");
    const charges = await world.chargesOf(caller);
    expect(charges.map(({ outcome }) => outcome)).toEqual(["cancelled", "cancelled"]);
    await waitFor(() => world.provider.aborted.length === 2, "the providers to be left");
  });

  test("cannot fill the memory with answers to frames that ask for nothing", async () => {
    await using world = await World.start();
    const caller = await world.creditCaller();
    using socket = await RawSocket.open(world.running.url, caller.secret);
    socket.stopReading();
    const bad = { type: "response.steer", input: "x".repeat(60_000) };
    for (let index = 0; index < 400; index += 1) socket.send(bad);
    await waitFor(() => world.gateway.sockets.countOf(caller.key.id) === 0, "the socket to be cut off");
  });
});

test("a client that is behind in reading may say something, but not ask for answers and pongs without end", async () => {
  await using world = await World.start();
  const { socket, connection, sent, state } = connected(world, await world.creditCaller());
  state.buffered = 1024 * 1024;
  for (let index = 0; index < 3; index += 1) socket.message(null, '{"type":"unknown"}');
  for (let index = 0; index < 1000; index += 1) socket.ping(connection);
  expect(state.isCutOff).toBe(false);
  state.buffered = 0;
  socket.drain(connection);
  await waitFor(() => sent.length === 3, "the answers");
  state.buffered = 1024 * 1024;
  for (let index = 0; index < 10_000; index += 1) socket.ping(connection);
  expect(state.isCutOff).toBe(true);
  socket.close();
});

test("frames that were read no longer count as waiting", async () => {
  await using world = await World.start();
  const { socket, sent, state } = connected(world, await world.creditCaller());
  const frame = "x".repeat(16 * 1024);
  for (let read = 1; read <= 1001; read += 1) {
    socket.message(null, frame);
    await waitFor(() => sent.length === read || state.isCutOff, "the frame to be read");
  }
  expect(state.isCutOff).toBe(false);
  socket.close();
}, 60_000);

test("a socket that is to be closed is closed once the frame that has come is read", async () => {
  await using world = await World.start();
  const { socket, connection, sent } = connected(world, await world.creditCaller());
  const closed: number[] = [];
  Object.assign(connection, { close: (code: number) => closed.push(code) });
  socket.message(null, "x".repeat(16 * 1024));
  socket.closeWhenIdle(1001, "The gateway is shutting down.");
  expect([closed, sent]).toEqual([[], []]);
  await waitFor(() => closed.length > 0, "the socket to be closed");
  expect(sent).toHaveLength(1);
  expect(closed).toEqual([1001]);
  socket.close();
});

test("a client that a frame could not be sent to is cut off, because what follows would make no sense", async () => {
  await using world = await World.start();
  const { socket, sent, state } = connected(world, await world.creditCaller());
  socket.message(null, '{"type":"unknown"}');
  expect([sent.length, state.isCutOff]).toEqual([1, false]);
  state.isDropping = true;
  socket.message(null, '{"type":"unknown"}');
  expect(state.isCutOff).toBe(true);
  socket.close();
});

test("frames that come all at once are read in several turns and answered in their order; too many end the socket", async () => {
  await using world = await World.start();
  const { socket, sent, state } = connected(world, await world.creditCaller());
  const frames = Array.from({ length: 1000 }, (_, index) => `{"type":"type ${index}"}`);
  for (const frame of frames) socket.message(null, frame);
  expect(sent.length).toBeLessThan(frames.length / 2);
  await waitFor(() => sent.length === frames.length, "all answers");
  for (const [index, frame] of sent.entries()) expect(frame).toContain(`type ${index}\\"`);
  expect(state.isCutOff).toBe(false);
  const long = `{"type":"long","input":[${"[],".repeat(4000)}[]]}`;
  for (const frame of [...frames, ...frames]) socket.message(null, `${frame}${long}`);
  expect(state.isCutOff).toBe(true);
  expect(world.gateway.bodies.takenBytes).toBeGreaterThan(0);
  socket.close();
  // Far fewer loop iterations than reading them would take: waiting frames are dropped.
  for (let turn = 0; turn < 5; turn += 1) await nextLoopIteration();
  expect(world.gateway.bodies.takenBytes).toBe(0);
});

describe("a long answer that comes in one piece", () => {
  /** What becomes of it says the text five times, and two of those are more than a socket may ever have buffered. */
  const text = "x".repeat(10 * 1024 * 1024);
  const whole = wholeAnswer("chat", { text, usage: usageOf("chat", 1, 1) });

  test("is sent event by event as its client reads, on several streams at once", async () => {
    const sockets = await SocketWorld.start();
    await using world = sockets.world;
    world.provider.script(whole);
    using socket = await RawSocket.open(sockets.url, sockets.turns.caller.secret);
    socket.stopReading();
    for (const stream_id of ["a", "b"]) socket.send({ ...create, model: "chat-test", stream_id });
    const charges = () => world.chargesOf(sockets.turns.caller);
    await waitFor(async () => (await charges()).length === 2, "both answers");
    socket.read();
    await waitFor(() => socket.receivedBytes > 2 * 5 * text.length, "all that was said");
    await waitFor(() => socket.latest.endsWith('"user":null}}'), "the end");
    expect((await charges()).map(({ outcome }) => outcome)).toEqual(["completed", "completed"]);
  }, 60_000);

  test("is cut off once its client has read nothing for the time for stalled readers", async () => {
    const sockets = await SocketWorld.start("[server]\nclient_idle_timeout = 1\n");
    await using world = sockets.world;
    const { caller } = sockets.turns;
    world.provider.script(whole);
    using socket = await RawSocket.open(sockets.url, caller.secret);
    socket.stopReading();
    socket.send({ ...create, model: "chat-test" });
    await waitFor(() => world.gateway.sockets.countOf(caller.key.id) === 0, "the socket to be cut off");
    expect((await world.chargesOf(caller)).map(({ outcome }) => outcome)).toEqual(["completed"]);
  }, 60_000);
});

test("in silence a keepalive event comes at every heartbeat, also before the first event", async () => {
  const sockets = await SocketWorld.start("[server]\nheartbeat = 0.2\n");
  await using world = sockets.world;
  for (const events of [0, 1]) {
    const { release } = sockets.halt(events);
    using socket = await sockets.open();
    socket.create({ input: "Hi", stream_id: "a" });
    const keepalives = () => socket.frames.filter(({ type }) => type === "keepalive");
    await waitFor(() => keepalives().length >= 2, "two heartbeats");
    release();
    expect((await socket.end()).type).toBe("response.completed");
    expect(keepalives().every(({ stream_id }) => stream_id === "a")).toBe(true);
  }
  expect(world.provider.requests).toHaveLength(2);
});

test("a gateway that stops refuses new requests with 503, lets the others end, and closes with 1001", async () => {
  const sockets = await SocketWorld.start();
  await using world = sockets.world;
  const { release } = sockets.halt();
  using socket = await sockets.open();
  using idle = await sockets.open();
  socket.create({ input: "Hi", stream_id: "a" });
  await waitFor(() => socket.frames.length === 1, "the response to begin");
  const stopping = world.running.stop();
  await waitFor(() => world.gateway.ongoing.isDraining, "the gateway to stop");
  const handshake = await refusal(sockets.url, "/v1/responses", bearer(sockets.turns.caller));
  expect(handshake).toMatchObject({ status: 503, code: "service_unavailable" });
  socket.create({ input: "Hi", stream_id: "b" });
  expect(await socket.end("b")).toMatchObject({ status: 503, error: { code: "service_unavailable" } });
  release();
  expect((await socket.end("a")).type).toBe("response.completed");
  for (const each of [socket, idle]) expect((await each.closed).code).toBe(1001);
  await stopping;
});

test("what does not end within the grace time is ended in band, charged, and the socket closed with 1001", async () => {
  const sockets = await SocketWorld.start("[server]\nshutdown_grace = 0.1\n");
  await using world = sockets.world;
  sockets.halt(2);
  using socket = await sockets.open();
  socket.create({ input: "Hi" });
  await waitFor(() => socket.frames.length === 2, "the response to begin");
  await world.running.stop();
  expect((await socket.end()).type).toBe("response.failed");
  expect((await socket.closed).code).toBe(1001);
});

/** The shortest time that can be configured is a minute. */
function expireSoon(world: World): void {
  const { configured } = world.gateway;
  const { settings } = configured;
  const websocket = { ...settings.websocket, maxDurationMs: 50 };
  world.gateway.configured = { ...configured, settings: { ...settings, websocket } };
}

test("a socket that has been open for long enough is told so once it is idle, and closed with 1001", async () => {
  const sockets = await SocketWorld.start();
  await using world = sockets.world;
  expireSoon(world);
  using idle = await sockets.open();
  const expected: JsonObject = { type: "error", status: 400 };
  expect(await idle.end()).toMatchObject(expected);
  expect(idle.frames[0]?.error.code).toBe("websocket_connection_limit_reached");
  expect((await idle.closed).code).toBe(1001);

  const { release } = sockets.halt();
  using busy = await sockets.open();
  busy.create({ input: "Hi", stream_id: "a" });
  await waitFor(() => busy.frames.length === 1, "the response to begin");
  using younger = await sockets.open();
  await younger.closed;
  busy.create({ input: "Hi", stream_id: "b" });
  expect((await busy.end("b")).error.code).toBe("websocket_connection_limit_reached");
  release();
  expect((await busy.end("a")).type).toBe("response.completed");
  expect((await busy.closed).code).toBe(1001);
  expect(busy.frames.at(-1)?.error.code).toBe("websocket_connection_limit_reached");
});

test("200 sockets at once are each served and charged for all they ask", async () => {
  const sockets = await SocketWorld.start(
    "[websocket]\nmax_connections_per_key = 200\nmax_connections = 400\n",
  );
  await using world = sockets.world;
  sockets.turns.reset();
  const caller = await world.creditCaller(100);
  const clients = await Promise.all(Array.from({ length: 200 }, () => sockets.open(caller)));
  const ends = await Promise.all(
    clients.map(async (client) => {
      const first = await client.ask({ input: "One", store: false });
      const fields = { input: "Two", store: false, previous_response_id: first.response.id };
      return [first.type, (await client.ask(fields)).type];
    }),
  );
  expect(new Set(ends.flat())).toEqual(new Set(["response.completed"]));
  expect(await world.chargesOf(caller)).toHaveLength(400);
  for (const client of clients) client.close();
  await waitFor(() => world.gateway.sockets.countOf(caller.key.id) === 0, "the sockets to be closed");
});

const deflateOffer = ["Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits"];

test("frames may come compressed, count as long as they are without, and are answered as they are", async () => {
  const sockets = await SocketWorld.start();
  await using world = sockets.world;
  sockets.turns.reset();
  using socket = await RawSocket.open(sockets.url, sockets.turns.caller.secret, deflateOffer);
  expect(socket.latest).toContain("permessage-deflate");
  socket.sendDeflated({ type: "response.create", model: "gpt-test", input: "x".repeat(1_000_000) });
  await waitFor(() => socket.latest.includes('"response.completed"'), "the response to end");
  expect(world.provider.requests[0]?.text).toContain("x".repeat(1_000_000));
  socket.sendDeflated({ type: "response.create", model: "gpt-test", input: "x".repeat(9 * 1024 * 1024) });
  await socket.closed;
  expect(world.provider.requests).toHaveLength(1);
});

test("a key whose compressed frames become too much loses its sockets that compress, and gets others that do not", async () => {
  const sockets = await SocketWorld.start();
  await using world = sockets.world;
  const { caller, other } = sockets.turns;
  const openRaw = ({ secret } = caller) => RawSocket.open(sockets.url, secret, deflateOffer);
  using sender = await openRaw();
  using beside = await openRaw();
  using plain = await RawSocket.open(sockets.url, caller.secret);
  using others = await openRaw(other);
  const frame = {
    type: "response.create",
    model: "gpt-test",
    background: true,
    input: "x".repeat(8_000_000),
  };
  for (let sent = 0; sent < 20; sent += 1) sender.sendDeflated(frame);
  await Promise.all([sender.closed, beside.closed]);
  // 1013, in the frame that closes.
  for (const { latest } of [sender, beside]) {
    expect(latest.split("\u0003\u00f5")[0]).toContain("rate_limit_exceeded");
    expect(latest).toContain("\u0003\u00f5");
  }
  expect(world.gateway.sockets.countOf(caller.key.id)).toBe(1);
  // Else a slow machine might have it back by now.
  world.gateway.inflateLimiter.take(caller.key.id, 1e12);
  using next = await openRaw();
  expect(next.latest).not.toContain("permessage-deflate");
  using othersNext = await openRaw(other);
  expect(othersNext.latest).toContain("permessage-deflate");
  sockets.turns.reset();
  for (const each of [plain, next]) each.send({ type: "response.create", model: "gpt-test", input: "Hi" });
  others.sendDeflated({ type: "response.create", model: "gpt-test", input: "Hi" });
  for (const each of [plain, next, others]) {
    await waitFor(() => each.latest.includes('"response.completed"'), "the response to end");
  }
}, 120_000);

test("what is inflated counts in bytes, not in characters", async () => {
  await using world = await World.start();
  const caller = await world.creditCaller();
  const limiter = new InflateLimiter(new FakeClock());
  Object.assign(world.gateway, { inflateLimiter: limiter });
  const { socket } = connected(world, caller, { [extensionsHeader]: "permessage-deflate" });
  socket.message(null, "€".repeat(1000));
  socket.close();
  expect(limiter.take(caller.key.id, 64 * 1024 * 1024 - 3000)).toBe(true);
  expect(limiter.take(caller.key.id, 1)).toBe(false);
});

test("1,000 idle sockets take little memory each, are all kept, and are closed at the end", async () => {
  const sockets = await SocketWorld.start(
    "[websocket]\nmax_connections_per_key = 1001\nmax_connections = 2002\n",
  );
  await using world = sockets.world;
  sockets.turns.reset();
  const { caller } = sockets.turns;
  using socket = await sockets.open();
  await socket.ask({ input: "Hi" });
  Bun.gc(true);
  const before = residentBytes();
  const idle = await Promise.all(
    Array.from({ length: 1000 }, () => RawSocket.open(sockets.url, caller.secret, deflateOffer)),
  );
  Bun.gc(true);
  // Both ends of them are in this process.
  expect(residentBytes() - before).toBeLessThan(1000 * 100 * 1024);
  expect(world.gateway.sockets.countOf(caller.key.id)).toBe(1001);
  idle[500]?.send({ type: "response.create", model: "gpt-test", input: "Hi" });
  await waitFor(() => idle[500]?.latest.includes('"response.completed"') === true, "an answer");
  await world.running.stop();
  await Promise.all(idle.map(({ closed }) => closed));
  // 1001, in the frame that closes.
  for (const { latest } of idle) expect(latest).toContain("\u0003\u00e9");
}, 120_000);

function residentBytes(): number {
  const [, pages] = readFileSync("/proc/self/statm", "latin1").split(" ");
  return Number(pages) * 4096;
}
