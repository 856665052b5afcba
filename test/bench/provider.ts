import type { Socket } from "bun";
import type { BodyDialectName } from "../support/body-dialects.ts";

import {
  type Asked,
  answers,
  eventsPerStream,
  type Pacing,
  pacings,
  paths,
  streamEvents,
  unnumbered,
} from "./payloads.ts";
import { RequestReader } from "./request-reader.ts";

/**
 * The scripted provider, a process of its own on a bare socket: it reads just enough of a request to know
 * which of a few prepared answers is asked for, so that it costs a fraction of what any gateway does.
 * Paths under a pacing's name stream one event at a time. Other streams go as fast as the loop turns, four events a
 * turn: small enough to arrive as a stream, large enough that the gateway and not this process is the limit.
 */

interface Connection {
  readonly reader: RequestReader;
  /** What the socket would not take yet. */
  unsent: Buffer | null;
}

interface Stream {
  readonly socket: Socket<Connection>;
  readonly writes: readonly Buffer[];
  readonly gapMs: number;
  next: number;
  dueAtMs: number;
}

const wholeResponses = { ...byDialect(wholeAnswer), embeddings: wholeAnswer("embeddings") };
const fastStreams = byDialect((dialect) => streamWrites(dialect, eventsPerStream, 4));
const pacedStreams = new Map<Pacing, Readonly<Record<BodyDialectName, readonly Buffer[]>>>(
  pacings.map((pacing) => [pacing, byDialect((dialect) => streamWrites(dialect, pacing.events, 1))]),
);

/** Where an answer has a number in an id. */
const numberPlaces = new Map(Object.values(wholeResponses).map((answer) => [answer, placesIn(answer)]));

function placesIn(answer: Buffer): readonly number[] {
  return Array.from(answer.toString("latin1").matchAll(new RegExp(unnumbered, "g")), ({ index }) => index);
}

const running = new Set<Stream>();
const paced = new Set<Stream>();

const server = Bun.listen<Connection>({
  hostname: "127.0.0.1",
  port: 0,
  socket: {
    open(socket) {
      socket.data = { reader: new RequestReader(), unsent: null };
    },
    data(socket, bytes) {
      const request = socket.data.reader.read(bytes);
      if (request !== null) answer(socket, request.path, request.body);
    },
    drain(socket) {
      const unsent = socket.data.unsent;
      socket.data.unsent = null;
      if (unsent !== null) send(socket, unsent);
    },
    close: forget,
    error: forget,
  },
});
setInterval(sendDueEvents, 5);
console.log(`listening on http://127.0.0.1:${server.port}`);

function answer(socket: Socket<Connection>, path: string, body: Buffer): void {
  if (path.endsWith(paths.embeddings)) {
    send(socket, wholeResponses.embeddings);
    return;
  }
  const dialect = dialectOf(path);
  if (!body.includes('"stream":true')) {
    send(socket, numbered(wholeResponses[dialect]));
    return;
  }
  const pacing = pacings.find(({ provider }) => path.startsWith(`/${provider}/`));
  const writes = (pacing === undefined ? fastStreams : pacedStreams.get(pacing))?.[dialect] ?? [];
  const stream = { socket, writes, gapMs: pacing?.gapMs ?? 0, next: 0, dueAtMs: performance.now() };
  if (pacing !== undefined) {
    paced.add(stream);
    return;
  }
  running.add(stream);
  sendNext(stream);
  if (running.size === 1) setImmediate(sendRunningEvents);
}

let answered = 0;

/** A gateway that keeps responses would find one in the place of each that had the same id. */
function numbered(answer: Buffer): Buffer {
  answered += 1;
  const number = String(answered).padStart(unnumbered.length, "0");
  for (const place of numberPlaces.get(answer) ?? []) answer.write(number, place, "latin1");
  return answer;
}

function sendRunningEvents(): void {
  for (const stream of running) sendNext(stream);
  if (running.size > 0) setImmediate(sendRunningEvents);
}

function sendDueEvents(): void {
  const nowMs = performance.now();
  for (const stream of paced) {
    if (stream.dueAtMs > nowMs) continue;
    stream.dueAtMs += stream.gapMs;
    sendNext(stream);
  }
}

function sendNext(stream: Stream): void {
  if (stream.socket.data.unsent !== null) return;
  const bytes = stream.writes[stream.next++];
  if (bytes !== undefined) send(stream.socket, bytes);
  if (stream.next < stream.writes.length) return;
  running.delete(stream);
  paced.delete(stream);
}

function send(socket: Socket<Connection>, bytes: Buffer): void {
  const { unsent } = socket.data;
  if (unsent !== null) {
    socket.data.unsent = Buffer.concat([unsent, bytes]);
    return;
  }
  const sent = socket.write(bytes);
  if (sent < bytes.length) socket.data.unsent = bytes.subarray(Math.max(sent, 0));
}

function forget(socket: Socket<Connection>): void {
  for (const streams of [running, paced]) {
    for (const stream of streams) if (stream.socket === socket) streams.delete(stream);
  }
}

function wholeAnswer(asked: Asked): Buffer {
  const body = Buffer.from(answers[asked]);
  const head = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), body]);
}

function dialectOf(path: string): BodyDialectName {
  if (path.endsWith(paths.chat)) return "chat";
  return path.endsWith(paths.responses) ? "responses" : "messages";
}

function byDialect<Value>(make: (dialect: BodyDialectName) => Value): Record<BodyDialectName, Value> {
  return { chat: make("chat"), responses: make("responses"), messages: make("messages") };
}

/** One HTTP chunk per event; the head travels with the first, the end with the last. */
function streamWrites(dialect: BodyDialectName, count: number, eventsPerWrite: number): Buffer[] {
  const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
  const chunks = streamEvents(dialect, count).map(
    (event) => `${Buffer.byteLength(event).toString(16)}\r\n${event}\r\n`,
  );
  const [first = "", ...rest] = chunks;
  const writes = [head + first];
  while (rest.length > 0) writes.push(rest.splice(0, eventsPerWrite).join(""));
  return [...writes, "0\r\n\r\n"].map((text) => Buffer.from(text));
}
