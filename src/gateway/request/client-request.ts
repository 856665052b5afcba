import { assert } from "../../base/assert.ts";
import { isObject, type JsonObject } from "../../base/json.ts";
import { estimateInput, estimateTruncatedInput, type InputEstimate } from "../../catalog/estimate.ts";
import type { JsonSpans } from "../../dialects/json/json-spans.ts";
import { parseBody, parseWhole } from "../../dialects/json/parse-body.ts";
import type { BodyChanges } from "../../dialects/json/patch.ts";
import type { FormFile } from "../../dialects/metered/route.ts";
import type { Mentions } from "../../dialects/names/inspect-body.ts";
import {
  type ItemSpan,
  inputItems,
  itemsAt,
  type TurnItem,
} from "../../dialects/openai-responses/client/turn-items.ts";
import { openingHash } from "../../dialects/opening.ts";
import { askedIn, filesOf, itemsFieldOf, type RequestKind } from "../../dialects/request-kinds.ts";
import type { OfferedTools } from "../../dialects/tools/hosted-tools.ts";

/** Facts about every valid body. */
export interface BodyFacts {
  readonly bytes: Uint8Array;
  readonly spans: JsonSpans;
  readonly mentions: Mentions;
  readonly tools: OfferedTools;
}

/** Further facts that another thread found in a large body, as data: finding them here would take long. */
export interface LargeFacts {
  readonly estimatedInput: InputEstimate;
  readonly openingHash: number;
  readonly files: readonly FormFile[];
  /** JSON of the body with its texts cut short. */
  readonly truncatedText: string;
  /** Empty without an idempotency key. */
  readonly bodyHash: string;
  /** The positions of a conversation's items; null if they are not a list. */
  readonly items: readonly ItemSpan[] | null;
}

interface RequestParts {
  readonly kind: RequestKind;
  readonly facts: BodyFacts;
  /** The parsed body; its long nested strings may be truncated. */
  readonly truncated: JsonObject;
  /** Number of bytes of text that were cut. */
  readonly cutBytes: number;
  /** Null if it was read on this thread. Facts that few requests need are then determined on first use. */
  readonly large: LargeFacts | null;
}

/** A valid request. */
export class ClientRequest {
  readonly bytes: Uint8Array;
  readonly spans: JsonSpans;
  readonly mentions: Mentions;
  readonly tools: OfferedTools;
  readonly modelId: string;
  readonly stream: boolean;
  /** The client may refer to the response later. */
  readonly mayStore: boolean;
  /** Removes governed members that are null, so that the provider takes them for absent too. Null if there are none. */
  readonly nullRemovals: BodyChanges | null;
  /** Asks the provider to remember the response's id, for a later request to continue from, or to compare with. */
  readonly isThreaded: boolean;
  /** Whether it requests audio output. */
  readonly speaks: boolean;
  readonly #kind: RequestKind;
  readonly #large: LargeFacts | null;
  readonly #cutBytes: number;
  #truncated: JsonObject | null;
  #body: JsonObject | null;
  #sentHash: string | null = null;

  constructor({ kind, facts, truncated, cutBytes, large }: RequestParts) {
    const { bytes, spans, mentions, tools } = facts;
    this.bytes = bytes;
    this.spans = spans;
    this.mentions = mentions;
    this.tools = tools;
    this.modelId = truncated["model"] as string;
    this.stream = truncated["stream"] === true;
    this.mayStore = truncated["store"] !== false;
    this.nullRemovals = nullRemovals(truncated, spans);
    this.isThreaded = isObject(truncated["thread"]) || isObject(truncated["diagnostics"]);
    this.speaks = asksForSpeech(askedIn(kind, truncated));
    this.#kind = kind;
    this.#large = large;
    this.#cutBytes = cutBytes;
    this.#truncated = truncated;
    this.#body = large === null && cutBytes === 0 ? truncated : null;
  }

  /** Whether its body is patched and translated on another thread. */
  get isLarge(): boolean {
    return this.#large !== null;
  }

  /** The body with its long nested strings truncated: enough for everything but translation. */
  get truncated(): JsonObject {
    this.#truncated ??= this.#large === null ? parseBody(this.bytes).truncated : truncatedOf(this.#large);
    return this.#truncated;
  }

  /** What is asked for under the names by which prices are looked up, and everything else under its own. */
  get asked(): JsonObject {
    return askedIn(this.#kind, this.truncated);
  }

  /** The whole body. Parsing a large one takes long. */
  get body(): JsonObject {
    this.#body ??= parseWhole(this.bytes);
    return this.#body;
  }

  /** As much of the body as can be parsed on the event loop. */
  get quickBody(): JsonObject {
    return this.isLarge ? this.truncated : this.body;
  }

  /** The hash of the body that the client sent. */
  get bodyHash(): string {
    const hash = this.#sentHash ?? this.#large?.bodyHash ?? Bun.SHA256.hash(this.bytes, "hex");
    assert(hash !== "", "only idempotency compares bodies");
    return hash;
  }

  /** For a rebuilt request: the client's original body decides whether a retry is the same request. */
  sentAs({ bodyHash }: Pick<ClientRequest, "bodyHash">): this {
    this.#sentHash = bodyHash;
    return this;
  }

  get openingHash(): number {
    return this.#large?.openingHash ?? openingHash(this.body);
  }

  /** The files in the body of a metered request. */
  get files(): readonly FormFile[] {
    return this.#large?.files ?? filesOf(this.#kind, this);
  }

  /** The estimate of an attachment depends on its text, which truncated JSON lacks. */
  estimateInput(): InputEstimate {
    if (this.#large !== null) return this.#large.estimatedInput;
    const { length } = this.bytes;
    const estimate = estimateTruncatedInput(this.truncated, length, this.#cutBytes);
    return estimate ?? estimateInput(this.body, length);
  }

  /** The items of a conversation. */
  inputItems(): readonly TurnItem[] {
    if (this.#large?.items != null) return itemsAt(this.bytes, this.#large.items);
    const field = itemsFieldOf(this.#kind);
    return field === null ? [] : inputItems(this.bytes, field);
  }

  /**
   * Drops the parsed body once the bytes are sent; it is parsed again in the rare case that it is needed. A long
   * conversation is thousands of objects, which every garbage collection would visit while the provider works.
   */
  forgetBody(): void {
    this.#truncated = null;
    this.#body = null;
  }
}

export function truncatedOf({ truncatedText }: Pick<LargeFacts, "truncatedText">): JsonObject {
  return JSON.parse(truncatedText) as JsonObject;
}

function nullRemovals(body: JsonObject, { members }: JsonSpans): BodyChanges | null {
  let removals: Record<string, undefined> | null = null;
  for (const { name } of members) {
    if (body[name] !== null) continue;
    removals ??= {};
    removals[name] = undefined;
  }
  return removals;
}

function asksForSpeech({ modalities, audio }: JsonObject): boolean {
  return (
    isObject(audio) || modalities === "audio" || (Array.isArray(modalities) && modalities.includes("audio"))
  );
}
