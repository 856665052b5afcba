import { afterAll, afterEach, expect, spyOn, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { GatewayError } from "../../src/base/errors.ts";
import { ClientStream } from "../../src/gateway/response/client-stream.ts";
import { type Answer, sse } from "../support/answers.ts";
import { waitFor } from "../support/wait.ts";
import { hello, paths } from "./wire-answers.ts";
import { type Caller, World } from "./world.ts";

/** More than a socket holds, and less than an event may have. */
const long = "lorem ipsum ".repeat(600_000);
const shuttingDown = new GatewayError("service_unavailable", "The gateway is shutting down.");

const sending = spyOn(ClientStream.prototype, "send");
const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  sending.mockClear();
});
afterAll(() => sending.mockRestore());

/** Sends a request, and reads nothing of its answer. Resolves when the gateway waits for it. */
async function stalledClient(world: World, { secret }: Caller, path: string, body: object): Promise<void> {
  const { hostname, port } = new URL(world.running.url);
  const socket = connect(Number(port), hostname);
  sockets.push(socket);
  socket.on("error", () => {});
  socket.pause();
  const text = JSON.stringify(body);
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${secret}\r\n` +
      `content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  );
  // The spy is on the prototype, so its contexts are the streams.
  const clients = () => sending.mock.contexts as readonly ClientStream[];
  const isBlocked = () => clients().some((client) => client.isBlocked(performance.now()));
  await waitFor(isBlocked, "the gateway to wait for the client");
}

function endlessChat(): Answer {
  const filler = "lorem ipsum ".repeat(5000);
  const chunk = { choices: [{ index: 0, delta: { content: filler }, finish_reason: null }] };
  const write = `data: ${JSON.stringify(chunk)}\n\n`;
  return { ...sse(""), steps: Array.from({ length: 400 }, () => ({ write })) };
}

test("a stream whose reader has stalled is charged and ended by a shutdown, without waiting for the reader", async () => {
  await using world = await World.start({ head: "[server]\nshutdown_grace = 0" });
  const caller = await world.creditCaller();
  world.provider.script(endlessChat());
  const body = hello("chat", "gpt-test", { stream: true });
  await stalledClient(world, caller, paths.chat, body);
  world.gateway.ongoing.interruptAll(shuttingDown);
  expect(await world.chargesOf(caller)).toMatchObject([{ outcome: "failed", basis: "estimated" }]);
  expect(world.observed).toMatchObject([{ outcome: "failed", errorCode: "service_unavailable" }]);
});

test("a gateway is idle beside streams whose readers have stalled, and not beside others", async () => {
  await using world = await World.start();
  const caller = await world.creditCaller();
  const { ongoing } = world.gateway;
  world.provider.script(endlessChat());
  const body = hello("chat", "gpt-test", { stream: true });
  await stalledClient(world, caller, paths.chat, body);
  await waitFor(() => ongoing.isIdle, "the gateway to be idle");
  expect(ongoing.size).toBe(1);
  const gate = Promise.withResolvers<void>();
  world.provider.script({ ...sse(""), steps: [{ until: gate.promise }] });
  const other = world.ask(caller, { path: paths.chat, body });
  await waitFor(() => ongoing.size === 2, "another request");
  expect(ongoing.isIdle).toBe(false);
  gate.resolve();
  await (await other).text();
  ongoing.interruptAll(shuttingDown);
  await world.settled();
});

test("a stream that is charged, and whose last bytes nobody reads, is over for a shutdown", async () => {
  await using world = await World.start({ head: "[server]\nshutdown_grace = 0" });
  const caller = await world.creditCaller();
  const output = [
    {
      type: "message",
      id: "msg_1",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: long, annotations: [] }],
    },
  ];
  const usage = { input_tokens: 5, output_tokens: 7, total_tokens: 12 };
  const response = { id: "resp_1", object: "response", status: "completed", model: "m", output, usage };
  const event = { type: "response.completed", sequence_number: 1, response };
  world.provider.script(sse(`event: response.completed\ndata: ${JSON.stringify(event)}\n\n`));
  const body = hello("responses", "gpt-test", { stream: true });
  await stalledClient(world, caller, paths.responses, body);
  world.gateway.ongoing.interruptAll(shuttingDown);
  expect(await world.chargesOf(caller)).toMatchObject([{ outcome: "completed", basis: "measured" }]);
  expect(world.observed).toMatchObject([{ outcome: "completed", errorCode: null }]);
});
