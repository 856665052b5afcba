import { type Head, WireError } from "./transfer.ts";

/** Parts of HTTP's grammar (RFC 9110, 5.1 to 5.6.4), as sources for regular expressions over Latin-1 text. */

export const token = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+";
const text = "\\t\\x20-\\x7e\\x80-\\xff";
export const fieldValue = `[${text}]*`;
/** Without its line end. A value that is continued on the next line (obs-fold) does not match. */
export const fieldLine = `${token}:${fieldValue}`;
export const quotedString = `"(?:[\\t\\x20\\x21\\x23-\\x5b\\x5d-\\x7e\\x80-\\xff]|\\\\[${text}])*"`;

const space = 32;
const tab = 9;
const colon = 58;
const zero = 48;
/** Offsets of the minor version and of the status in `HTTP/1.1 200`. */
const minorVersionAt = 7;
const statusAt = 9;

const versionPrefix = "HTTP/1.";
/** A CR or LF on its own. A CR at the very end does not match: its LF may not have arrived yet. */
const bareLineEnd = /\r[^\n]|[^\r]\n/;
const statusLine = `HTTP/1\\.[01] [1-5]\\d\\d(?: ${fieldValue})?`;
const statusLineForm = new RegExp(`^${statusLine}(?:\\r\\n|$)`);
/**
 * The whole head. A bare CR or LF, a folded line, a space before the colon and control characters are rejected, because
 * parsers disagree on them, and smuggling exploits that. No part can match in two ways, so it takes linear time.
 */
const headForm = new RegExp(`^${statusLine}(?:\\r\\n${fieldLine})*$`);

/**
 * A response's status line and headers (RFC 9112, 4 and 5). Only a handful of the many headers are ever read, so the
 * constructor records where lines start, and values become strings on demand.
 */
export class AnswerHead implements Head {
  readonly status: number;
  /** HTTP/1.1 keeps connections open unless a header says otherwise; HTTP/1.0 does not. */
  readonly persistsByDefault: boolean;
  readonly #text: string;
  readonly #lineStarts: number[] = [];

  /** `end` is where the head's empty line begins. */
  constructor(bytes: Buffer, end: number) {
    const text = bytes.toString("latin1", 0, end);
    if (!headForm.test(text)) throw malformedHead(text);
    this.#text = text;
    this.status = Number(text.slice(statusAt, statusAt + 3));
    this.persistsByDefault = bytes[minorVersionAt] === zero + 1;
    // 1.6 → 0.8 µs for 24 headers, compared to a loop over the characters.
    for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1))
      this.#lineStarts.push(at + 1);
  }

  get(name: string): string | null {
    const line = this.#find(name, 0);
    return line === -1 ? null : this.#valueOf(line, name);
  }

  /** Like `get`, but rejects a repeated header: two of them may disagree on where the response ends. */
  single(name: string): string | null {
    const line = this.#find(name, 0);
    if (line === -1) return null;
    if (this.#find(name, line + 1) !== -1) throw malformed(`it has more than one ${name}`);
    return this.#valueOf(line, name);
  }

  isRepeated(name: string): boolean {
    const line = this.#find(name, 0);
    return line !== -1 && this.#find(name, line + 1) !== -1;
  }

  /** Returns the first line from the given one on that has this name, or -1. */
  #find(name: string, from: number): number {
    const lineStarts = this.#lineStarts;
    for (let line = from; line < lineStarts.length; line += 1) {
      if (this.#isNamed(lineStarts[line] ?? 0, name)) return line;
    }
    return -1;
  }

  /** `name` is lower case. In letters, digits and hyphens, setting bit 32 changes only the case of letters. */
  #isNamed(start: number, name: string): boolean {
    const text = this.#text;
    if (text.charCodeAt(start + name.length) !== colon) return false;
    for (let at = 0; at < name.length; at += 1) {
      if ((text.charCodeAt(start + at) | 32) !== name.charCodeAt(at)) return false;
    }
    return true;
  }

  #valueOf(line: number, name: string): string {
    const from = (this.#lineStarts[line] ?? 0) + name.length + 1;
    const text = this.#text;
    const lineEnd = text.indexOf("\r\n", from);
    let start = from;
    let end = lineEnd === -1 ? text.length : lineEnd;
    while (start < end && isBlank(text.charCodeAt(start))) start += 1;
    while (end > start && isBlank(text.charCodeAt(end - 1))) end -= 1;
    return text.slice(start, end);
  }
}

function isBlank(code: number): boolean {
  return code === space || code === tab;
}

/**
 * Rejects an incomplete head that can no longer become a proper one: another protocol, or other line ends. Its end
 * might never arrive otherwise. The first `checkedBytes` were checked by an earlier call.
 */
export function rejectPartialHead(bytes: Buffer, checkedBytes: number): void {
  const version = bytes.toString("latin1", 0, versionPrefix.length);
  if (!versionPrefix.startsWith(version)) throw noStatusLine();
  if (bareLineEnd.test(bytes.toString("latin1", Math.max(0, checkedBytes - 1)))) throw wrongLineEnds();
}

function malformedHead(text: string): WireError {
  if (!text.startsWith(versionPrefix)) return noStatusLine();
  if (bareLineEnd.test(text)) return wrongLineEnds();
  if (!statusLineForm.test(text)) return noStatusLine();
  return malformed("one of its headers does not have the form `name: value`");
}

function noStatusLine(): WireError {
  return malformed("it does not begin with an HTTP/1 status line");
}

function wrongLineEnds(): WireError {
  return malformed("its lines do not end with CR and LF");
}

export function malformed(what: string): WireError {
  return new WireError("EPROTO", `The response is not valid HTTP: ${what}.`);
}
