import type { GatewayError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import type { ReportedUsage } from "../../base/usage.ts";
import type { SseFrame } from "../sse/frame.ts";
import type { ClientTool } from "../tools/names.ts";
import type { Shortcut } from "./shortcut.ts";

/**
 * A request on its way from one dialect to another. Made once per attempt, since the target may differ.
 * Throws an `invalid_request` GatewayError with the field's path for what the target cannot express.
 */
export interface Translation {
  /** The body for the provider. */
  readonly body: JsonObject;
  /** Fields left out because they do no harm when missing; told in `x-sluice-dropped`. */
  readonly dropped: readonly string[];
  /** A whole provider response, in the client's dialect. Throws `upstream_error` when it makes no sense. */
  response(body: JsonObject): TranslatedResponse;
  stream(): StreamTranslator;
  /** What reading the answer needs of the request, as data that can cross between threads. */
  serializeToolMapping(): SerializedToolMapping;
  /** For a provider that streams although it was not asked to: its frames become one response. */
  collect(): ResponseCollector;
}

/** Tools by the names that the provider was given, and the one that only forces a format. */
export interface SerializedToolMapping {
  readonly tools: readonly (readonly [string, ClientTool])[];
  readonly formatTool: string | null;
}

export interface ResponseCollector {
  push(frame: SseFrame): void;
  /** The provider's body has ended. Throws a GatewayError when the answer is not complete. */
  end(): TranslatedResponse;
}

export interface TranslatedResponse {
  readonly body: JsonObject;
  /** Null when the provider told none: it is then counted here. */
  readonly usage: ReportedUsage | null;
  /** Text, reasoning and tool arguments that were produced, for a local count. */
  readonly produced: string;
}

/**
 * Incremental: what a frame allows leaves with it. The frames that end the client's stream are never part
 * of what `push` returns: the caller settles first and then takes them from `terminal`.
 */
export interface StreamTranslator {
  /** The client's bytes as text, possibly "". Throws a GatewayError when the provider's stream is broken. */
  push(frame: SseFrame): string;
  /** For the frames that follow, until one does not fit it and is pushed. Null while each has to be pushed. */
  readonly shortcut: Shortcut | null;
  /** For a provider that answers with one JSON body although a stream was asked for: all of it at once. */
  pushWhole(body: JsonObject): string;
  /** The provider's body has ended; decides whether that was a proper end (see `ended`). */
  end(): string;
  /** True once the provider's proper end has been read. */
  readonly ended: boolean;
  /** What ends the client's stream properly; asked for once, after `ended`. */
  terminal(): string;
  /** The client's in-band failure; never looks like a proper end. */
  failure(error: GatewayError, requestId: string): string;
  /** A heartbeat that may stand between the frames written so far. */
  heartbeat(): string;
  readonly usage: ReportedUsage | null;
  /** In OpenAI's words; null as long as the provider has not said. */
  readonly serviceTier: string | null;
  /** Text produced since the last call, for a local count and for progress. */
  takeProduced(): string;
  /** True once content (text, reasoning, tool call) has been written. */
  readonly started: boolean;
}
