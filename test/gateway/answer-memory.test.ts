import { afterAll, afterEach, beforeAll, describe, expect, spyOn, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { AdmittedCall } from "../../src/gateway/exchange/admitted-call.ts";
import { endExchange } from "../../src/gateway/exchange/end-exchange.ts";
import { Exchange } from "../../src/gateway/exchange/exchange.ts";
import { clientOrigin } from "../../src/gateway/exchange/origin.ts";
import type { ServedRoute } from "../../src/gateway/exchange/served-operation.ts";
import { routes } from "../../src/gateway/operations.ts";
import { bodyResponse } from "../../src/gateway/response/body-response.ts";
import { json } from "../support/answers.ts";
import { waitFor } from "../support/wait.ts";
import { hello, paths } from "./wire-answers.ts";
import { type Caller, World } from "./world.ts";

const mebibyte = 1024 * 1024;
const asking = spyOn(AdmittedCall.prototype, "awaitMemory");
const askingStored = spyOn(AdmittedCall.prototype, "awaitStored");

let world: World;
let caller: Caller;
beforeAll(async () => {
  world = await World.start({
    head: `[server]\nmax_body_bytes = ${mebibyte}\nmax_body_memory = ${mebibyte}`,
  });
});
afterEach(() => {
  asking.mockClear();
  askingStored.mockClear();
  for (const socket of sockets.splice(0)) socket.destroy();
});
afterAll(() => {
  asking.mockRestore();
  askingStored.mockRestore();
  return world[Symbol.asyncDispose]();
});

const sockets: Socket[] = [];

/** An answer of this size; more than a socket buffers for a client that does not read. */
function answerOf(bytes: number, framing: "length" | "chunked" = "length") {
  const said = { role: "assistant", content: "x".repeat(bytes) };
  const usage = { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 };
  const choices = [{ index: 0, message: said, finish_reason: "stop" }];
  return json({ id: "c", object: "chat.completion", created: 1, model: "m", choices, usage }, { framing });
}

const body = hello("chat", "gpt-test");
const ask = (signal?: AbortSignal) =>
  world.ask(caller, { path: paths.chat, body, ...(signal === undefined ? {} : { signal }) });

/** Asks, and reads no more than the head of what comes. */
async function askWithoutReading(): Promise<Socket> {
  const { hostname, port, host } = new URL(world.running.url);
  const socket = connect({ host: hostname, port: Number(port) });
  sockets.push(socket);
  const text = JSON.stringify(body);
  const head = [`POST ${paths.chat} HTTP/1.1`, `Host: ${host}`, `Authorization: Bearer ${caller.secret}`];
  socket.on("error", () => {});
  socket.once("data", () => socket.pause());
  socket.write([...head, `Content-Length: ${text.length}`, "", text].join("\r\n"));
  await waitFor(() => socket.isPaused(), "the answer to begin");
  return socket;
}

/** A call that has come as far as to read something for its client. */
async function begun(signal: AbortSignal): Promise<AdmittedCall> {
  const request = new Request(world.running.url, { signal });
  const [route] = routes;
  const connection = {
    address: "127.0.0.1",
    origin: clientOrigin,
    isForwarded: false,
    keepWaiting() {},
    disconnect() {},
  };
  const exchange = new Exchange({ request, route: route as ServedRoute, ...connection }, world.gateway);
  return new AdmittedCall(world.gateway, exchange, (await world.creditCaller()).key);
}

const isFree = () => waitFor(() => world.gateway.answers.takenBytes === 0, "the memory to be given back");

describe("a large answer", () => {
  test("waits at its provider until there is memory for it, and is charged as any other", async () => {
    caller = await world.creditCaller();
    world.provider.script(answerOf(40 * mebibyte));
    const first = await askWithoutReading();
    expect(world.gateway.answers.takenBytes).toBeWithin(40 * mebibyte, 41 * mebibyte);
    const second = ask();
    await waitFor(() => asking.mock.calls.length === 2, "the second one to wait");
    expect(Bun.peek.status(second)).toBe("pending");
    expect(world.gateway.answers.takenBytes).toBeLessThan(41 * mebibyte);
    first.destroy();
    const answered = await second;
    expect([answered.status, (await answered.text()).length > 40 * mebibyte]).toEqual([200, true]);
    await isFree();
    expect(await world.chargesOf(caller)).toMatchObject([{ outcome: "completed" }, { outcome: "completed" }]);
  });

  test("that announces no size takes what the largest would, and gives back what it did not need", async () => {
    caller = await world.creditCaller();
    world.provider.script(answerOf(20 * mebibyte, "chunked"));
    await askWithoutReading();
    expect(asking.mock.calls).toEqual([[64 * mebibyte]]);
    expect(world.gateway.answers.takenBytes).toBeWithin(20 * mebibyte, 21 * mebibyte);
  });

  test("of a client that leaves while it waits takes nothing, and costs nothing", async () => {
    caller = await world.creditCaller();
    world.provider.script(answerOf(40 * mebibyte));
    const first = await askWithoutReading();
    const leaving = new AbortController();
    const second = ask(leaving.signal).catch(() => "left");
    await waitFor(() => asking.mock.calls.length === 2, "the second one to wait");
    leaving.abort();
    expect(await second).toBe("left");
    await waitFor(() => world.gateway.ongoing.size === 0, "the second one to end");
    first.destroy();
    await isFree();
    expect(await world.chargesOf(caller)).toHaveLength(1);
  });

  test.each(["before", "after"])("of a client that leaves %s it is sent takes nothing", async (when) => {
    const leaving = new AbortController();
    const call = await begun(leaving.signal);
    await call.awaitMemory(2 * mebibyte);
    if (when === "before") leaving.abort();
    bodyResponse(call.exchange, [new Uint8Array(2 * mebibyte)], { headers: {} });
    expect(call.exchange.taken.memory).toBeNull();
    leaving.abort();
    expect(world.gateway.answers.takenBytes).toBe(0);
  });

  test("takes as much as it has bytes, and not as it has characters", async () => {
    const leaving = new AbortController();
    const call = await begun(leaving.signal);
    await call.awaitMemory(4 * mebibyte);
    bodyResponse(call.exchange, ["é".repeat(mebibyte), "é".repeat(mebibyte / 2)], { headers: {} });
    expect(world.gateway.answers.takenBytes).toBe(3 * mebibyte);
    leaving.abort();
    expect(world.gateway.answers.takenBytes).toBe(0);
  });

  test("is given up with a client that stops reading", async () => {
    await world.reload((config) => config.replace("[server]", "[server]\nclient_idle_timeout = 1"));
    caller = await world.creditCaller();
    world.provider.script(answerOf(40 * mebibyte));
    await askWithoutReading();
    await isFree();
    await world.reload((config) => config);
  }, 60_000);
});

describe("what an exchange reads for its client", () => {
  const { signal } = new AbortController();
  const taken = () => world.gateway.answers.takenBytes;

  test("is counted by its largest, whatever came first", async () => {
    const call = await begun(signal);
    await call.awaitMemory(2 * mebibyte);
    await call.awaitMemory(8 * mebibyte);
    await call.awaitMemory(4 * mebibyte);
    expect(taken()).toBe(8 * mebibyte);
    call.exchange.taken.memory?.release();
    expect(taken()).toBe(0);
  });

  test("does not wait if it is small, although all memory is taken", async () => {
    const [first, second] = [await begun(signal), await begun(signal)];
    await first.awaitMemory(64 * mebibyte);
    await second.awaitMemory(mebibyte - 1);
    expect(taken()).toBe(64 * mebibyte);
    first.exchange.taken.memory?.release();
  });

  test("is given up while it waits once its client has left", async () => {
    const leaving = new AbortController();
    const [first, second] = [await begun(signal), await begun(leaving.signal)];
    await first.awaitMemory(64 * mebibyte);
    const waiting = second.awaitMemory(2 * mebibyte);
    leaving.abort(new Error("gone"));
    await expect(waiting).rejects.toThrow("gone");
    first.exchange.taken.memory?.release();
    expect(taken()).toBe(0);
  });

  test("never waits for what another exchange waits for with it", async () => {
    const calls = [await begun(signal), await begun(signal)];
    await Promise.all(calls.map((call) => call.awaitMemory(10 * mebibyte)));
    const both = calls.map((call) =>
      call.awaitMemory(60 * mebibyte).then(() => call.exchange.taken.memory?.release()),
    );
    await Promise.all(both);
    expect(taken()).toBe(0);
  });
});

test("what is read from the store takes a download of its key too, and is refused beyond the last", async () => {
  const calls = await Promise.all(Array.from({ length: 17 }, () => begun(new AbortController().signal)));
  const [first, ...others] = calls.map((call) => new AdmittedCall(world.gateway, call.exchange, caller.key));
  const last = others.pop();
  for (const call of [first, ...others]) await call?.awaitStored(mebibyte);
  expect(world.gateway.answers.takenBytes).toBe(16 * mebibyte);
  const refused = await last?.awaitStored(mebibyte).catch((error) => error);
  expect(refused).toMatchObject({ code: "rate_limit_exceeded", retryAfterSeconds: 5 });
  // What is small needs none.
  await last?.awaitStored(mebibyte - 1);
  if (first !== undefined)
    endExchange(world.gateway, first.exchange, { status: 200, outcome: "rejected", error: null });
  await last?.awaitStored(mebibyte);
  expect(world.gateway.answers.takenBytes).toBe(16 * mebibyte);
  for (const call of [...others, last]) {
    call?.exchange.taken.download?.release();
    call?.exchange.taken.memory?.release();
  }
  expect([world.gateway.answers.takenBytes, world.gateway.downloads.size]).toEqual([0, 0]);
});

test("a small answer asks for no memory", async () => {
  caller = await world.creditCaller();
  world.provider.script(answerOf(100_000));
  expect((await ask()).status).toBe(200);
  expect(asking.mock.calls).toEqual([]);
});

test("a large answer is replayed as it was, and gives its memory back", async () => {
  caller = await world.creditCaller();
  world.provider.script(answerOf(5 * mebibyte));
  const headers = { "idempotency-key": "large" };
  const first = await (await world.ask(caller, { path: paths.chat, body, headers })).text();
  const again = await world.ask(caller, { path: paths.chat, body, headers });
  expect(again.headers.get("idempotent-replayed")).toBe("true");
  expect((await again.text()) === first && first.length > 5 * mebibyte).toBe(true);
  expect([asking.mock.calls.length, askingStored.mock.calls.length]).toEqual([1, 1]);
  await isFree();
  expect(world.gateway.downloads.size).toBe(0);
  expect(await world.chargesOf(caller)).toHaveLength(1);
});

test("a short answer in several texts is whole, whatever their characters", async () => {
  const call = await begun(new AbortController().signal);
  expect(await bodyResponse(call.exchange, ["naïve ", "café"], { headers: {} }).text()).toBe("naïve café");
});
