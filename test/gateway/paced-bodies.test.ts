import { afterAll, afterEach, beforeAll, expect, spyOn, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { nextLoopIteration } from "../../src/base/loop/pacer.ts";
import { GenerationCall } from "../../src/gateway/attempt/provider-call.ts";
import { ClientRequest } from "../../src/gateway/request/client-request.ts";
import type { Deployment } from "../../src/upstream/upstream.ts";
import { waitFor } from "../support/wait.ts";
import { hello, wholeAnswer } from "./wire-answers.ts";
import { type Caller, World } from "./world.ts";

/** Just below what the worker thread takes. */
const bodyBytes = 1024 * 1024 - 1;
const bodies = 16;

const model = (id: string, provider: string) => `
[[models]]
id = "${id}"
provider = "${provider}"
upstream_model = "${id}-up"
context_window = 2000000
max_output_tokens = 100
price = { input = 1.0, output = 2.0 }
`;

let world: World;
beforeAll(async () => {
  world = await World.start({
    head: "[server]\nmax_body_memory = 536870912\n",
    tail: model("passed", "openai") + model("translated", "anthropic"),
  });
});
afterEach(() => world.provider.reset());
afterAll(() => world[Symbol.asyncDispose]());

/** A body of many short messages, which takes longest for its size. */
function longBody(model: string): string {
  const content = "word ".repeat(60);
  const messages = Array.from({ length: 3_000 }, () => ({ role: "user", content }));
  const body = JSON.stringify({ ...hello("chat", model, { max_tokens: 1 }), messages });
  return body + " ".repeat(bodyBytes - body.length);
}

/** A request of which everything but the last byte has been sent. */
class HeldBack implements Disposable {
  readonly #socket: Socket;
  readonly #last: string;
  #received = "";

  private constructor(socket: Socket, last: string) {
    this.#socket = socket;
    this.#last = last;
    socket.on("data", (data) => {
      this.#received += data.toString("latin1");
    });
    socket.on("error", () => {});
  }

  static async send({ secret }: Caller, body: string): Promise<HeldBack> {
    const { hostname, port, host } = new URL(world.running.url);
    const socket = connect({ host: hostname, port: Number(port) });
    const request = new HeldBack(socket, body.slice(-1));
    const head = [
      "POST /v1/chat/completions HTTP/1.1",
      `Host: ${host}`,
      `Authorization: Bearer ${secret}`,
      "Content-Type: application/json",
      `Content-Length: ${body.length}`,
      "\r\n",
    ].join("\r\n");
    await new Promise<void>((sent) => socket.write(head + body.slice(0, -1), () => sent()));
    return request;
  }

  finish(): void {
    this.#socket.write(this.#last);
  }

  async status(): Promise<number> {
    await waitFor(() => this.#received.includes("\r\n\r\n"), "the response");
    return Number(this.#received.slice(9, 12));
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }
}

/** Counts the requests that are seen in each iteration of the event loop. */
class Iterations implements Disposable {
  readonly #seen = new Set<object>();
  #isOver = false;
  most = 0;

  constructor() {
    void this.#watch();
  }

  saw(request: object): void {
    this.#seen.add(request);
    this.most = Math.max(this.most, this.#seen.size);
  }

  async #watch(): Promise<void> {
    while (!this.#isOver) {
      await nextLoopIteration();
      this.#seen.clear();
    }
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
  }
}

/** Each takes two milliseconds or more, and one may pass at once in addition. */
const mostTogether = 4;

for (const [what, model] of [
  ["are read", "passed"],
  ["are translated", "translated"],
] as const) {
  test(`bodies whose last bytes arrive together ${what} in many iterations of the event loop`, async () => {
    world.provider.script(wholeAnswer(model === "passed" ? "chat" : "messages", { text: "Hello" }));
    const caller = await world.creditCaller(1_000);
    const body = longBody(model);
    const requests = await Promise.all(Array.from({ length: bodies }, () => HeldBack.send(caller, body)));
    using read = new Iterations();
    using written = new Iterations();
    using _ = spyOn(ClientRequest.prototype, "estimateInput").mockImplementation(watched(read));
    using __ = spyOn(GenerationCall.prototype, "prepare").mockImplementation(watchedPrepare(written));
    for (const request of requests) request.finish();
    const statuses = await Promise.all(requests.map((request) => request.status()));
    for (const request of requests) request[Symbol.dispose]();
    expect(statuses).toEqual(statuses.map(() => 200));
    for (const { most } of [read, written]) {
      expect(most).toBeGreaterThan(0);
      expect(most).toBeLessThanOrEqual(mostTogether);
    }
  }, 60_000);
}

const { estimateInput } = ClientRequest.prototype;
const { prepare } = GenerationCall.prototype;

function watched(iterations: Iterations) {
  return function (this: ClientRequest) {
    iterations.saw(this);
    return estimateInput.call(this);
  };
}

function watchedPrepare(iterations: Iterations) {
  return function (this: GenerationCall, deployment: Deployment) {
    iterations.saw(this);
    return prepare.call(this, deployment);
  };
}
