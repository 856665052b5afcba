import { tableOf } from "../../base/collections/table.ts";
import type { Head, Receiver, Transfer } from "../../wire/transfer.ts";
import type { FramedReceiver } from "../http/http-provider.ts";
import { SseTranscoder, type StreamError } from "./sse-transcoder.ts";

const binary = "application/vnd.amazon.eventstream";

/** Passes Amazon's event streams to a receiver as server-sent events. Other responses pass unchanged. */
export class EventStreamReceiver implements FramedReceiver {
  readonly #receiver: Receiver;
  #transfer: Transfer | null = null;
  #transcoder: SseTranscoder | null = null;
  /** The head of a stream whose first event has not arrived. */
  #unanswered: Head | null = null;
  #isOver = false;

  constructor(receiver: Receiver) {
    this.#receiver = receiver;
  }

  started(transfer: Transfer): void {
    this.#transfer = transfer;
  }

  connected(): void {
    this.#receiver.connected();
  }

  answered(head: Head): void {
    if (head.get("content-type")?.startsWith(binary) === true) {
      this.#transcoder = new SseTranscoder();
      this.#unanswered = head;
    } else this.#receiver.answered(head);
  }

  received(bytes: Uint8Array): void {
    if (this.#transcoder === null) this.#receiver.received(bytes);
    else if (!this.#isOver) this.#transcode(this.#transcoder, bytes);
  }

  ended(): void {
    if (this.#isOver) return;
    try {
      this.#transcoder?.end();
    } catch (cause) {
      this.#fail(cause);
      return;
    }
    // A stream without a single event still has its head.
    if (this.#unanswered !== null) this.#pass(new Uint8Array());
    this.#receiver.ended();
  }

  failed(cause: unknown): void {
    if (!this.#isOver) this.#receiver.failed(cause);
  }

  #transcode(transcoder: SseTranscoder, bytes: Uint8Array): void {
    let events: Uint8Array;
    try {
      events = transcoder.push(bytes);
    } catch (cause) {
      this.#fail(cause);
      return;
    }
    if (transcoder.error !== null) this.#reject(transcoder.error);
    else if (events.length > 0) this.#pass(events);
  }

  /** The head waits for the first event, because a failure in its place is a response with another status. */
  #pass(events: Uint8Array): void {
    const head = this.#unanswered;
    this.#unanswered = null;
    if (head !== null) this.#receiver.answered(withType(head, head.status, "text/event-stream"));
    if (events.length > 0) this.#receiver.received(events);
  }

  #reject({ name, body }: StreamError): void {
    const head = this.#unanswered;
    if (head === null) return;
    this.#isOver = true;
    this.#transfer?.cancel();
    const status = errorStatuses[name.toLowerCase()] ?? 500;
    const rejected = withType(head, status, "application/json");
    this.#receiver.answered({
      status,
      get: (header) => (header === "x-amzn-errortype" ? capitalized(name) : rejected.get(header)),
    });
    if (body.length > 0) this.#receiver.received(body);
    this.#receiver.ended();
  }

  /** Data after a damaged frame cannot be read. */
  #fail(cause: unknown): void {
    this.#isOver = true;
    this.#transfer?.cancel();
    this.#receiver.failed(cause);
  }
}

/** The HTTP status of each exception outside of a stream. */
const errorStatuses = tableOf<number>({
  validationexception: 400,
  accessdeniedexception: 403,
  resourcenotfoundexception: 404,
  modeltimeoutexception: 408,
  modelstreamerrorexception: 424,
  throttlingexception: 429,
  modelnotreadyexception: 429,
  internalserverexception: 500,
  serviceunavailableexception: 503,
});

function withType(head: Head, status: number, type: string): Head {
  return { status, get: (name) => (name === "content-type" ? type : head.get(name)) };
}

/** In a stream the names begin with a small letter. */
function capitalized(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}
