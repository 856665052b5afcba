import { type Head, WireError } from "./transfer.ts";

const lf = 10;
const cr = 13;
const space = 32;
const tab = 9;
const colon = 58;
const zero = 48;
const versionPrefix = Buffer.from("HTTP/1.");
/** Behind it the status begins: `HTTP/1.1 `. */
const statusAt = 9;

/**
 * An answer's status line and headers (RFC 9112, 4 and 5). Of dozens of headers a handful are looked at, so
 * only the beginnings of the lines are noted, and a value becomes a string when it is asked for.
 */
export class AnswerHead implements Head {
  readonly status: number;
  /** Whether this server keeps connections open unless it says otherwise. */
  readonly persistsByDefault: boolean;
  readonly #bytes: Buffer;
  readonly #end: number;
  readonly #lineStarts: number[] = [];

  /** The head is what comes before `end`, without the empty line. */
  constructor(bytes: Buffer, end: number) {
    this.#bytes = bytes;
    this.#end = end;
    this.status = statusOf(bytes, end);
    this.persistsByDefault = bytes[versionPrefix.length] === zero + 1;
    for (let at = statusAt; at < end; at += 1) {
      if (bytes[at] === lf) this.#lineStarts.push(at + 1);
    }
  }

  get(name: string): string | null {
    for (const start of this.#lineStarts) {
      if (this.#isNamed(start, name)) return this.#valueAt(start + name.length + 1);
    }
    return null;
  }

  /** Like `get` for a header of which two would be two opinions on where the answer ends. */
  single(name: string): string | null {
    if (this.isRepeated(name)) throw malformed(`it has more than one ${name}`);
    return this.get(name);
  }

  isRepeated(name: string): boolean {
    let count = 0;
    for (const start of this.#lineStarts) if (this.#isNamed(start, name)) count += 1;
    return count > 1;
  }

  /** Names are letters, digits and hyphens here, of which 32 more makes lower case and leaves the others alone. */
  #isNamed(start: number, name: string): boolean {
    const bytes = this.#bytes;
    if (bytes[start + name.length] !== colon) return false;
    for (let at = 0; at < name.length; at += 1) {
      if (((bytes[start + at] ?? 0) | 32) !== name.charCodeAt(at)) return false;
    }
    return true;
  }

  #valueAt(from: number): string {
    const bytes = this.#bytes;
    let start = from;
    let end = start;
    while (end < this.#end && bytes[end] !== lf) end += 1;
    while (start < end && isBlank(bytes[start])) start += 1;
    while (end > start && isBlank(bytes[end - 1])) end -= 1;
    return bytes.toString("latin1", start, end);
  }
}

function statusOf(bytes: Buffer, end: number): number {
  let status = 0;
  for (let at = statusAt; at < statusAt + 3; at += 1) {
    const digit = (bytes[at] ?? 0) - zero;
    if (digit >= 0 && digit <= 9) status = status * 10 + digit;
  }
  const behind = end > statusAt + 3 ? bytes[statusAt + 3] : cr;
  const isStatusLine =
    bytes.indexOf(versionPrefix) === 0 &&
    bytes[statusAt - 1] === space &&
    (behind === space || behind === cr) &&
    status >= 100;
  if (!isStatusLine) throw malformed("it does not begin with an HTTP/1 status line");
  return status;
}

function isBlank(byte: number | undefined): boolean {
  return byte === space || byte === tab || byte === cr;
}

export function malformed(what: string): WireError {
  return new WireError("EPROTO", `The answer is not proper HTTP: ${what}.`);
}
