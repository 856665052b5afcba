import { releaseBytes } from "../../../base/bytes.ts";
import { invalidRequest } from "../../../base/errors.ts";
import { LoopPacer } from "../../../base/loop/pacer.ts";

/** A part of a form, before its content. */
export interface PartHead {
  readonly name: string;
  /** Null for a plain field. */
  readonly fileName: string | null;
  readonly contentType: string | null;
}

/** Receives the parts of a form as they arrive. */
export interface PartTaker {
  begin(head: PartHead): Promise<void>;
  take(bytes: Uint8Array): Promise<void>;
  end(): Promise<void>;
}

const lineEnd = Buffer.from("\r\n");
const headEnd = Buffer.from("\r\n\r\n");
const closing = Buffer.from("--");
/** Bytes to search and hash before other requests get their turn: a client's file may arrive in one piece. */
const maxAtOnce = 1024 * 1024;
/** All forms share two milliseconds per event-loop iteration: pieces of many may arrive, or be written, at once. */
const formPacer = new LoopPacer({ budgetMs: 2 });
/** No part has a longer head. */
const maxHeadBytes = 16 * 1024;

/**
 * Reads a `multipart/form-data` form piece by piece, buffering no more than the length of a boundary. Throws `invalid_request`
 * if the body is malformed.
 */
export class FormParser {
  readonly #delimiter: Buffer;
  readonly #taker: PartTaker;
  #state: "before" | "boundary" | "head" | "content" | "done" = "before";
  // So that the first boundary is found like any other, at the beginning of a line.
  #rest: Buffer = lineEnd;

  constructor(boundary: string, taker: PartTaker) {
    this.#delimiter = Buffer.from(`\r\n--${boundary}`);
    this.#taker = taker;
  }

  /** Consumes the chunk: its bytes are released. */
  async push(chunk: Uint8Array): Promise<void> {
    for (let at = 0; at < chunk.length; at += maxAtOnce) {
      await formPacer.wait();
      await this.#take(chunk.subarray(at, at + maxAtOnce));
    }
    releaseBytes(chunk);
  }

  async #take(piece: Uint8Array): Promise<void> {
    // What follows the last boundary means nothing.
    if (this.#state === "done") return;
    const joined = Buffer.concat([this.#rest, piece]);
    this.#rest = joined;
    while (await this.#advance());
    // The rest is short, and must not keep the whole.
    this.#rest = Buffer.from(this.#rest);
    releaseBytes(joined);
  }

  end(): void {
    if (this.#state !== "done") throw invalidRequest("The form ends before its closing boundary.");
  }

  /** False if more bytes are needed. */
  async #advance(): Promise<boolean> {
    switch (this.#state) {
      case "before":
      case "content":
        return this.#readContent();
      case "boundary":
        return this.#readBoundary();
      case "head":
        return this.#readHead();
      case "done":
        return false;
    }
  }

  async #readContent(): Promise<boolean> {
    const rest = this.#rest;
    const end = rest.indexOf(this.#delimiter);
    const isPart = this.#state === "content";
    // A delimiter may have begun.
    const sure = end === -1 ? Math.max(0, rest.length - this.#delimiter.length + 1) : end;
    if (isPart && sure > 0) await this.#taker.take(rest.subarray(0, sure));
    this.#rest = rest.subarray(end === -1 ? sure : end + this.#delimiter.length);
    if (end === -1) return false;
    if (isPart) await this.#taker.end();
    this.#state = "boundary";
    return true;
  }

  #readBoundary(): boolean {
    const rest = this.#rest;
    if (rest.length < closing.length) return false;
    if (rest.subarray(0, closing.length).equals(closing)) {
      this.#state = "done";
      this.#rest = rest.subarray(0, 0);
      return false;
    }
    const end = this.#endOfHead(lineEnd);
    if (end === -1) return false;
    this.#rest = rest.subarray(end + lineEnd.length);
    this.#state = "head";
    return true;
  }

  async #readHead(): Promise<boolean> {
    const end = this.#endOfHead(headEnd);
    if (end === -1) return false;
    const head = readPartHead(this.#rest.toString("utf8", 0, end));
    // The line end stays, because an empty content is followed by the delimiter at once.
    this.#rest = this.#rest.subarray(end + headEnd.length);
    this.#state = "content";
    await this.#taker.begin(head);
    return true;
  }

  /** -1 if it has not arrived yet. */
  #endOfHead(mark: Buffer): number {
    const end = this.#rest.indexOf(mark);
    if ((end === -1 ? this.#rest.length : end) > maxHeadBytes)
      throw invalidRequest("The header of a form part is too long.");
    return end;
  }
}

/** Servers differ in quotes, escapes, encoded words, trimming and where a parameter ends: to some, such a name is a governed one. */
const ambiguous = /[\\"';=%\p{Cc}\p{Zl}\p{Zp}]|^\s|\s$/u;

function readPartHead(text: string): PartHead {
  const headers = new Map<string, string>();
  for (const line of text.split("\r\n")) {
    // Some servers end a line, or the head, at a line feed alone.
    if (/\p{Cc}/u.test(line.replaceAll("\t", " "))) {
      throw invalidRequest("The header of a form part has a control character.");
    }
    const colon = line.indexOf(":");
    if (colon > 0) headers.set(line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim());
  }
  const disposition = headers.get("content-disposition") ?? "";
  const name = parameterIn(disposition, "name");
  if (name === null) throw invalidRequest("A form part has no name.");
  if (ambiguous.test(name)) {
    throw invalidRequest(
      'A form part has a name that servers read differently. Remove backslashes, quotes, ";", "=", "%", control characters and outer spaces.',
    );
  }
  return {
    name,
    fileName: parameterIn(disposition, "filename") ?? extendedName(disposition),
    contentType: headers.get("content-type") ?? null,
  };
}

function parameterIn(disposition: string, name: string): string | null {
  const found = new RegExp(`;\\s*${name}=(?:"((?:[^"\\\\]|\\\\.)*)"|([^;\\s]+))`, "i").exec(disposition);
  return found === null ? null : (found[1] ?? found[2] ?? "");
}

/**
 * Some clients send only this if a name is not ASCII, with its character set before it.
 * https://www.rfc-editor.org/rfc/rfc8187
 */
function extendedName(disposition: string): string | null {
  return parameterIn(disposition, "filename\\*")?.replace(/^[^']*'[^']*'/, "") ?? null;
}

/** The multipart boundary; null if the body is not a form. */
export function boundaryOf(contentType: string | null): string | null {
  if (contentType === null || !/^multipart\/form-data\b/i.test(contentType)) return null;
  return /;\s*boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(contentType)?.slice(1).find(Boolean) ?? null;
}
