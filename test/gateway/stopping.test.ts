import { expect, test } from "bun:test";
import { answerFrom } from "../support/fixtures.ts";
import { waitFor } from "../support/wait.ts";
import { hello, paths } from "./wire-answers.ts";
import { World } from "./world.ts";

/** A collector of traces that refuses them, or does not answer at all. */
const collectors: readonly (readonly [what: string, answer: () => Response | Promise<Response>])[] = [
  ["refuses", () => new Response("no", { status: 400 })],
  ["does not answer", () => new Promise<Response>(() => {})],
];

test.each(collectors)(
  "a gateway whose collector of traces %s stops all the same, and closes its store",
  async (_what, answer) => {
    using collector = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: answer });
    const world = await World.start({ head: `[tracing]\notlp_endpoint = "${collector.url}"\n` });
    world.provider.script(answerFrom("chat/text.json"));
    const caller = await world.creditCaller();
    const response = await world.ask(caller, { path: paths.chat, body: hello("chat", "gpt-test") });
    expect(response.status).toBe(200);
    await response.text();
    await world[Symbol.asyncDispose]();
    expect(await fetch(`${world.running.url}/healthz`).catch(() => null)).toBeNull();
    expect(await world.running.store.currentRevision().catch(() => "closed")).toBe("closed");
  },
);

test("a gateway that has stopped leaves nothing behind in its process", async () => {
  const listeners = () => process.listenerCount("exit");
  const before = listeners();
  const world = await World.start();
  await world[Symbol.asyncDispose]();
  expect(listeners()).toBe(before);
});

test.each([
  ["a small body", "content-length: 1000"],
  ["a large body", "content-length: 3000000"],
  ["a body of any length", "transfer-encoding: chunked"],
])("%s that has not come whole by the end of the grace time is answered", async (_what, framing) => {
  const world = await World.start({ head: '[server]\nshutdown_grace = "100ms"\n' });
  const caller = await world.creditCaller();
  const { hostname, port } = new URL(world.running.url);
  const { promise: closed, resolve: close } = Promise.withResolvers<void>();
  const pieces: Buffer[] = [];
  const half = framing.includes("chunked") ? '5\r\n{"mod\r\n' : '{"mod';
  const socket = await Bun.connect({
    hostname,
    port: Number(port),
    socket: { data: (_, bytes) => void pieces.push(bytes), close: () => close() },
  });
  const head = ["POST /v1/chat/completions HTTP/1.1", "host: x", `authorization: Bearer ${caller.secret}`];
  socket.write(`${[...head, framing].join("\r\n")}\r\n\r\n${half}`);
  await waitFor(() => !world.gateway.ongoing.isEmpty, "the body to be read");
  await world[Symbol.asyncDispose]();
  await closed;
  const answer = Buffer.concat(pieces).toString();
  expect(answer).toStartWith("HTTP/1.1 503");
  expect(answer.toLowerCase()).toContain("retry-after: ");
  expect(answer).toContain("The gateway is shutting down.");
  expect(world.observed.at(-1)).toMatchObject({ status: 503, charged: 0 });
});
