import type { Socket } from "bun";
import type { JsonObject } from "../../src/base/json.ts";
import { type Answer, bytesOf, encode, type Step } from "./answers.ts";
import { usualResponse } from "./fixtures.ts";
import { RequestReader, type WireRequest } from "./http-bytes.ts";

/** A request that the provider got, and what became of it. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array;
  readonly text: string;
  /** The body as JSON; empty when it was none. */
  readonly body: JsonObject;
  readonly startedAtMs: number;
  /** When the other side left before the answer was complete; null if it did not. */
  abortedAtMs: number | null;
  /** When the answer was complete; null before. */
  finishedAtMs: number | null;
  /** Resolves when the request is over, one way or the other. */
  readonly over: Promise<void>;
}

export type Script = Answer | readonly Answer[] | ((request: SeenRequest) => Answer | Promise<Answer>);

export interface ScriptedProvider {
  /** Without a path, `http://127.0.0.1:1234`. */
  readonly url: string;
  readonly requests: SeenRequest[];
  readonly openConnections: number;
  /** Requests whose caller left before the answer was complete. */
  readonly aborted: readonly SeenRequest[];
  /**
   * From now on: always one answer; or a list in order, whose last is repeated; or whatever a function
   * says. Without a script it answers well, in the dialect and the form that the request asks for.
   */
  script(script: Script | null): void;
  /** The next request that arrives from now on. */
  nextRequest(): Promise<SeenRequest>;
  /** Forgets the requests and the script. */
  reset(): void;
  stop(): void;
}

interface Connection {
  readonly reader: RequestReader;
  current: { request: SeenRequest; settle: () => void } | null;
  closed: boolean;
  /** Resolves when the connection is gone. */
  readonly gone: PromiseWithResolvers<void>;
  /** Called when the kernel takes bytes again. */
  drained: () => void;
}

export function startProvider(initial: Script | null = null): ScriptedProvider {
  let next = chooser(initial);
  const requests: SeenRequest[] = [];
  const connections = new Set<Socket<Connection>>();
  const waiting: ((request: SeenRequest) => void)[] = [];

  async function serve(socket: Socket<Connection>, wire: WireRequest): Promise<void> {
    const { request, settle } = seen(wire);
    requests.push(request);
    for (const resolve of waiting.splice(0)) resolve(request);
    socket.data.current = { request, settle };
    await play(socket, await next(request));
    if (!socket.data.closed) request.finishedAtMs = performance.now();
    socket.data.current = null;
    settle();
  }

  const server = Bun.listen<Connection>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open(socket) {
        const gone = Promise.withResolvers<void>();
        socket.data = { reader: new RequestReader(), current: null, closed: false, gone, drained: () => {} };
        connections.add(socket);
      },
      async data(socket, chunk) {
        for (const wire of socket.data.reader.push(chunk)) await serve(socket, wire);
      },
      drain: (socket) => socket.data.drained(),
      close(socket) {
        connections.delete(socket);
        otherHasLeft(socket.data);
      },
      error() {},
    },
  });

  return {
    url: `http://127.0.0.1:${server.port}`,
    requests,
    get openConnections() {
      return connections.size;
    },
    get aborted() {
      return requests.filter((request) => request.abortedAtMs !== null);
    },
    script(script) {
      next = chooser(script);
    },
    nextRequest: () => new Promise((resolve) => waiting.push(resolve)),
    reset() {
      requests.length = 0;
      next = chooser(null);
    },
    stop() {
      server.stop(true);
    },
  };
}

function chooser(script: Script | null): (request: SeenRequest) => Answer | Promise<Answer> {
  if (script === null) return usualResponse;
  if (typeof script === "function") return script;
  const answers = Array.isArray(script) ? [...script] : [script];
  return () => {
    const [answer, ...rest] = answers;
    if (answer === undefined) throw new Error("the script has no answer");
    if (rest.length > 0) answers.shift();
    return answer;
  };
}

function seen(wire: WireRequest): { request: SeenRequest; settle: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  const text = new TextDecoder().decode(wire.body);
  const { method, path, headers } = wire;
  const request: SeenRequest = {
    method,
    path,
    headers,
    bytes: wire.body,
    text,
    body: jsonOf(text),
    startedAtMs: performance.now(),
    abortedAtMs: null,
    finishedAtMs: null,
    over: promise,
  };
  return { request, settle: resolve };
}

function jsonOf(text: string): JsonObject {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

async function play(socket: Socket<Connection>, answer: Answer): Promise<void> {
  if (!(await perform(socket, answer.before, (data) => data))) return;
  await send(socket, encode(head(answer)));
  const chunked = answer.framing === "chunked";
  if (!(await perform(socket, answer.steps, chunked ? asChunk : (data) => data))) return;
  if (chunked) await send(socket, encode("0\r\n\r\n"));
  if (answer.framing === "close") socket.end();
}

function head(answer: Answer): string {
  const framing =
    answer.framing === "chunked"
      ? "transfer-encoding: chunked\r\n"
      : answer.framing === "length"
        ? `content-length: ${bytesOf(answer).length}\r\n`
        : "connection: close\r\n";
  const headers = Object.entries(answer.headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${answer.status} Scripted\r\n${headers.join("")}${framing}\r\n`;
}

function asChunk(data: Uint8Array): Uint8Array {
  return Buffer.concat([encode(`${data.length.toString(16)}\r\n`), data, encode("\r\n")]);
}

/** False if the response ends here: the connection was reset, or the other side disconnected. */
async function perform(
  socket: Socket<Connection>,
  steps: readonly Step[],
  frame: (data: Uint8Array) => Uint8Array,
): Promise<boolean> {
  for (const step of steps) {
    if (socket.data.closed) return false;
    if ("write" in step) {
      const data = encode(step.write);
      if (data.length > 0) await send(socket, frame(data));
    } else if ("sleepMs" in step) {
      await Bun.sleep(step.sleepMs);
    } else if ("until" in step) {
      await step.until;
    } else if ("reset" in step) {
      // What the provider does itself is no abort by the other side.
      socket.data.current = null;
      socket.terminate();
      return false;
    } else {
      await socket.data.gone.promise;
      return false;
    }
  }
  return !socket.data.closed;
}

/** Marks the connection as closed. A failed write may detect that before the close event; the rest of the response is lost. */
function otherHasLeft(connection: Connection): void {
  if (connection.closed) return;
  connection.closed = true;
  if (connection.current !== null) {
    connection.current.request.abortedAtMs = performance.now();
    connection.current.settle();
  }
  connection.gone.resolve();
}

/** Waits while the kernel takes no more, so that a reader that stalls is felt here. */
async function send(socket: Socket<Connection>, data: Uint8Array): Promise<void> {
  let sent = 0;
  while (sent < data.length && !socket.data.closed) {
    const written = socket.write(data.subarray(sent));
    if (written < 0) return otherHasLeft(socket.data);
    sent += written;
    if (sent < data.length) {
      const drained = Promise.withResolvers<void>();
      socket.data.drained = drained.resolve;
      await Promise.race([drained.promise, socket.data.gone.promise]);
    }
  }
}
