import { assert } from "../../base/assert.ts";
import { shared } from "../../base/bytes.ts";
import type { JsonObject } from "../../base/json.ts";
import { estimateInput, estimateTruncatedInput, type InputEstimate } from "../../catalog/estimate.ts";
import type { ValidationOptions } from "../../dialects/contract/client-dialect.ts";
import type { JsonSpans } from "../../dialects/json/json-spans.ts";
import { parseBody, parseWhole, truncateBody } from "../../dialects/json/parse-body.ts";
import { removeValues, type ValuePath } from "../../dialects/json/remove-values.ts";
import type { FormFile } from "../../dialects/metered/route.ts";
import { inspectBody, type Mentions } from "../../dialects/names/inspect-body.ts";
import {
  type ItemSpan,
  inputItems,
  inputSpans,
  itemsAt,
  type TurnItem,
} from "../../dialects/openai-responses/client/turn-items.ts";
import { openingHash } from "../../dialects/opening.ts";
import { clientDialect } from "../../dialects/registry.ts";
import {
  dialectOf,
  filesOf,
  itemsFieldOf,
  type RequestKind,
  rejectLongLists,
  rejectTooManyMembers,
  type StructureLimits,
  validateRequest,
} from "../../dialects/request-kinds.ts";
import { type OfferedTools, offeredTools } from "../../dialects/tools/hosted-tools.ts";
import type { Job } from "../body-worker/job.ts";
import { truncateStringsAndNames } from "./truncate-strings-and-names.ts";

/** What a body is validated against. */
export interface ExpectedRequest {
  readonly kind: RequestKind;
  readonly options: ValidationOptions;
  readonly limits: StructureLimits;
}

/** What is known of a valid body, on whichever thread it was read. */
export interface CheckedBody {
  readonly bytes: Uint8Array;
  readonly spans: JsonSpans;
  readonly mentions: Mentions;
  readonly tools: OfferedTools;
  /** Whether it must not be parsed as a whole on the event loop. */
  readonly isLarge: boolean;
  /** The body with its long nested strings truncated: enough for everything but translation. */
  readonly truncated: JsonObject;
  /** The whole body. Parsing a large one takes long. */
  readonly body: JsonObject;
  readonly estimatedInput: InputEstimate;
  /** The hash of the bytes, for idempotency. */
  readonly bodyHash: string;
  readonly openingHash: number;
  /** The files in the body of a metered request. */
  readonly files: readonly FormFile[];
  /** The items of a conversation. */
  inputItems(): readonly TurnItem[];
  /**
   * Drops the parsed body once the bytes are sent; it is parsed again in the rare case that it is needed. A long
   * conversation is thousands of objects, which every garbage collection would visit while the provider works.
   */
  forget(): void;
}

/** Throws `invalid_request` for anything but a request of this kind. */
export function checkBody(
  bytes: Uint8Array,
  { kind, options, limits }: ExpectedRequest,
  scanned = truncateBody(bytes),
): ReadBody {
  rejectTooManyMembers(bytes, scanned, kind, limits);
  const parsed = parseBody(bytes, scanned);
  const { truncated, cutBytes, spans } = parsed;
  rejectLongLists(truncated, limits);
  const mentions = inspectBody(parsed, bytes);
  validateRequest(kind, truncated, options);
  const tools = offeredTools(clientDialect(dialectOf(kind)), truncated, mentions);
  return new ReadBody({ bytes, kind, spans, mentions, tools, cutBytes }, truncated);
}

interface BodyParts extends Pick<CheckedBody, "bytes" | "spans" | "mentions" | "tools"> {
  readonly kind: RequestKind;
  /** How many bytes of text were cut. */
  readonly cutBytes: number;
}

/** A body that was read on this thread. What few requests need is found out when it is asked for. */
export class ReadBody implements CheckedBody {
  readonly #parts: BodyParts;
  readonly bytes: Uint8Array;
  readonly isLarge = false;
  #truncated: JsonObject | null;
  #body: JsonObject | null;

  constructor(parts: BodyParts, truncated: JsonObject) {
    this.#parts = parts;
    this.bytes = parts.bytes;
    this.#truncated = truncated;
    this.#body = parts.cutBytes === 0 ? truncated : null;
  }

  get spans(): JsonSpans {
    return this.#parts.spans;
  }

  get mentions(): Mentions {
    return this.#parts.mentions;
  }

  get tools(): OfferedTools {
    return this.#parts.tools;
  }

  get truncated(): JsonObject {
    this.#truncated ??= parseBody(this.bytes).truncated;
    return this.#truncated;
  }

  get body(): JsonObject {
    this.#body ??= parseWhole(this.bytes);
    return this.#body;
  }

  /** The estimate of an attachment depends on its text, which truncated JSON lacks. */
  get estimatedInput(): InputEstimate {
    const { length } = this.bytes;
    const estimate = estimateTruncatedInput(this.truncated, length, this.#parts.cutBytes);
    return estimate ?? estimateInput(this.body, length);
  }

  get bodyHash(): string {
    return Bun.SHA256.hash(this.bytes, "hex");
  }

  get openingHash(): number {
    return openingHash(this.body);
  }

  get files(): readonly FormFile[] {
    return filesOf(this.#parts.kind, this);
  }

  inputItems(): readonly TurnItem[] {
    return itemsIn(this.bytes, this.#parts.kind);
  }

  forget(): void {
    this.#truncated = null;
    this.#body = null;
  }
}

interface ReadInput {
  readonly bytes: Uint8Array;
  readonly expected: ExpectedRequest;
  /** Whether idempotency needs the body's hash. */
  readonly wantsHash: boolean;
  /** What is taken out of the body first. */
  readonly without: readonly ValuePath[];
}

/** What another thread has found in a body, as data. */
interface ReadResult
  extends Pick<
    CheckedBody,
    "bytes" | "spans" | "mentions" | "tools" | "estimatedInput" | "openingHash" | "files"
  > {
  /** JSON of the body with its texts cut short. */
  readonly truncatedText: string;
  /** Empty without an idempotency key. */
  readonly bodyHash: string;
  /** Where the items of a conversation are; null if they are no list. */
  readonly items: readonly ItemSpan[] | null;
}

/** Parses and validates a large body. */
export const readJob: Job<ReadInput, ReadResult> = { name: "read", run: readLarge };

function readLarge({ bytes: sent, expected, wantsHash, without }: ReadInput): ReadResult {
  const read = checkBody(without.length === 0 ? sent : shared(removeValues(sent, without)), expected);
  const { bytes, spans, mentions, tools, estimatedInput, openingHash, files } = read;
  const field = itemsFieldOf(expected.kind);
  return {
    bytes,
    truncatedText: truncateStringsAndNames(read.truncated),
    spans,
    // The lists of tools may be long, and have been read.
    mentions: { ...mentions, toolLists: [] },
    tools,
    estimatedInput,
    bodyHash: wantsHash ? read.bodyHash : "",
    openingHash,
    items: field === null ? null : inputSpans(bytes, field),
    files,
  };
}

/** A body that another thread has read, because it takes long. */
export class LargeBody implements CheckedBody {
  readonly #read: ReadResult;
  readonly #kind: RequestKind;
  readonly bytes: Uint8Array;
  readonly isLarge = true;
  #truncated: JsonObject | null = null;
  #body: JsonObject | null = null;

  constructor(read: ReadResult, kind: RequestKind) {
    this.#read = read;
    this.#kind = kind;
    this.bytes = read.bytes;
  }

  get spans(): JsonSpans {
    return this.#read.spans;
  }

  get mentions(): Mentions {
    return this.#read.mentions;
  }

  get tools(): OfferedTools {
    return this.#read.tools;
  }

  get truncated(): JsonObject {
    this.#truncated ??= JSON.parse(this.#read.truncatedText) as JsonObject;
    return this.#truncated;
  }

  get body(): JsonObject {
    this.#body ??= parseWhole(this.bytes);
    return this.#body;
  }

  get estimatedInput(): InputEstimate {
    return this.#read.estimatedInput;
  }

  get bodyHash(): string {
    const { bodyHash } = this.#read;
    assert(bodyHash !== "", "only idempotency compares bodies");
    return bodyHash;
  }

  get openingHash(): number {
    return this.#read.openingHash;
  }

  get files(): readonly FormFile[] {
    return this.#read.files;
  }

  inputItems(): readonly TurnItem[] {
    const { items } = this.#read;
    return items === null ? itemsIn(this.bytes, this.#kind) : itemsAt(this.bytes, items);
  }

  forget(): void {
    this.#truncated = null;
    this.#body = null;
  }
}

function itemsIn(bytes: Uint8Array, kind: RequestKind): readonly TurnItem[] {
  const field = itemsFieldOf(kind);
  return field === null ? [] : inputItems(bytes, field);
}
