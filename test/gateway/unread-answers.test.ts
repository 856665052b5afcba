import { afterAll, afterEach, beforeAll, expect, spyOn, test } from "bun:test";
import { connect } from "node:net";
import { join } from "node:path";
import type { Server } from "bun";
import type { GenerationCall } from "../../src/gateway/attempt/provider-call.ts";
import { Exchange } from "../../src/gateway/exchange/exchange.ts";
import type { ServedRoute } from "../../src/gateway/exchange/served-operation.ts";
import { routes } from "../../src/gateway/operations.ts";
import { bodyResponse } from "../../src/gateway/response/body-response.ts";
import { EarlyStream } from "../../src/gateway/response/early-stream.ts";
import { HttpCall } from "../../src/http/respond.ts";
import { trustedProxies } from "../../src/limits/address.ts";
import { newFolder } from "../support/new-folder.ts";
import { World } from "./world.ts";

/** A socket of the file system takes a fifth of a mebibyte. One of this machine's network may take more than an answer. */
const path = join(newFolder(), "socket");
const [route] = routes;

let world: World;
let server: Server<unknown>;
let body: Uint8Array[] = [];
/** The head leaves before there is an answer. */
let isEarly = false;
/** What a server that stops would wait for, while the rest of the answer was not read. */
let underWay = 0;
const timeout = spyOn(HttpCall.prototype, "disconnect");
beforeAll(async () => {
  world = await World.start({ head: "[server]\nclient_idle_timeout = 7" });
  server = Bun.serve({
    unix: path,
    fetch(request, served) {
      const call = new HttpCall(request, route as ServedRoute, served, () => trustedProxies([]));
      const exchange = new Exchange(call, world.gateway);
      const answer = () => bodyResponse(exchange, body, { headers: {} });
      return isEarly ? respondEarly(exchange, answer) : answer();
    },
  });
});
afterEach(() => {
  timeout.mockClear();
  isEarly = false;
});
afterAll(async () => {
  timeout.mockRestore();
  await server.stop(true);
  await world[Symbol.asyncDispose]();
});

function respondEarly(exchange: Exchange, answer: () => Response): Promise<Response> {
  // The cast holds because nothing else of a generation is read.
  const model = { id: "m" };
  const asking = {
    call: { exchange },
    clientDialect: "chat",
    model,
    attempt: null,
  } as unknown as GenerationCall;
  const running = Promise.withResolvers<Response>();
  const response = exchange.firstOf(running.promise);
  new EarlyStream(asking, 1, 0).check(10);
  running.resolve(answer());
  return response;
}

/** Reads the first bytes, waits, and reads the rest. Resolves with how much came of the body. */
async function readLate(bytes: number, pieces: number): Promise<number> {
  body = Array.from({ length: pieces }, () => new Uint8Array(bytes / pieces).fill(120));
  const socket = connect({ path });
  let text = "";
  socket.once("data", () => {
    socket.pause();
    underWay = server.pendingRequests;
    setImmediate(() => socket.resume());
  });
  socket.write("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  for await (const data of socket) text += data;
  return text.split("x").length - 1;
}

/** How long it may stall while it is sent, and when all of it was written. */
const waits = () => [...new Set(timeout.mock.calls.map(([stalledMs]) => stalledMs))];

test.each([1, 10])(
  "an answer in %d pieces is under way until it is read, and waits no longer than a stream does",
  async (pieces) => {
    expect(await readLate(1_000_000, pieces)).toBe(1_000_000);
    expect(waits()).toEqual([7000]);
    expect(underWay).toBe(1);
  },
);

test("an answer in one piece that continues an early head waits no longer either", async () => {
  isEarly = true;
  // Its headers have the letter, too.
  expect(await readLate(1_000_000, 1)).toBeGreaterThanOrEqual(1_000_000);
  expect(waits()).toEqual([7000]);
});

test("an answer that leaves at once sets no time for reading it", async () => {
  expect(await readLate(50_000, 1)).toBe(50_000);
  expect(timeout).not.toHaveBeenCalled();
});

test.each([
  [undefined, 1],
  [1000, 5],
  [60_000, 60],
  [600_000, 255],
])("a reader that stalls for %p ms is closed by the runtime after %d s", (stalledMs, seconds) => {
  timeout.mockRestore();
  const set = spyOn(server, "timeout");
  new HttpCall(new Request("http://x"), route as ServedRoute, server, () => trustedProxies([])).disconnect(
    stalledMs,
  );
  expect(set.mock.lastCall?.[1]).toBe(seconds);
  set.mockRestore();
});
