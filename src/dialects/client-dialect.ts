import type { TSchema } from "@sinclair/typebox";
import type { GatewayError } from "../base/errors.ts";
import type { JsonObject } from "../base/json.ts";
import type { ErrorFormat } from "./errors/envelope.ts";
import type { ForwardedHeaders } from "./headers.ts";
import type { IrEvent, IrRequest, IrResponse } from "./ir/ir.ts";
import type { OutputLimit, PublishedLimits } from "./output-limit.ts";
import type { DroppedFields, FieldNames } from "./translation/dropped-fields.ts";
import type { FrameTemplate } from "./translation/shortcut.ts";

/**
 * The gateway as a server of a wire format. Readers throw an `invalid_request` GatewayError with the field's
 * path for what cannot be understood. Requests have passed the dialect's schema; history inside them may be
 * wrong all the same.
 */
export interface ClientDialect {
  readonly name: string;
  readonly route: ClientRoute;
  /** How errors look that come instead of an answer. */
  readonly errorFormat: ErrorFormat;
  /** Whether the client runs a tool of this type although its name and schema are the vendor's. */
  isClientTool(type: string): boolean;
  /** What this dialect calls the things that a translation may have to leave out. */
  readonly fieldNames: FieldNames;
  /** What a body has to be like; unknown fields pass. */
  requestSchema(options: ValidationOptions): TSchema;
  /** The code of an answer that takes too long; only some dialects' clients know a status for it. */
  readonly timeoutCode: "upstream_timeout" | "upstream_error";
  /** Which of the client's headers travel up; everything else stays behind. */
  forwardHeaders(client: Headers): ForwardedHeaders;
  /** Reads the output limits of a request, and refuses or caps what is above the model's. */
  limitOutput(body: JsonObject, model: PublishedLimits): OutputLimit;
  readRequest(body: JsonObject, dropped: DroppedFields): IrRequest;
  writeResponse(response: IrResponse, call: ClientCall): JsonObject;
  createStreamWriter(call: ClientCall): StreamWriter;
  /**
   * A body that passes through to the dialect's own vendor, without what other providers thought; the same
   * object when it holds nothing of the kind. Null where the dialect has no field to hold it in.
   */
  readonly stripForeignReasoning: ((body: JsonObject) => JsonObject) | null;
  /** An error after a stream that passes through has begun. It never looks like a proper end. */
  inBandError(error: GatewayError, requestId: string, position: StreamPosition): string;
  /**
   * Shows life while the provider is silent. Before a stream's first event only a comment is legal; after
   * it, clients count events, not comments, against their idle timers.
   */
  heartbeat(hasBegun: boolean, sequenceNumber: number): string;
}

/** Where the gateway takes requests of a dialect, on both origins. */
export interface ClientRoute {
  readonly path: string;
  readonly acceptsApiKeyHeader: boolean;
}

/** What a request's headers change about what its body may say. */
export interface ValidationOptions {
  /** The request carries an `anthropic-beta` header: messages of the role `system` are then allowed. */
  readonly anthropicBeta: boolean;
}

/** What the translation must know of the client's call. */
export interface Source {
  readonly dialect: ClientDialect;
  /** Already validated by the dialect's schema; never changed by the translation. */
  readonly body: JsonObject;
  /** The model name the client asked for; it is what the client reads back. */
  readonly model: string;
  /** Whole seconds, for `created`. */
  readonly nowSeconds: number;
  /** An estimate above 0, for `message_start` (a client shows 0 % otherwise). */
  readonly estimatedInputTokens: number;
}

/** What a writer needs to know to word its answer. */
export interface ClientCall {
  readonly source: Source;
  /** `newId` of base/id.ts; a test gives its own, so that its expectations are stable. */
  readonly mint: (prefix: string) => string;
}

/** Where a stream that passes through has got to, for dialects whose events are numbered. */
export interface StreamPosition {
  readonly sequenceNumber: number;
  readonly responseId: string;
  readonly model: string;
  readonly createdAtSeconds: number;
}

/** Writes a client's stream; what an event allows leaves with it, except for the frames that end the stream. */
export interface StreamWriter {
  write(event: IrEvent): string;
  /** How a delta of that block is written as long as nothing else is; null when that cannot be said. See shortcut.ts. */
  template(index: number): FrameTemplate | null;
  /** Deltas of that block have been written by its template; this was their text. */
  recordDeltas(index: number, text: string): void;
  /** The frames that end the stream properly; asked for once, after `finish`. */
  terminal(): string;
  /** The in-band failure; it may come at any point, even before anything was written. */
  failure(error: GatewayError, requestId: string): string;
  /** May stand between any two writes. */
  heartbeat(): string;
}
