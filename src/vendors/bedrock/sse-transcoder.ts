import { asBuffer } from "../../base/bytes.ts";
import { tableOf } from "../../base/collections/table.ts";
import { hasTooManyValues, onOneLine, quote } from "../../dialects/json/json-bytes.ts";
import { parseObject, stringOf } from "../../dialects/json/json-fields.ts";
import { largeEventBytes } from "../../dialects/sse/event.ts";
import { connectionLost } from "../../wire/transfer.ts";
import { EventStreamDecoder, readHeaders } from "./event-stream.ts";

/**
 * Turns Amazon's binary frames into server-sent events, so that no other code has to know them:
 *
 * - Converse: the event's type and its payload.
 * - InvokeModel: every `chunk` holds an event of Messages in base64, which gets the name of its type.
 * - An exception or error in either: an event `error` in the form of Messages; as the first message it is a refusal.
 */
export class SseTranscoder {
  /** A failure before any event; null if there is none. Anything after it is ignored. */
  error: StreamError | null = null;
  #hasBegun = false;
  readonly #decoder = new EventStreamDecoder((bytes, headersStart, payloadStart, payloadEnd) => {
    if (this.error !== null) return;
    const kind = readKind(bytes.subarray(headersStart, payloadStart));
    if (!this.#hasBegun && kind.type === "failure") {
      this.error = { name: kind.name, body: bytes.slice(payloadStart, payloadEnd) };
      return;
    }
    this.#hasBegun = true;
    const payload = bytes.subarray(payloadStart, payloadEnd);
    if (kind.type === "event") this.#append(kind.prefix, payload);
    else if (kind.type !== "skipped") this.#appendRead(kind, payload);
  });
  /** The events of one push, in pieces. */
  #pieces: Uint8Array[] = [];

  /** Converts the bytes to server-sent events; empty if they complete none. Throws if they are damaged. */
  push(bytes: Uint8Array): Uint8Array {
    this.#pieces = [];
    this.#decoder.push(bytes);
    return Buffer.concat(this.#pieces);
  }

  /** Throws if the stream ends within a message. */
  end(): void {
    if (!this.#decoder.isBetweenMessages) throw connectionLost();
  }

  /** Drops a chunk without an event, as Anthropic's own client does. */
  #appendRead(kind: ReadKind, payload: Uint8Array): void {
    const event = kind.type === "chunk" ? eventOfChunk(payload) : failureEvent(kind, payload);
    if (event !== null) this.#append(prefixOf(event.name), event.data);
  }

  #append(prefix: Uint8Array, data: Uint8Array): void {
    this.#pieces.push(prefix, onOneLine(data), blankLine);
  }
}

export interface StreamError {
  /** AWS's name for it, such as `throttlingException`. */
  readonly name: string;
  /** JSON with a `message`, or nothing. */
  readonly body: Uint8Array;
}

type MessageKind =
  | { readonly type: "event"; readonly prefix: Uint8Array }
  | { readonly type: "skipped" }
  | ReadKind;

/** Messages whose payload has to be read. */
type ReadKind =
  | { readonly type: "chunk" }
  | { readonly type: "failure"; readonly name: string; readonly message: string };

interface NamedEvent {
  readonly name: string;
  readonly data: Uint8Array;
}

const blankLine = Buffer.from("\n\n");

function readKind(bytes: Uint8Array): MessageKind {
  const headers = readHeaders(bytes);
  const header = (name: string) => headers.get(name) ?? "";
  switch (header(":message-type")) {
    case "event":
      return header(":event-type") === "chunk"
        ? { type: "chunk" }
        : { type: "event", prefix: prefixOf(header(":event-type")) };
    case "exception":
      return { type: "failure", name: header(":exception-type"), message: "" };
    case "error":
      return { type: "failure", name: header(":error-code"), message: header(":error-message") };
    default:
      return { type: "skipped" };
  }
}

function prefixOf(name: string): Uint8Array {
  return Buffer.from(`event: ${name.replace(/[\r\n]/g, "")}\ndata: `);
}

const chunkStart = Buffer.from('{"bytes":"');
const typeStart = Buffer.from('{"type":"');

function eventOfChunk(payload: Uint8Array): NamedEvent | null {
  const base64 = firstMember(payload, chunkStart) ?? stringOf(parseObject(textOf(payload))?.["bytes"]);
  if (base64 === null) return null;
  const data = Buffer.from(base64, "base64");
  const name = firstMember(data, typeStart) ?? typeIn(data.toString());
  return name === null ? null : { name, data };
}

/** An event that would take long to parse gets no name; its reader deals with it. */
function typeIn(event: string): string | null {
  const isLarge = event.length >= largeEventBytes || hasTooManyValues(event);
  return isLarge ? "" : stringOf(parseObject(event)?.["type"]);
}

/** The text of an object's first member if the object starts so; null if it does not, or if the text has escapes. */
function firstMember(json: Uint8Array, start: Buffer): string | null {
  if (!start.equals(json.subarray(0, start.length))) return null;
  const end = json.indexOf(quote, start.length);
  const text = textOf(json.subarray(start.length, Math.max(end, start.length)));
  return end < 0 || text.includes("\\") ? null : text;
}

/** The dialects' names for the failures that AWS reports within a stream. */
const failureTypes = tableOf<string>({
  throttlingexception: "rate_limit_error",
  modelnotreadyexception: "overloaded_error",
  serviceunavailableexception: "overloaded_error",
  validationexception: "invalid_request_error",
  accessdeniedexception: "permission_error",
  resourcenotfoundexception: "not_found_error",
});

function failureEvent(
  { name, message }: Extract<ReadKind, { type: "failure" }>,
  payload: Uint8Array,
): NamedEvent {
  const body = parseObject(textOf(payload));
  const reported = stringOf(body?.["message"]) ?? stringOf(body?.["Message"]) ?? message;
  const error = {
    type: failureTypes[name.toLowerCase()] ?? "api_error",
    code: name,
    message: reported === "" ? `The provider reported ${name === "" ? "an error" : name}.` : reported,
  };
  return { name: "error", data: new TextEncoder().encode(JSON.stringify({ type: "error", error })) };
}

function textOf(bytes: Uint8Array): string {
  return asBuffer(bytes).toString();
}
