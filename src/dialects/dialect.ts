import type { DialectName } from "../base/dialect.ts";
import type { GatewayError } from "../base/errors.ts";
import type { JsonObject } from "../base/json.ts";
import type { IrEvent, IrRequest, IrResponse } from "./ir/ir.ts";
import type { DroppedFields } from "./translation/dropped-fields.ts";
import type { Stencil } from "./translation/shortcut.ts";
import type { Source, SseFrame, Target } from "./translation/translation.ts";

/**
 * One wire format in both roles. Readers throw an `invalid_request` GatewayError with the field's path for
 * what cannot be understood; writers for what their dialect cannot express, unless it does no harm when
 * missing, which they note. Requests have passed the dialect's schema; history inside them may be wrong.
 *
 * Before `writeRequest` the request has been adapted to the target (see adapt-request.ts): tool names and ids are
 * legal there, tools are ones that the target can have, calls and results are paired.
 */
export interface Dialect {
  readonly name: DialectName;
  readonly client: ClientSide;
  readonly provider: ProviderSide;
}

/** The gateway as a server of this dialect. */
export interface ClientSide {
  readRequest(body: JsonObject, dropped: DroppedFields): IrRequest;
  writeResponse(response: IrResponse, call: ClientCall): JsonObject;
  createStreamWriter(call: ClientCall): StreamWriter;
}

/** The gateway as a client of this dialect. */
export interface ProviderSide {
  writeRequest(request: IrRequest, target: Target, dropped: DroppedFields): JsonObject;
  /** Throws `upstream_error` when the body makes no sense, or is an error in disguise. */
  readResponse(body: JsonObject): IrResponse;
  createStreamReader(emit: (event: IrEvent) => void): StreamReader;
}

/** What the client's side needs to know to word its answer. */
export interface ClientCall {
  readonly source: Source;
  /** `newId` of base/id.ts; a test gives its own, so that its expectations are stable. */
  readonly mint: (prefix: string) => string;
}

/** Reads a provider's stream; what a frame tells is emitted with it. */
export interface StreamReader {
  /** Throws a GatewayError when the provider reports a failure or sends nonsense. */
  push(frame: SseFrame): void;
  /** The body has ended. Throws `upstream_error` when a proper end was still missing. */
  end(): void;
  /** True once the provider's proper end has been read. */
  readonly ended: boolean;
  /**
   * Of a frame that told one delta and nothing else: its text, if one with another text in its place, coming
   * next, would tell that text and nothing else; null when it might not. See shortcut.ts.
   */
  plainText(data: JsonObject): string | null;
}

/** Writes a client's stream; what an event allows leaves with it, except for the frames that end the stream. */
export interface StreamWriter {
  write(event: IrEvent): string;
  /** How a delta of that block is written as long as nothing else is; null when that cannot be said. See shortcut.ts. */
  stencil(index: number): Stencil | null;
  /** Deltas of that block have been written by its stencil; this was their text. */
  passed(index: number, text: string): void;
  /** The frames that end the stream properly; asked for once, after `finish`. */
  terminal(): string;
  /** The in-band failure; it may come at any point, even before anything was written. */
  failure(error: GatewayError, requestId: string): string;
  /** May stand between any two writes. */
  heartbeat(): string;
}
