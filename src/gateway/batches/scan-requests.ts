import { invalidRequest } from "../../base/errors.ts";
import { tryParse } from "../../base/json.ts";
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
import type { Job } from "../body-worker/job.ts";
import { largeBodyBytes } from "../body-worker/large-body.ts";
import { PartialLine } from "./partial-line.ts";
import type { LineProblem, LineSink } from "./scan-input.ts";

const names = ["custom_id", "params"];
const customIdForm = /^[\w-]{1,64}$/;

interface RequestTerms extends LineSink {
  readonly maxRequests: number;
  readonly maxRequestBytes: number;
  scanLarge(bytes: Uint8Array): Promise<FoundRequest>;
}

/** Where `params` is in a request, and how that is called. Null: missing, or not valid. */
interface FoundRequest {
  readonly customId: string | null;
  readonly params: { readonly start: number; readonly length: number } | null;
}

/** For long requests. */
export const scanRequestJob: Job<Uint8Array, FoundRequest> = { name: "batch_request", run: scanRequest };

function scanRequest(bytes: Uint8Array): FoundRequest {
  const { members } = scanObject(bytes, 0, names);
  const [id, params] = names.map((name) => members.find((member) => member.name === name));
  const customId = id && tryParse(Buffer.from(bytes.subarray(id.valueStart, id.end)).toString());
  const isObject = params !== undefined && bytes[params.valueStart] === openBrace;
  return {
    customId: typeof customId === "string" && customIdForm.test(customId) ? customId : null,
    params: isObject ? { start: params.valueStart, length: params.end - params.valueStart } : null,
  };
}

/** How deep the list of requests is, and what is in it. */
const [listDepth, requestDepth] = [2, 3];

/**
 * The requests of a message batch, `{"requests": [{"custom_id": …, "params": {…}}, …]}`, found while it is read piece by piece: it may
 * be much longer than a request can be. Throws `invalid_request` for anything else.
 */
export class RequestScanner {
  readonly problems: readonly LineProblem[] = [];
  readonly #terms: RequestTerms;
  readonly #ids = new Set<string>();
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
  readonly #bytes: PartialLine;
  count = 0;

  constructor(terms: RequestTerms) {
    this.#terms = terms;
    this.#bytes = new PartialLine(terms.maxRequestBytes, terms.takeMemory);
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
        await this.#endRequest(piece.subarray(from, index + 1));
      }
    }
    if (this.#isInList && this.#depth >= requestDepth) this.#keep(piece.subarray(from));
    this.#at += piece.length;
  }

  async end(): Promise<void> {
    if (this.#at === 0 || this.#depth !== 0) throw malformed();
    if (this.count === 0) throw invalidRequest("`requests` must have at least one request.", "requests");
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
    this.#bytes.add(piece);
    if (this.#bytes.length > this.#terms.maxRequestBytes) throw this.#tooLong();
  }

  #tooLong(): Error {
    const at = `requests[${this.count}]`;
    const { maxRequestBytes } = this.#terms;
    return invalidRequest(`\`${at}\` is longer than ${maxRequestBytes} bytes, which is the maximum.`, at);
  }

  async #endRequest(last: Uint8Array): Promise<void> {
    const request = this.#bytes.end(last);
    const { maxRequests, scanLarge } = this.#terms;
    if (this.count >= maxRequests) {
      throw invalidRequest(
        `\`requests\` has more than ${maxRequests} requests, which is the maximum.`,
        "requests",
      );
    }
    if (request === null) throw this.#tooLong();
    await this.#add(
      request.length < largeBodyBytes ? scanRequest(request) : await scanLarge(request),
      request,
    );
  }

  async #add({ customId, params }: FoundRequest, bytes: Uint8Array): Promise<void> {
    const at = `requests[${this.count}]`;
    if (customId === null) {
      const message = `\`${at}.custom_id\` must have 1 to 64 letters, digits, hyphens or underscores.`;
      throw invalidRequest(message, `${at}.custom_id`);
    }
    if (this.#ids.has(customId)) {
      throw invalidRequest(`\`${at}.custom_id\` is used by an earlier request, too.`, `${at}.custom_id`);
    }
    if (params === null) {
      throw invalidRequest(`\`${at}.params\` must be an object.`, `${at}.params`);
    }
    this.#ids.add(customId);
    const { start, length } = params;
    const line = { no: this.count, customId, start: this.#begin + start, length };
    this.count += 1;
    await this.#terms.keep(line, bytes.subarray(start, start + length));
  }
}

const maxNameBytes = 64;

function malformed(): Error {
  return invalidRequest("The request body must be a JSON object with `requests`.", "requests");
}
