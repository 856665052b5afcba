import { afterAll, beforeAll, expect, test } from "bun:test";
import { connect } from "node:net";
import { type Answer, text } from "../../support/answers.ts";
import { waitFor } from "../../support/wait.ts";
import { type Caller, World } from "../world.ts";
import { embeddingModels } from "./embedding-provider.ts";

let world: World;
let caller: Caller;
beforeAll(async () => {
  world = await World.start({ tail: embeddingModels });
  caller = await world.creditCaller(100);
});
afterAll(() => world[Symbol.asyncDispose]());

const inputs = Array.from({ length: 100 }, (_, index) => `text ${index}`);
const vector = Buffer.alloc(1536 * 4, 7).toString("base64");
const answered = JSON.stringify({
  object: "list",
  data: inputs.map((_, index) => ({ object: "embedding", index, embedding: vector })),
  model: "text-embedding-upstream",
  usage: { prompt_tokens: 300, total_tokens: 300 },
});
const body = { model: "embed", input: inputs, encoding_format: "base64" };

/** Of 824 KB, which come in three pieces. */
const inPieces: Answer = {
  ...text(answered, "application/json"),
  steps: [0, 1, 2].flatMap((part) => [
    { write: answered.slice(part * 300_000, (part + 1) * 300_000) },
    { sleepMs: 20 },
  ]),
};

const ask = (headers = {}) => world.ask(caller, { path: "/v1/embeddings", body, headers });

test("a long answer passes byte for byte, and again for a retry", async () => {
  world.provider.script(inPieces);
  const retried = { "idempotency-key": "long" };
  const responses = [await ask(retried), await ask(retried)];
  for (const response of responses) expect(await response.text()).toBe(answered);
  expect(responses.map(({ headers }) => headers.get("idempotent-replayed"))).toEqual([null, "true"]);
  expect(await world.chargesOf(caller)).toMatchObject([{ outcome: "completed", basis: "measured" }]);
});

test("a client that reads slowly gets all of a long answer", async () => {
  world.provider.script(inPieces);
  const socket = await begun();
  let received = "";
  socket.on("data", (piece) => {
    received += piece.toString("latin1");
    socket.pause();
    setImmediate(() => socket.resume());
  });
  socket.resume();
  await waitFor(() => received.endsWith("\r\n0\r\n\r\n"), "the end of the answer");
  const chunks = received.slice(received.indexOf("\r\n\r\n") + 2).split(/\r\n[0-9a-f]+\r\n/);
  expect(chunks.join("").trim()).toBe(answered);
});

test("a client that leaves in the middle of a long answer harms nobody", async () => {
  world.provider.script(inPieces);
  (await begun()).destroy();
  await waitFor(() => world.gateway.ongoing.size === 0, "its exchange to end");
  expect(await (await ask()).text()).toBe(answered);
});

/** A connection on which the answer has begun, and which reads no more of it than its first bytes. */
async function begun() {
  const { hostname, port, host } = new URL(world.running.url);
  const socket = connect({ host: hostname, port: Number(port) });
  const sent = JSON.stringify(body);
  const head = ["POST /v1/embeddings HTTP/1.1", `Host: ${host}`, `Authorization: Bearer ${caller.secret}`];
  let first: string | Buffer = "";
  socket.once("data", (piece) => {
    socket.pause();
    first = piece;
  });
  socket.write([...head, `Content-Length: ${sent.length}`, "", sent].join("\r\n"));
  await waitFor(() => first.length > 0, "the answer to begin");
  socket.unshift(first);
  return socket;
}
