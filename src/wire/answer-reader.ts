import { AnswerHead, malformed, refuseBeginning } from "./answer-head.ts";
import { ChunkedBody } from "./chunked-body.ts";
import type { Head } from "./transfer.ts";

/** Who is told what was read. */
export interface AnswerListener {
  answered(head: Head): void;
  received(bytes: Uint8Array): void;
}

const headEnd = Buffer.from("\r\n\r\n");
const mostHeadBytes = 64 * 1024;
/** Interim answers (1xx) before the real one. Nobody sends more than one or two. */
const mostInterimHeads = 16;

type Framing = "head" | "length" | "chunked" | "until_close";

/**
 * Reads answers off one connection, one after the other (RFC 9112, 6): finds the head, and the end of the
 * body. Throws a WireError at what is not HTTP.
 */
export class AnswerReader {
  /** The present answer has been read to its end. */
  isComplete = false;
  /** Anything of the present answer has come. */
  hasBegun = false;
  /** The connection is as good as new once the answer is complete. */
  isReusable = false;
  readonly #chunked = new ChunkedBody();
  #framing: Framing = "head";
  #partialHead: Buffer | null = null;
  #interimHeads = 0;
  #missingBytes = 0;

  /** The next bytes belong to an answer to a new request. */
  reset(): void {
    this.isComplete = false;
    this.hasBegun = false;
    this.isReusable = false;
    this.#framing = "head";
    this.#partialHead = null;
    this.#interimHeads = 0;
  }

  /** Whether the answer may end here because the connection does. */
  get endsWithConnection(): boolean {
    return this.#framing === "until_close";
  }

  read(bytes: Buffer, listener: AnswerListener): void {
    this.hasBegun = true;
    let rest: Buffer | null = bytes;
    while (this.#framing === "head" && rest !== null) rest = this.#readHead(rest, listener);
    if (rest !== null && !this.isComplete) this.#readBody(rest, listener);
    else if (rest !== null && rest.length > 0) this.isReusable = false;
  }

  /** Returns what comes behind the head, null while it is not complete. */
  #readHead(bytes: Buffer, listener: AnswerListener): Buffer | null {
    const held = this.#partialHead === null ? bytes : Buffer.concat([this.#partialHead, bytes]);
    const length = held.indexOf(headEnd);
    // Asked of a whole head too, so that what is too long does not depend on how it was cut.
    if ((length === -1 ? held.length : length) > mostHeadBytes) throw malformed("its headers are too long");
    if (length === -1) {
      refuseBeginning(held, this.#partialHead?.length ?? 0);
      this.#partialHead = held;
      return null;
    }
    this.#partialHead = null;
    const head = new AnswerHead(held, length);
    if (head.status < 200) {
      this.#skipInterim(head);
    } else {
      this.#frame(head);
      listener.answered(head);
    }
    return held.subarray(length + headEnd.length);
  }

  /** Such as 103: the real answer follows. */
  #skipInterim(head: AnswerHead): void {
    if (head.status === 101) throw malformed("it changes the protocol, which nobody asked for");
    if (!persists(head)) throw malformed("an interim answer ends the connection");
    this.#interimHeads += 1;
    if (this.#interimHeads > mostInterimHeads) throw malformed("it has too many interim answers");
  }

  #frame(head: AnswerHead): void {
    this.isReusable = persists(head);
    const coding = head.single("transfer-encoding");
    const length = head.single("content-length");
    // Whoever believes the one sees another end than who believes the other: that is how answers are smuggled.
    if (coding !== null && length !== null) throw malformed("it has both a length and a transfer coding");
    if (coding !== null && coding.toLowerCase() !== "chunked") {
      throw malformed(`its transfer coding is not "chunked"`);
    }
    if (length !== null && !/^\d{1,15}$/.test(length)) throw malformed("its content-length is not a number");
    // Never with a body, whatever the headers say: they may be those of the answer that this one stands for.
    if (head.status === 204 || head.status === 304) this.#expect(0);
    else if (coding !== null) {
      this.#framing = "chunked";
      this.#chunked.reset();
    } else if (length !== null) {
      this.#expect(Number(length));
    } else {
      this.#framing = "until_close";
      this.isReusable = false;
    }
  }

  #expect(bytes: number): void {
    this.#framing = "length";
    this.#missingBytes = bytes;
    this.isComplete = bytes === 0;
  }

  #readBody(bytes: Buffer, listener: AnswerListener): void {
    let body: Uint8Array = bytes;
    if (this.#framing === "chunked") {
      body = this.#chunked.push(bytes);
      this.isComplete = this.#chunked.isOver;
      if (this.#chunked.surplusBytes > 0) this.isReusable = false;
    } else if (this.#framing === "length") {
      if (bytes.length > this.#missingBytes) {
        body = bytes.subarray(0, this.#missingBytes);
        this.isReusable = false;
      }
      this.#missingBytes -= body.length;
      this.isComplete = this.#missingBytes === 0;
    }
    if (body.length > 0) listener.received(body);
  }
}

/** Whether the server keeps the connection open behind this head and what belongs to it. */
function persists(head: AnswerHead): boolean {
  const connection = head.get("connection");
  const mayEnd = connection !== null && (/close/i.test(connection) || head.isRepeated("connection"));
  return head.persistsByDefault && !mayEnd;
}
