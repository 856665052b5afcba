import { type Head, WireError } from "./transfer.ts";

/** The space behind the status is asked for, and left out by some together with the words that it stands before. */
const statusLine = /^HTTP\/1\.([01]) ([1-9]\d\d)(?:[ \r]|$)/;

/**
 * An answer's status line and headers (RFC 9112, 4 and 5). Of dozens of headers a handful are looked at, so
 * the text is searched for those instead of being taken apart.
 */
export class AnswerHead implements Head {
  readonly status: number;
  /** Whether this server keeps connections open unless it says otherwise. */
  readonly persistsByDefault: boolean;
  readonly #text: string;
  readonly #lowerCase: string;

  /** `text` is everything before the empty line. */
  constructor(text: string) {
    const [, minor, status] = statusLine.exec(text.slice(0, 16)) ?? [];
    if (status === undefined) throw malformed("it does not begin with an HTTP/1 status line");
    this.status = Number(status);
    this.persistsByDefault = minor === "1";
    this.#text = text;
    this.#lowerCase = text.toLowerCase();
  }

  get(name: string): string | null {
    const at = this.#lowerCase.indexOf(`\n${name}:`);
    return at === -1 ? null : this.#valueAt(at + name.length + 2);
  }

  /** Like `get` for a header of which two would be two opinions on where the answer ends. */
  single(name: string): string | null {
    const value = this.get(name);
    if (value !== null && this.isRepeated(name)) throw malformed(`it has more than one ${name}`);
    return value;
  }

  isRepeated(name: string): boolean {
    return this.#lowerCase.indexOf(`\n${name}:`) !== this.#lowerCase.lastIndexOf(`\n${name}:`);
  }

  #valueAt(start: number): string {
    const end = this.#text.indexOf("\r\n", start);
    return this.#text.slice(start, end === -1 ? this.#text.length : end).trim();
  }
}

export function malformed(what: string): WireError {
  return new WireError("EPROTO", `The answer is not proper HTTP: ${what}.`);
}
