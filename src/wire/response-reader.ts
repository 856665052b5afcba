import { unreachable } from "../base/assert.ts";
import { ChunkedBody } from "./chunked-body.ts";
import { AnswerHead, malformed, rejectPartialHead } from "./response-head.ts";
import type { Head } from "./transfer.ts";

export interface ResponseListener {
  answered(head: Head): void;
  received(bytes: Uint8Array): void;
}

const headEnd = Buffer.from("\r\n\r\n");
const maxHeadBytes = 64 * 1024;
/** Servers send at most one or two interim responses (1xx). */
const maxInterimHeads = 16;

/** `head`, then a body in one of three framings, then `complete`. An `until_close` body ends with the connection. */
type State = "head" | "length" | "chunked" | "until_close" | "complete";

/**
 * Reads the responses of one connection, one after the other (RFC 9112, 6): finds the head and the end of the body.
 * Throws a WireError on anything that is not proper HTTP.
 */
export class ResponseReader {
  /** Any byte of the current response has arrived. */
  hasBegun = false;
  /** Whether the connection can be used for another request once the response is complete. */
  isReusable = false;
  /** The body's length according to the head; null if only its end tells. */
  length: number | null = null;
  readonly #chunked = new ChunkedBody();
  #state: State = "head";
  #partialHead: Buffer | null = null;
  #interimHeads = 0;
  #missingBytes = 0;

  /** Prepares for the response to the next request. */
  reset(): void {
    this.hasBegun = false;
    this.isReusable = false;
    this.#state = "head";
    this.#partialHead = null;
    this.#interimHeads = 0;
  }

  get isComplete(): boolean {
    return this.#state === "complete";
  }

  /** Whether a close of the connection is the proper end of the response. */
  get endsWithConnection(): boolean {
    return this.#state === "until_close";
  }

  read(bytes: Buffer, listener: ResponseListener): void {
    this.hasBegun = true;
    let rest: Buffer | null = bytes;
    while (this.#state === "head" && rest !== null) rest = this.#readHead(rest, listener);
    if (rest !== null && rest.length > 0) this.#readBody(rest, listener);
  }

  /** Returns the bytes after the head, or null if the head is incomplete. */
  #readHead(bytes: Buffer, listener: ResponseListener): Buffer | null {
    const held = this.#partialHead === null ? bytes : Buffer.concat([this.#partialHead, bytes]);
    const length = held.indexOf(headEnd);
    // Complete heads are checked too, so that the limit does not depend on how the network split them.
    if ((length === -1 ? held.length : length) > maxHeadBytes) throw malformed("its headers are too long");
    if (length === -1) {
      rejectPartialHead(held, this.#partialHead?.length ?? 0);
      this.#partialHead = held;
      return null;
    }
    this.#partialHead = null;
    const head = new AnswerHead(held, length);
    if (head.status < 200) {
      this.#skipInterim(head);
    } else {
      this.#beginBody(head);
      listener.answered(head);
    }
    return held.subarray(length + headEnd.length);
  }

  /** The final response follows an interim one, such as 103. */
  #skipInterim(head: AnswerHead): void {
    if (head.status === 101) throw malformed("it switches protocols, which was not requested");
    if (!persists(head)) throw malformed("an interim response closes the connection");
    this.#interimHeads += 1;
    if (this.#interimHeads > maxInterimHeads) throw malformed("it has too many interim responses");
  }

  #beginBody(head: AnswerHead): void {
    this.isReusable = persists(head);
    this.length = null;
    const coding = head.single("transfer-encoding");
    const length = head.single("content-length");
    // Two parsers that each trust another one of them disagree about the end. That is response smuggling.
    if (coding !== null && length !== null) throw malformed("it has both a length and a transfer coding");
    if (coding !== null && coding.toLowerCase() !== "chunked") {
      throw malformed(`its transfer coding is not "chunked"`);
    }
    if (length !== null && !/^\d{1,15}$/.test(length)) throw malformed("its content-length is not a number");
    // These never have a body: a 304 has the headers of the answer that the client already has.
    if (head.status === 204 || head.status === 304) this.#expect(0);
    else if (coding !== null) {
      this.#state = "chunked";
      this.#chunked.reset();
    } else if (length !== null) {
      this.#expect(Number(length));
    } else {
      this.#state = "until_close";
      this.isReusable = false;
    }
  }

  #expect(bytes: number): void {
    this.length = bytes;
    this.#state = bytes === 0 ? "complete" : "length";
    this.#missingBytes = bytes;
  }

  #readBody(bytes: Buffer, listener: ResponseListener): void {
    switch (this.#state) {
      case "length":
        this.#readLength(bytes, listener);
        return;
      case "chunked":
        this.#readChunked(bytes, listener);
        return;
      case "until_close":
        listener.received(bytes);
        return;
      case "complete":
        // The server sent more than its answer, so the connection cannot be trusted with another request.
        this.isReusable = false;
        return;
      case "head":
        // `read` leaves this state before there are bytes of a body.
        return;
      default:
        unreachable(this.#state);
    }
  }

  #readLength(bytes: Buffer, listener: ResponseListener): void {
    const body = bytes.length > this.#missingBytes ? bytes.subarray(0, this.#missingBytes) : bytes;
    if (body.length < bytes.length) this.isReusable = false;
    this.#missingBytes -= body.length;
    if (this.#missingBytes === 0) this.#state = "complete";
    listener.received(body);
  }

  #readChunked(bytes: Buffer, listener: ResponseListener): void {
    const body = this.#chunked.push(bytes);
    if (this.#chunked.isOver) this.#state = "complete";
    if (this.#chunked.surplusBytes > 0) this.isReusable = false;
    if (body.length > 0) listener.received(body);
  }
}

/** Whether the server keeps the connection open after this response. */
function persists(head: AnswerHead): boolean {
  const connection = head.get("connection");
  const mayEnd = connection !== null && (/close/i.test(connection) || head.isRepeated("connection"));
  return head.persistsByDefault && !mayEnd;
}
