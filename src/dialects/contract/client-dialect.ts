import type { TSchema } from "@sinclair/typebox";
import type { Clock } from "../../base/clock.ts";
import type { GatewayError } from "../../base/errors.ts";
import type { Json, JsonObject } from "../../base/json.ts";
import type { RouteSwitch } from "../../base/requests/route-switches.ts";
import type { Usage } from "../../base/usage/usage.ts";
import type { ErrorFormat } from "../errors/envelope.ts";
import type { ForwardedHeaders } from "../headers.ts";
import type { IrEvent, IrRequest, IrResponse } from "../ir/ir.ts";
import type { BodyChanges } from "../json/patch.ts";
import type { BodyNames, StoredReference } from "./body-names.ts";
import type { DroppedFields, FieldDecisions, FieldNames } from "./field-decisions.ts";
import type { OutputLimit, PublishedLimits } from "./output-limit.ts";

/**
 * The gateway as a server of a wire format. Readers throw an `invalid_request` GatewayError with the field's path for
 * what they cannot interpret: the schema does not check every detail of the history.
 */
export interface ClientDialect {
  readonly name: string;
  readonly route: ClientRoute;
  /** The route in the OpenAPI document, beyond what follows from its schemas. */
  readonly operation: ClientOperation;
  /** Errors that are sent instead of an answer. */
  readonly errorFormat: ErrorFormat;
  /** Whether the client runs a tool of this type although its name and schema are the vendor's. */
  isClientTool(type: string): boolean;
  /** Each member of a tool is a tool: functions, or one that the provider runs. */
  readonly hasToolMembers?: true;
  /** What a request asks for in fields of its own, as OpenAI's `service_tier`, `modalities` and `audio`, which prices are looked up by. */
  askedExtras?(body: JsonObject): JsonObject;
  /** The field that asks for a kind of output, if there are others than `fieldNames.modalities`. */
  outputField?(body: JsonObject, modality: Json): string;
  /** The dialect's vendor caches prompts by itself, so that clients expect it without marking anything. */
  readonly expectsCaching: boolean;
  /** Valid call ids for a client, whose conversation may continue with any provider of the dialect. */
  readonly callIds: CallIdForm;
  /** Where a request bounds the calls of tools that the provider runs: once for all, or in each tool. Null if it cannot. */
  readonly callLimit: "request" | "tool" | null;
  /** Absent if the gateway stores no conversation in this dialect. */
  readonly itemsField?: ItemsField;
  /** The fields of a request, and what a translation does with each. */
  readonly requestFields: FieldDecisions;
  /** The names in a request that the gateway has to know. */
  readonly bodyNames: BodyNames;
  /** The names of the field that has the instructions; none if they are a part of the conversation. */
  readonly systemFields: readonly string[];
  /** Stored items that a request refers to from within its conversation; absent if none can be. */
  storedReferences?(body: JsonObject): readonly StoredReference[];
  /** This dialect's names for what a translation may have to drop. */
  readonly fieldNames: FieldNames;
  /** Unknown fields pass. */
  requestSchema(options: ValidationOptions): TSchema;
  /** Throws `invalid_request` for what the schema cannot express. Works on truncated JSON too. */
  check?(body: JsonObject): void;
  /** Set if a request's path has its model and its method. */
  readonly inPath?: RequestInPath;
  /** The error code of a timeout; only some dialects have a status of its own for it. */
  readonly timeoutCode: "upstream_timeout" | "upstream_error";
  /** Headers by which a client shows, on a path without a route, whose errors it expects. */
  readonly marks: readonly string[];
  /** The header that asks for beta features, which no other dialect has; null if there is none. */
  readonly betaHeader: string | null;
  /** The client's headers that are forwarded to the provider; all others are not. */
  forwardHeaders(client: Headers): ForwardedHeaders;
  /** The client's name for its end user; null without one. */
  readUser(body: JsonObject): string | null;
  /** Reads the output limits of a request, and rejects or caps what is above the model's. */
  limitOutput(body: JsonObject, model: PublishedLimits): OutputLimit;
  /** Finds the stop sequences of a body; absent if they are in the member that `fieldNames` has for them. */
  readStops?(body: JsonObject): Json | undefined;
  readRequest(body: JsonObject, dropped: DroppedFields): IrRequest;
  writeResponse(response: IrResponse, call: WriterContext): JsonObject;
  /**
   * The fields to change for the provider, so that it stores nothing and the gateway can. Only for a dialect whose
   * clients continue a response by its id.
   */
  statelessChanges?(body: JsonObject, mayReason: boolean): BodyChanges;
  createStreamWriter(call: WriterContext): StreamWriter;
  /** Whether a body may hold reasoning of other providers. Searches the bytes, because nearly no body has any. */
  mayHoldForeignReasoning(bytes: Uint8Array): boolean;
  /** Removes reasoning of other providers from a body that passes through; returns the same object if there is none. */
  stripForeignReasoning(body: JsonObject): JsonObject;
  /** Removes all encrypted or signed reasoning, once a provider has rejected it. */
  readonly stripSignedReasoning: ((body: JsonObject) => JsonObject) | null;
  /** Whether a request, whose texts may be truncated, continues what may be of no use to another model. */
  holdsState(body: JsonObject): boolean;
  /** The usage as a whole response has it, for streams that need not show it; absent if they always do. */
  writeHiddenUsage?(usage: Usage): JsonObject;
  /** An error after a passthrough stream has begun. It never looks like a regular end. */
  inBandError(error: GatewayError, requestId: string, position: StreamPosition): string;
  /** Some clients notice an error in a stream only if its body breaks off. */
  readonly breaksOffAfterError?: true;
  /** Some clients fail at a comment in a stream. */
  readonly rejectsComments?: true;
  /**
   * Sent while the provider is silent. Before a stream's first event only a comment is legal, unless clients reject them; after it,
   * only events reset a client's idle timer.
   */
  heartbeat(hasBegun: boolean, sequenceNumber: number, model: string): string;
}

/** A dialect whose requests have their model and their method in the path. */
export interface RequestInPath {
  /** The routes, on both origins; each ends in a wildcard. */
  readonly paths: readonly string[];
  readonly switchedBy: RouteSwitch;
  /** Null for a path that is none of the dialect's, or has a method that is not served. `path` is as it was sent, without the query. */
  read(path: string): PathFacts | null;
  /** The body with `model` and `stream` as its first members. They are removed again where the body passes through. */
  addTo(body: Uint8Array, path: string): Uint8Array;
  writeCount(count: TokenCount): JsonObject;
  /** Whether the data of an event only keeps the connection open. */
  isHeartbeat(data: string): boolean;
}

export interface PathFacts {
  readonly model: string;
  readonly method: "generate" | "stream" | "count" | "embed" | "embedAll";
}

/** Another request of a dialect than one for an answer. */
export interface OtherRequest {
  requestSchema(options: ValidationOptions): TSchema;
  /** Throws `invalid_request` for what the schema cannot express. Works on truncated JSON too. */
  check?(body: JsonObject): void;
  /** As for a `ClientDialect`. */
  readonly itemsField?: ItemsField;
  /** Set if it is a request for a count of its input, with a route of its own. */
  readonly counting?: CountRoute;
}

/** The field that has the items of a conversation which the gateway may store. */
export type ItemsField = "input" | "items";

/** A route for counts of input, on both origins. */
export interface CountRoute {
  readonly path: string;
  /** Absent if it is a part of the interface. */
  readonly switchedBy?: RouteSwitch;
  readonly operation: ClientOperation;
  write(count: TokenCount): JsonObject;
}

/** What the OpenAPI document says of every such route. */
export const countDescription = {
  summary: "Count input tokens",
  description: "Creates no model response and deducts no generation usage.",
} as const;

/** A count of a request's input. */
export interface TokenCount {
  readonly tokens: number;
  /** The count before the provider's edits of the conversation; null if none is reported. */
  readonly originalTokens: number | null;
}

/** The ids of calls that a dialect takes. Providers of other dialects invent freely (`functions.Bash:0`). */
export interface CallIdForm {
  readonly legal: RegExp;
  readonly maxLength: number;
}

/** The route for requests of a dialect, on both origins. */
export interface ClientRoute {
  readonly path: string;
  /** The header that may have the key, in place of `Authorization`; null if none may. */
  readonly keyHeader: string | null;
  /** The query's parameter that may have the key, too. */
  readonly keyParameter?: string;
  /** Some clients try a WebSocket here first, and fall back to POST after a 426. */
  readonly isTriedByWebSocket?: true;
}

/** An operation in the OpenAPI document. */
export interface ClientOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  /** The headers that it takes; for a dialect, in addition to the headers of all generations. */
  readonly headers?: readonly string[];
  /** The wildcard's name in its path. */
  readonly inPath?: string;
  /** The parameters of its query, as OpenAPI describes them. */
  readonly query?: readonly JsonObject[];
  /** Names of two of the schemas. */
  readonly request?: string;
  readonly response: string;
  /** The name of the file in a form that may be sent in place of JSON. */
  readonly formFile?: string;
  /** The media type of the response, if it is not JSON. */
  readonly responseType?: string;
  /** A description of the stream's events. */
  readonly events?: string;
  /** By their names in the document. */
  readonly schemas: Readonly<Record<string, TSchema>>;
}

/** Request headers that affect the schema. */
export interface ValidationOptions {
  /** The request asks for beta features, with the dialect's `betaHeader`. */
  readonly hasBetas: boolean;
}

/** Facts about the client's request that a translation needs. */
export interface Source {
  readonly dialect: ClientDialect;
  /** Already validated by the dialect's schema; never changed by the translation. */
  readonly body: JsonObject;
  /** The id of the requested model, also if the client used an alias. The client reads it back. */
  readonly model: string;
  /** Whole seconds, for `created`. */
  readonly nowSeconds: number;
  /** An estimate above 0, for `message_start` (a client shows 0 % otherwise). */
  readonly estimatedInputTokens: number;
  /** Whether the gateway stores the response, and the id that it continues; absent if the gateway keeps nothing of it. */
  readonly kept?: { readonly parentId: string | null; readonly isStored: boolean } | undefined;
}

export type WallClock = Pick<Clock, "wallMs">;

/** Facts that a writer needs to write a response. */
export interface WriterContext {
  readonly source: Source;
  /** `newId` of base/id.ts; replaced in tests to get stable ids. */
  readonly mint: (prefix: string) => string;
  /** For the time at which a response completed. */
  readonly clock: WallClock;
  /** The provider speaks the client's dialect, so reasoning signatures are written unchanged. */
  readonly keepsSignatures?: true;
}

/** The position of a passthrough stream, for dialects whose events are numbered. */
export interface StreamPosition {
  readonly sequenceNumber: number;
  readonly responseId: string;
  readonly model: string;
  readonly createdAtSeconds: number;
  /** Whether part of the response has been sent. */
  readonly hasBegun: boolean;
  /** The usage that was charged for the response; null if nothing was. */
  readonly usage: Usage | null;
}

/** Writes a client's stream event by event. `terminal` returns the frames that end it. */
export interface StreamWriter {
  /** One block is open at a time. */
  write(event: IrEvent): string;
  /** The frames that end the stream properly; called once, after `finish`. */
  terminal(): string;
  /** The in-band error, with what was charged; may be called at any point, even before anything was written. */
  failure(error: GatewayError, requestId: string, charged: Usage | null): string;
  /** Legal between any two writes. */
  heartbeat(): string;
}
