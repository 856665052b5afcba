import { GatewayError } from "../../base/errors.ts";
import { type Json, tryParse } from "../../base/json.ts";
import { openBrace, skipSpace } from "../../dialects/json/json-bytes.ts";
import { type JsonSpans, scanObject } from "../../dialects/json/json-spans.ts";
import type { Job } from "../body-worker/job.ts";
import { largeBodyBytes } from "../body-worker/large-body.ts";
import { PartialLine } from "./partial-line.ts";
import type { LineProblem, LineSink } from "./scan-input.ts";

/** A line as it was found: where the body is in it, and how it is called. */
interface FoundLine {
  readonly customId: string;
  readonly start: number;
  readonly length: number;
}

type Scanned = FoundLine | Omit<LineProblem, "line">;

const names = ["custom_id", "method", "url", "body"];
const maxCustomIdChars = 512;

interface LineInput {
  readonly bytes: Uint8Array;
  readonly endpoint: string;
}

/** For long lines. */
export const scanLineJob: Job<LineInput, Scanned> = { name: "batch_line", run: scanLine };

function scanLine({ bytes, endpoint }: LineInput): Scanned {
  const spans = spansIn(bytes);
  if (spans === null) return problem("invalid_json_line", "This line is not a JSON object.");
  const values = new Map(spans.members.map((member) => [member.name, member]));
  const missing = names.find((name) => !values.has(name));
  if (missing !== undefined) {
    return problem("missing_required_parameter", `This line has no \`${missing}\`.`, missing);
  }
  const text = (name: string): Json | undefined => {
    const { valueStart = 0, end = 0 } = values.get(name) ?? {};
    return tryParse(Buffer.from(bytes.subarray(valueStart, end)).toString());
  };
  const customId = text("custom_id");
  if (typeof customId !== "string" || customId.length < 1 || customId.length > maxCustomIdChars) {
    return problem("invalid_custom_id", "`custom_id` must have 1 to 512 characters.", "custom_id");
  }
  if (text("method") !== "POST") return problem("invalid_method", '`method` must be "POST".', "method");
  if (text("url") !== endpoint) {
    return problem("url_mismatch", `\`url\` must be the batch's endpoint, ${endpoint}.`, "url");
  }
  const { valueStart: start = 0, end = 0 } = values.get("body") ?? {};
  if (bytes[start] !== openBrace) return problem("invalid_body", "`body` must be an object.", "body");
  return { customId: customId.replaceAll("\0", "").toWellFormed(), start, length: end - start };
}

/** Null for anything but one object. */
function spansIn(bytes: Uint8Array): JsonSpans | null {
  try {
    const spans = scanObject(bytes, skipSpace(bytes, 0), names);
    return skipSpace(bytes, spans.end) >= bytes.length ? spans : null;
  } catch (error) {
    if (error instanceof GatewayError) return null;
    throw error;
  }
}

function problem(code: string, message: string, param: string | null = null) {
  return { code, message, param };
}

export interface ScanTerms extends LineSink {
  readonly endpoint: string;
  readonly maxLines: number;
  /** A longer line cannot be a request. */
  readonly maxLineBytes: number;
  scanLarge(input: LineInput): Promise<Scanned>;
}

const repeatedId = problem(
  "duplicate_custom_id",
  "This `custom_id` is on an earlier line, too.",
  "custom_id",
);

/** More problems are not listed. */
const maxProblems = 100;

/** The lines of an input, found while it is read piece by piece. */
export class LineScanner {
  readonly #terms: ScanTerms;
  readonly #ids = new Set<string>();
  readonly problems: LineProblem[] = [];
  readonly #rest: PartialLine;
  #isRestBlank = true;
  /** Where the next line begins. */
  #at = 0;
  #line = 0;
  count = 0;

  constructor(terms: ScanTerms) {
    this.#terms = terms;
    this.#rest = new PartialLine(terms.maxLineBytes, terms.takeMemory);
  }

  async push(piece: Uint8Array): Promise<void> {
    // Nothing of it runs, and no more problems are shown.
    if (this.#isBad) return;
    let from = 0;
    for (let end = piece.indexOf(lineFeed); end !== -1; end = piece.indexOf(lineFeed, from)) {
      if (end === from && this.#rest.length === 0) {
        // A file may have millions of empty lines.
        this.#at += 1;
        this.#line += 1;
        from = end + 1;
        continue;
      }
      await this.#endLine(piece.subarray(from, end));
      if (this.#isBad) return;
      from = end + 1;
    }
    const rest = piece.subarray(from);
    this.#rest.add(rest);
    this.#isRestBlank &&= isBlank(rest);
  }

  async end(): Promise<void> {
    if (this.#rest.length > 0) await this.#endLine(new Uint8Array());
    if (this.count === 0 && this.problems.length === 0) {
      this.#add({ code: "empty_file", message: "The file has no requests.", param: null }, null);
    }
  }

  get #isBad(): boolean {
    return this.problems.length === maxProblems;
  }

  async #endLine(last: Uint8Array): Promise<void> {
    const start = this.#at;
    const isEmpty = this.#isRestBlank && isBlank(last);
    this.#at += this.#rest.length + last.length + 1;
    const line = this.#rest.end(last);
    this.#isRestBlank = true;
    this.#line += 1;
    if (isEmpty && line !== null) return;
    this.count += 1;
    if (this.count > this.#terms.maxLines) {
      const message = `The file has more than ${this.#terms.maxLines} requests, which is the maximum.`;
      if (this.count === this.#terms.maxLines + 1) this.#add(problem("too_many_tasks", message), null);
      return;
    }
    if (line === null) this.#add(this.#tooLong(), this.#line);
    else await this.#take(await this.#scan(line), line, start);
  }

  #scan(bytes: Uint8Array): Scanned | Promise<Scanned> {
    const { endpoint, scanLarge } = this.#terms;
    return bytes.length < largeBodyBytes ? scanLine({ bytes, endpoint }) : scanLarge({ bytes, endpoint });
  }

  #tooLong(): Omit<LineProblem, "line"> {
    const message = `This line is longer than ${this.#terms.maxLineBytes} bytes, which is the maximum.`;
    return problem("invalid_json_line", message);
  }

  async #take(scanned: Scanned, bytes: Uint8Array, lineStart: number): Promise<void> {
    if ("code" in scanned) this.#add(scanned, this.#line);
    else if (this.#ids.has(scanned.customId)) this.#add(repeatedId, this.#line);
    else {
      const { customId, start, length } = scanned;
      this.#ids.add(customId);
      if (this.problems.length > 0) return;
      const line = { no: this.count - 1, customId, start: lineStart + start, length };
      await this.#terms.keep(line, bytes.subarray(start, start + length));
    }
  }

  #add(found: Omit<LineProblem, "line">, line: number | null): void {
    if (this.problems.length < maxProblems) this.problems.push({ ...found, line });
  }
}

const lineFeed = 10;

function isBlank(bytes: Uint8Array): boolean {
  return skipSpace(bytes, 0) >= bytes.length;
}
