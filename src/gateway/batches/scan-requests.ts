import { invalidRequest } from "../../base/errors.ts";
import { type Json, tryParse } from "../../base/json.ts";
import {
  backslash,
  closeBrace,
  closeBracket,
  colon,
  comma,
  isSpace,
  openBrace,
  openBracket,
  quote,
} from "../../dialects/json/json-bytes.ts";
import { scanObject } from "../../dialects/json/json-spans.ts";
import type { BatchLine } from "../../store/store.ts";
import type { LineProblem } from "./scan-lines.ts";

const names = ["custom_id", "params"];
const customIdForm = /^[\w-]{1,64}$/;

interface RequestLimits {
  readonly maxRequests: number;
  readonly maxRequestBytes: number;
}

/** How deep the list of requests is, and what is in it. */
const [listDepth, requestDepth] = [2, 3];

/**
 * The requests of a message batch, `{"requests": [{"custom_id": …, "params": {…}}, …]}`, found while it is read piece by piece: it may
 * be much longer than a request can be. Throws `invalid_request` for anything else.
 */
export class RequestScanner {
  readonly problems: readonly LineProblem[] = [];
  readonly #limits: RequestLimits;
  readonly #ids = new Set<string>();
  #found: BatchLine[] = [];
  #at = 0;
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  /** The latest string of the outer object, while it is read; null otherwise. */
  #name: number[] | null = null;
  /** A member of the outer object. */
  #member = "";
  #isInList = false;
  /** Where the request began that is being read, and its bytes so far. */
  #begin = 0;
  #bytes: Uint8Array[] = [];
  count = 0;

  constructor(limits: RequestLimits) {
    this.#limits = limits;
  }

  async push(piece: Uint8Array): Promise<void> {
    let from = 0;
    for (let index = 0; index < piece.length; index += 1) {
      const depth = this.#depth;
      this.#take(piece[index] as number);
      if (!this.#isInList) continue;
      if (depth === listDepth && this.#depth === requestDepth) {
        from = index;
        this.#begin = this.#at + index;
      } else if (depth === requestDepth && this.#depth === listDepth) {
        this.#bytes.push(piece.subarray(from, index + 1));
        this.#endRequest();
      }
    }
    if (this.#isInList && this.#depth >= requestDepth) this.#keep(piece.subarray(from));
    this.#at += piece.length;
  }

  async end(): Promise<void> {
    if (this.#at === 0 || this.#depth !== 0) throw malformed();
    if (this.count === 0) throw invalidRequest("`requests` must have at least one request.", "requests");
  }

  takeFound(): readonly BatchLine[] {
    const found = this.#found;
    this.#found = [];
    return found;
  }

  #take(byte: number): void {
    if (this.#isInString) {
      this.#takeOfString(byte);
      return;
    }
    if (this.#isInList && this.#depth === listDepth) this.#checkInList(byte);
    if (byte === quote) {
      this.#isInString = true;
      if (this.#depth === 1) this.#name = [];
    } else if (byte === openBrace || byte === openBracket) this.#open(byte);
    else if (byte === closeBrace || byte === closeBracket) this.#close();
    else if (byte === colon && this.#depth === 1 && this.#name !== null) {
      this.#member = Buffer.from(this.#name).toString();
      this.#name = null;
    }
  }

  #takeOfString(byte: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === backslash) this.#isEscaped = true;
    else if (byte === quote) this.#isInString = false;
    if (this.#isInString && this.#depth === 1 && (this.#name?.length ?? maxNameBytes) < maxNameBytes) {
      this.#name?.push(byte);
    }
  }

  /** Between requests are commas and white space. */
  #checkInList(byte: number): void {
    if (byte === openBrace || byte === closeBracket || byte === comma || isSpace(byte)) return;
    throw invalidRequest(`\`requests[${this.count}]\` must be an object.`, `requests[${this.count}]`);
  }

  #open(byte: number): void {
    if (this.#depth === 0 && (byte !== openBrace || this.#member !== "")) throw malformed();
    if (this.#depth === 1 && this.#member === "requests" && byte === openBracket) this.#isInList = true;
    this.#depth += 1;
  }

  #close(): void {
    if (this.#depth === 0) throw malformed();
    this.#depth -= 1;
    if (this.#depth === 1) this.#isInList = false;
  }

  #keep(piece: Uint8Array): void {
    this.#bytes.push(Buffer.from(piece));
    const bytes = this.#bytes.reduce((sum, { length }) => sum + length, 0);
    const { maxRequestBytes } = this.#limits;
    if (bytes <= maxRequestBytes) return;
    const at = `requests[${this.count}]`;
    throw invalidRequest(`\`${at}\` is longer than ${maxRequestBytes} bytes, which is the maximum.`, at);
  }

  #endRequest(): void {
    const bytes = Buffer.concat(this.#bytes);
    this.#bytes = [];
    const at = `requests[${this.count}]`;
    const { maxRequests } = this.#limits;
    if (this.count >= maxRequests) {
      throw invalidRequest(
        `\`requests\` has more than ${maxRequests} requests, which is the maximum.`,
        "requests",
      );
    }
    const { members } = scanObject(bytes, 0, names);
    const [id, params] = names.map((name) => members.find((member) => member.name === name));
    const customId = id && parsed(bytes.subarray(id.valueStart, id.end));
    if (typeof customId !== "string" || !customIdForm.test(customId)) {
      const message = `\`${at}.custom_id\` must have 1 to 64 letters, digits, hyphens or underscores.`;
      throw invalidRequest(message, `${at}.custom_id`);
    }
    if (this.#ids.has(customId)) {
      throw invalidRequest(`\`${at}.custom_id\` is used by an earlier request, too.`, `${at}.custom_id`);
    }
    if (params === undefined || bytes[params.valueStart] !== openBrace) {
      throw invalidRequest(`\`${at}.params\` must be an object.`, `${at}.params`);
    }
    this.#ids.add(customId);
    const { valueStart, end } = params;
    this.#found.push({
      no: this.count,
      customId,
      start: this.#begin + valueStart,
      length: end - valueStart,
    });
    this.count += 1;
  }
}

const maxNameBytes = 64;

function parsed(bytes: Uint8Array): Json | undefined {
  return tryParse(Buffer.from(bytes).toString());
}

function malformed(): Error {
  return invalidRequest("The request body must be a JSON object with `requests`.", "requests");
}
