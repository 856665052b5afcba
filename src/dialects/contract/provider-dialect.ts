import type { GatewayError } from "../../base/errors.ts";
import type { Json, JsonObject } from "../../base/json.ts";
import type { Usage } from "../../base/usage/usage.ts";
import type { ForwardedHeaders } from "../headers.ts";
import type { IrEvent, IrRequest } from "../ir/ir.ts";
import type { BodyChanges } from "../json/patch.ts";
import type { EndedIds, StreamReader } from "../provider-response/stream-reader.ts";
import type { UsageReader } from "../usage/reported-usage.ts";
import type { DroppedFields } from "./field-decisions.ts";
import type { Quirk } from "./quirks.ts";

/**
 * The gateway as a client of a wire format. Writers throw an `invalid_request` GatewayError for what their dialect
 * cannot express, unless the request works without it: then it is dropped and reported.
 *
 * Before `writeRequest` the request has been adapted to the target (see tools/adapt-tools.ts): tool names and ids
 * are legal there, tools are ones that the target can have, calls and results are paired.
 */
export interface ProviderDialect extends UsageReader {
  readonly name: string;
  /** If a provider speaks several dialects, the richest is used, because it loses the least. */
  readonly richness: number;
  readonly takesStopSequences: boolean;
  /** Claude's prompts are cached up to marks, and only there. */
  readonly takesCacheMarks?: true;
  /** Paths below the base URL, unless the vendor has its own. */
  readonly paths: DialectPaths;
  /** Absent if the dialect cannot count tokens. */
  readonly countTokens?: TokenCounting;
  /** The forwarded headers that this dialect defines, and those that it requires. */
  requestHeaders(forwarded: ForwardedHeaders): ForwardedHeaders;
  /** A request for a few tokens, to check whether a model responds. */
  smallRequest(question: string, target: SmallTarget): JsonObject;
  readonly toolRules: ToolRules;
  writeRequest(request: IrRequest, target: Target, dropped: DroppedFields): JsonObject;
  /**
   * The events of a non-streaming response. Throws `upstream_error` if the body is malformed, is not a response or
   * contains an error.
   */
  readResponse(body: JsonObject, target: Target): readonly IrEvent[];
  /** Null if no client speaks the dialect, so that every response is translated. */
  readonly passthrough: Passthrough | null;
  createStreamReader(options: ReaderOptions): StreamReader;
  /** Absent if the first frame of a stream never reports a failure, except as an error. */
  readonly failedStart?: FailedStart;
  /**
   * Whether an event of a stream, by its first 1,024 characters, announces a response and has no content. Such events
   * are held back until there is content, so that a later failure can still get a status, or another deployment. Absent
   * if the dialect has none.
   */
  isOpening?(event: string): boolean;
  /** The usage in an opening event's data, if the stream fails without content. Absent if none reports any. */
  openingUsage?(data: JsonObject): Usage | null;
}

/**
 * A stream's start that reports the failure of its response. Detected before anything reaches the client, who then gets
 * a status that its SDK retries.
 */
export interface FailedStart {
  /** Such a frame contains one of these. */
  readonly marks: readonly string[];
  /** Null if the frame has content or does not report a failure. */
  failureIn(frame: JsonObject): GatewayError | null;
}

/** Functions for passing responses through to a client of the same dialect. */
export interface Passthrough {
  /** The list in a whole answer that holds the model's output; a body without one is not an answer. */
  output(answer: JsonObject): Json | undefined;
  /** The error in place of a response, or in a failed one; null if it has not failed. */
  failureIn(answer: JsonObject): GatewayError | null;
  /** The option that makes a stream report its usage; null if it always does. */
  readonly usageOption: UsageOption | null;
  /** The ids in a non-streaming response that a later request can refer to. `isStored` as for the reader of a stream. */
  issuedIds(answer: JsonObject, isStored?: boolean): readonly string[];
  /**
   * The ids under which a response is stored. Null if it cannot be continued; absent if responses of this dialect are
   * not stored.
   */
  endedIds?(answer: JsonObject): EndedIds | null;
}

interface UsageOption {
  isSet(body: JsonObject): boolean;
  changes(body: JsonObject): BodyChanges;
}

export interface DialectPaths {
  readonly generate: RequestTarget;
  /** Null if the dialect cannot count tokens. */
  readonly countTokens: RequestTarget | null;
  /** Compacts a conversation; absent if the dialect cannot. */
  readonly compact?: RequestTarget;
  /** The target of all other requests, which have a method each; absent if the dialect has none. */
  readonly metered?: RequestTarget;
}

/** A function if the model and the kind of response are part of the target. */
export type RequestTarget = string | ((request: TargetedRequest) => string);

export interface TargetedRequest {
  readonly model: string;
  readonly stream: boolean;
  /** The name of a metered request. */
  readonly method?: string;
}

/** How to request a count of a request's input from a provider. */
interface TokenCounting {
  /** It has fewer fields than a request for an answer, and servers that imitate the dialect seldom take it. */
  readonly hasOwnForm?: true;
  /** Converts a generation request. */
  writeRequest(body: JsonObject, target: Target): JsonObject;
  /** The field of the response that holds the count. */
  readonly countField: string;
  /** The count before the provider edits the conversation as requested; null or absent if the response has none. */
  originalCount?(answer: JsonObject): number | null;
}

/** A dialect's rules for tools, calls and their results. */
export interface ToolRules {
  /** Tools may take free text, and a choice may be limited to some of the tools. */
  readonly takesFreeform: boolean;
  /** Every tool in the history needs a definition, even if the client offers no tools. */
  readonly definesMentioned: boolean;
  /** Deterministic, so that a result still matches its call. */
  callId(id: string, target: Target): string;
  /** Whether a JSON schema for the response has to be forced through a tool. */
  forcesFormat(target: Target, request: IrRequest): boolean;
  /** A name has to begin with a letter or an underscore. */
  readonly namesBeginWithLetter?: true;
}

export type SmallTarget = Pick<Target, "upstreamModel" | "maxTokensField"> & {
  readonly maxOutputTokens: number;
};

/** Facts about a deployment's model that a translation needs. */
export interface Target {
  readonly dialect: ProviderDialect;
  readonly upstreamModel: string;
  /** The model's own name, where `upstreamModel` is one that the operator has chosen, such as a deployment's. */
  readonly family?: string | undefined;
  /** The provider's name in the configuration. */
  readonly provider: string;
  /** The vendor rejects unknown fields, as those who define a dialect do and compatible servers do not. */
  readonly isStrict: boolean;
  readonly maxOutputTokens: number | null;
  readonly maxTokensField: "max_tokens" | "max_completion_tokens";
  /** The differences of the provider's chat from OpenAI's. */
  readonly quirks?: readonly Quirk[] | undefined;
  readonly streamUsage: boolean;
  readonly capabilities: Readonly<Record<string, unknown>>;
  /** Fields that the provider's settings add to every request. */
  readonly fields?: JsonObject;
  /** The operator wants prompts marked for Claude's cache where the client cannot know that it has to. */
  readonly marksCache?: boolean;
  /** Maximum web searches that the provider can run for this request; absent if it has none, or they have no price. */
  readonly webSearches?: number;
  /** The provider has rejected the signatures of this conversation's reasoning. */
  readonly rejectsSignatures?: true;
}

/** Facts about the request that a stream's reader needs. */
export interface ReaderOptions {
  /** Null if the stream is not translated. */
  readonly target: Target | null;
  /** The provider was asked to store the response, so that a later request can refer to it by its id. */
  readonly isStored?: boolean | undefined;
}
