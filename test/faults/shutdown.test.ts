import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { type Answer, cutBefore, json, openAiError, silence } from "../support/answers.ts";
import { configFor } from "../support/config.ts";
import { answerFrom, fixture, usualResponse } from "../support/fixtures.ts";
import { type ScriptedProvider, type SeenRequest, startProvider } from "../support/provider.ts";
import { type Sluice, startSluice, type TestKey } from "../support/sluice.ts";
import { StreamReader } from "../support/sse.ts";
import { waitFor } from "../support/wait.ts";

let provider: ScriptedProvider;
let sluice: Sluice;
let key: TestKey;

beforeEach(async () => {
  provider = startProvider();
});
afterEach(async () => {
  await sluice.dispose();
  provider.stop();
});

async function start(head = "[server]\nshutdown_grace = 0.2", more = ""): Promise<void> {
  sluice = await startSluice({ config: configFor({ url: provider.url, head, provider: more }) });
  key = await sluice.createKey();
}

const messages = [{ role: "user", content: "Hello" }];
const routes = [
  { dialect: "chat", path: "/v1/chat/completions", body: { model: "gpt-test", messages } },
  { dialect: "responses", path: "/v1/responses", body: { model: "gpt-test", input: "Hello" } },
  { dialect: "messages", path: "/v1/messages", body: { model: "claude-test", max_tokens: 100, messages } },
] as const;

type Route = (typeof routes)[number];

function ask(route: Route, more: object = {}, headers: Record<string, string> = {}): Promise<Response> {
  return sluice.request(route.path, { key, headers, body: { ...route.body, ...more } });
}

interface Credits {
  readonly used: number;
  readonly reserved: number;
}

async function credits(of: TestKey = key): Promise<Credits> {
  const summary = await (await sluice.request("/v1/usage", { key: of })).json();
  return (summary as { credits: Credits }).credits;
}

/** The envelope of the route's own dialect, with everything that a client's SDK looks at. */
async function expectShuttingDown(response: Response, { dialect }: Route): Promise<void> {
  expect(response.status).toBe(503);
  expect(Number(response.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
  expect(response.headers.get("content-type")).toContain("application/json");
  expect(response.headers.get("x-request-id")).toStartWith("req_");
  const body = (await response.json()) as { type?: string; error: { type: string; code: string } };
  expect(body.error.code).toBe("service_unavailable");
  expect(body.error.type).toBe(dialect === "messages" ? "overloaded_error" : "api_error");
  if (dialect === "messages") expect(body.type).toBe("error");
}

/** Nothing was charged, and nothing is held any more. */
async function expectNothingTaken(): Promise<void> {
  await sluice.restart();
  expect(await credits()).toMatchObject({ used: 0, reserved: 0 });
  expect((await sluice.run("ledger", "audit")).code).toBe(0);
}

describe("when the grace time is over, SIGTERM answers 503 to", () => {
  for (const stream of [false, true]) {
    test(stream ? "streams that have not begun" : "whole answers under way", async () => {
      await start();
      provider.script(silence());
      const asking = routes.map((route) => ask(route, { stream }));
      await waitFor(() => provider.requests.length === 3, "the provider to be asked");
      expect(await sluice.stop()).toBe(0);
      for (const [index, route] of routes.entries()) {
        await expectShuttingDown(await (asking[index] ?? Promise.reject(new Error("not asked"))), route);
      }
      await waitFor(() => provider.aborted.length === 3, "the provider to be left");
      await expectNothingTaken();
    });
  }

  test("whole answers of a provider that streams although nobody asked it to", async () => {
    await start();
    provider.script(cutBefore(answerFrom("chat/text.sse"), '"finish_reason":"stop"', [{ stall: true }]));
    const [chat] = routes;
    const asking = ask(chat);
    await waitFor(() => provider.requests.length === 1, "the provider to be asked");
    expect(await sluice.stop()).toBe(0);
    await expectShuttingDown(await asking, chat);
    await expectNothingTaken();
  });

  test("requests that wait for a place at their provider", async () => {
    await start("[server]\nshutdown_grace = 0.2", "max_concurrent = 1");
    const [chat] = routes;
    const waiting = await sluice.createKey();
    provider.script(silence());
    const asking = ask(chat);
    await waitFor(() => provider.requests.length === 1, "the only place to be taken");
    const queued = sluice.request(chat.path, { key: waiting, body: chat.body });
    await waitFor(async () => (await credits(waiting)).reserved > 0, "the other to wait");
    expect(await sluice.stop()).toBe(0);
    await expectShuttingDown(await asking, chat);
    await expectShuttingDown(await queued, chat);
    expect(provider.requests).toHaveLength(1);
    await expectNothingTaken();
  });

  test("requests that wait out a pause of their provider", async () => {
    await start("[server]\nshutdown_grace = 0");
    const [chat] = routes;
    provider.script(openAiError(429, "slow down", null, { "retry-after": "2" }));
    expect((await ask(chat)).status).toBe(503);
    const pausing = ask(chat);
    await waitFor(async () => (await credits()).reserved > 0, "the other to wait");
    expect(await sluice.stop()).toBe(0);
    await expectShuttingDown(await pausing, chat);
    expect(provider.requests).toHaveLength(1);
    await expectNothingTaken();
  });
});

test("a request that was refused so runs again with the same idempotency key", async () => {
  await start();
  const [chat] = routes;
  provider.script(silence());
  const asking = ask(chat, {}, { "idempotency-key": "again" });
  await waitFor(() => provider.requests.length === 1, "the provider to be asked");
  expect(await sluice.stop()).toBe(0);
  await expectShuttingDown(await asking, chat);
  await sluice.restart();
  provider.script(null);
  const again = await ask(chat, {}, { "idempotency-key": "again" });
  expect(again.status).toBe(200);
  expect(again.headers.get("idempotent-replayed")).toBeNull();
});

test("a token count under way is answered with an estimate", async () => {
  await start();
  const countPath = "/v1/messages/count_tokens";
  provider.script(silence());
  const body = { model: "claude-test", messages };
  const counting = sluice.request(countPath, { key, body });
  await waitFor(() => provider.requests.length === 1, "the provider to be asked");
  expect(await sluice.stop()).toBe(0);
  const response = await counting;
  expect(response.status).toBe(200);
  expect(response.headers.get("x-sluice-count")).toBe("estimate");
  expect(await response.json()).toMatchObject({ input_tokens: expect.any(Number) });
});

test("a stream that has begun ends in-band beside one that has not", async () => {
  await start();
  const [chat] = routes;
  const begun = cutBefore(answerFrom("chat/text.sse"), '"finish_reason":"stop"', [{ stall: true }]);
  provider.script([begun, silence()]);
  const reader = new StreamReader(await ask(chat, { stream: true }));
  await reader.until("Sluices");
  const waiting = ask(chat, { stream: true });
  await waitFor(() => provider.requests.length === 2, "the provider to be asked");
  expect(await sluice.stop()).toBe(0);
  await expectShuttingDown(await waiting, chat);
  while ((await reader.nextChunk()) !== null);
  expect(reader.result().text).toContain('data: {"error":{');
  expect(reader.result().text).not.toContain("[DONE]");
});

test("what a stop has ended is explained by the stop, and the provider is not blamed", async () => {
  await start();
  const [chat] = routes;
  provider.script([
    cutBefore(answerFrom("chat/text.sse"), '"finish_reason":"stop"', [{ stall: true }]),
    silence(),
  ]);
  const begun = await ask(chat, { stream: true });
  const reader = new StreamReader(begun);
  await reader.until("Sluices");
  const waiting = ask(chat);
  await waitFor(() => provider.requests.length === 2, "the provider to be asked");
  expect(await sluice.stop()).toBe(0);
  for (const { headers } of [begun, await waiting]) {
    const { stdout } = await sluice.run("requests", "show", headers.get("x-request-id") ?? "");
    expect(stdout).toContain("The gateway is shutting down");
    expect(stdout).toContain("`server.shutdown_grace`");
    expect(stdout).not.toMatch(/has more to do|base_url|answer failed/);
  }
});

/** A connection on which requests are sent one after the other. */
class KeptConnection {
  readonly #socket: Socket;
  #received = "";
  isClosed = false;

  constructor() {
    const { hostname, port } = new URL(sluice.url);
    this.#socket = connect(Number(port), hostname);
    this.#socket.on("data", (piece) => {
      this.#received += piece.toString();
    });
    this.#socket.on("close", () => {
      this.isClosed = true;
    });
    this.#socket.on("error", () => undefined);
  }

  /** The head of the answer, which has a length. */
  async ask(line: string, headers: readonly string[] = [], body = ""): Promise<string> {
    this.#received = "";
    const length = `content-length: ${Buffer.byteLength(body)}`;
    this.#socket.write(`${[`${line} HTTP/1.1`, "host: x", length, ...headers].join("\r\n")}\r\n\r\n${body}`);
    await waitFor(() => this.#received.includes("\r\n\r\n"), "an answer");
    return this.#received.split("\r\n\r\n")[0]?.toLowerCase() ?? "";
  }
}

/** A stream that goes on until it is let end; the gateway has been told to stop meanwhile. */
async function stopBesideStream(): Promise<{ endStream(): Promise<string>; stopping: Promise<number> }> {
  const gate = Promise.withResolvers<void>();
  const text = fixture("chat/text.sse");
  const cut = text.indexOf("data:", text.indexOf(" keep"));
  const steps = [{ write: text.slice(0, cut) }, { until: gate.promise }, { write: text.slice(cut) }];
  provider.script({ ...answerFrom("chat/text.sse"), steps });
  const reader = new StreamReader(await ask(routes[0], { stream: true }));
  await reader.until("Sluices");
  const stopping = sluice.stop();
  await sluice.told("stopping");
  const endStream = async () => {
    gate.resolve();
    while ((await reader.nextChunk()) !== null);
    return reader.result().text;
  };
  return { endStream, stopping };
}

describe("while streams finish", () => {
  const [chat] = routes;
  const bearer = () => `authorization: Bearer ${key.key}`;

  test("every answer closes its connection, whatever was asked", async () => {
    await start("[server]\nshutdown_grace = 30");
    const lines = [
      "GET /readyz",
      "GET /healthz",
      "GET /v1/models",
      "GET /nothing",
      "GET /a//b",
      "GET /admin/api/v1/keys",
    ];
    const kept = lines.map((line) => ({ line, connection: new KeptConnection() }));
    const generating = new KeptConnection();
    expect(await generating.ask("GET /healthz")).not.toContain("connection: close");
    for (const { line, connection } of kept)
      expect(await connection.ask(line)).not.toContain("connection: close");
    const { endStream, stopping } = await stopBesideStream();
    for (const { line, connection } of kept) {
      expect(await connection.ask(line), line).toContain("connection: close");
      await waitFor(() => connection.isClosed, `the connection to be closed behind ${line}`);
    }
    const refused = await generating.ask(`POST ${chat.path}`, [bearer()], JSON.stringify(chat.body));
    expect(refused).toStartWith("http/1.1 503");
    expect(refused).toContain("connection: close");
    await endStream();
    expect(await stopping).toBe(0);
  });

  test("a proxy's request on a kept connection is served, others are closed, and new ones refused at once", async () => {
    await start("[server]\nshutdown_grace = 30");
    const forwarded = [bearer(), "x-forwarded-for: 192.0.2.7"];
    const body = JSON.stringify(chat.body);
    const [used, idle] = [new KeptConnection(), new KeptConnection()];
    expect(await used.ask(`POST ${chat.path}`, forwarded, body)).toStartWith("http/1.1 200");
    await idle.ask("GET /healthz");
    const { endStream, stopping } = await stopBesideStream();
    expect(await sluice.request("/readyz").then(String, () => "refused")).toBe("refused");
    provider.script(null);
    const served = await used.ask(`POST ${chat.path}`, forwarded, body);
    expect(served).toStartWith("http/1.1 200");
    expect(served).toContain("connection: close");
    await waitFor(() => used.isClosed && idle.isClosed, "the kept connections to be closed");
    expect(await endStream()).toEndWith("data: [DONE]\n\n");
    expect(await stopping).toBe(0);
    await sluice.restart();
    expect((await credits()).reserved).toBe(0);
  });
});

test("an answer that a slow client is still reading reaches its end", async () => {
  await start("[server]\nshutdown_grace = 30");
  const long = "lorem ipsum ".repeat(400_000);
  const answer = (request: SeenRequest): Answer => {
    const usual = JSON.parse(Buffer.from(writtenBy(usualResponse(request))).toString());
    usual.choices[0].message.content = long;
    return json(usual);
  };
  provider.script(answer);
  const [chat] = routes;
  const { socket, received } = slowClient(JSON.stringify(chat.body), chat.path);
  await waitFor(async () => (await credits()).used > 0, "the answer to be charged");
  const stopping = sluice.stop();
  await waitFor(
    async () => (await sluice.request("/readyz").catch(() => null)) === null,
    "it to listen no more",
  );
  socket.resume();
  expect(await stopping).toBe(0);
  await waitFor(() => received().endsWith("}\r\n0\r\n\r\n"), "the whole answer, in chunks");
  expect(received().length).toBeGreaterThan(long.length);
  socket.destroy();
}, 120_000);

function writtenBy(answer: Answer): string {
  return answer.steps.map((step) => ("write" in step ? String(step.write) : "")).join("");
}

/** Sends a request, and reads none of the response until the test lets it. */
function slowClient(body: string, path: string): { socket: Socket; received: () => string } {
  const { hostname, port } = new URL(sluice.url);
  const socket = connect(Number(port), hostname);
  const pieces: Buffer[] = [];
  socket.on("data", (piece) => void pieces.push(Buffer.from(piece)));
  socket.pause();
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key.key}\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
  return { socket, received: () => Buffer.concat(pieces).toString() };
}
