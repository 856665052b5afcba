import type { GatewayError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import type { Tiers } from "../../base/service-tiers.ts";
import type { ReportedUsage, Usage } from "../../base/usage.ts";
import type { SseFrame } from "../sse/frame.ts";
import type { ClientTool } from "../tools/names.ts";
import type { Shortcut } from "./shortcut.ts";

/**
 * A request translated from one dialect to another. Made once per attempt, because the target may differ.
 * Making it throws an `invalid_request` GatewayError with the field's path for what the target cannot express.
 */
export interface Translation {
  /** The body for the provider. */
  readonly body: JsonObject;
  /** Fields that were dropped because the request works without them; reported in `x-sluice-dropped`. */
  readonly dropped: readonly string[];
  /** Translates a whole response to the client's dialect. Throws `upstream_error` if it is malformed. */
  response(body: JsonObject): TranslatedResponse;
  stream(): StreamTranslator;
  /** What translating the answer needs to know of the request, as data that can be sent to another thread. */
  serializeToolMapping(): SerializedToolMapping;
  /** For a provider that streams although it was not asked to: collects its frames into one response. */
  collect(): ResponseCollector;
}

/** Tools by the names that the provider was given, and the tool that only forces a format. */
export interface SerializedToolMapping {
  readonly tools: readonly (readonly [string, ClientTool])[];
  readonly formatTool: string | null;
}

export interface ResponseCollector {
  push(frame: SseFrame): void;
  /** True once the provider's stream has ended properly. What comes after that is of no interest. */
  readonly ended: boolean;
  /** At the stream's proper end, or that of the provider's body. Throws a GatewayError if the answer is incomplete. */
  end(): TranslatedResponse;
}

export interface TranslatedResponse {
  readonly body: JsonObject;
  /** Null if the provider reported no usage; it is then counted locally. */
  readonly usage: ReportedUsage | null;
  /** All text, reasoning and tool arguments, for counting them locally. */
  readonly produced: string;
  /** The same response, with another usage for the client to see. */
  showing(usage: Usage): TranslatedResponse;
}

/**
 * Translates a stream frame by frame. `push` never returns the frames that end the client's stream: the caller settles
 * first and then takes them from `terminal`.
 */
export interface StreamTranslator {
  /** The client's frames as text, possibly "". Throws a GatewayError if the provider reports a failure or is malformed. */
  push(frame: SseFrame): string;
  /** Rewrites the following frames, up to one that does not match and is pushed. Null if every frame has to be pushed. */
  readonly shortcut: Shortcut | null;
  /** For a provider that answers with one JSON body although a stream was asked for. */
  pushWhole(body: JsonObject): string;
  /** The answer is complete, although the provider has not ended its stream. */
  readonly isComplete: boolean;
  /** At the end of the provider's body; decides whether that was a proper end (see `ended`). */
  end(): string;
  /** True once the provider's stream has ended properly. */
  readonly ended: boolean;
  /** The client is shown this usage in place of what the provider has reported. Called before `terminal`. */
  showUsage(usage: Usage): void;
  /** The frames that end the client's stream; called once, after `ended`. */
  terminal(): string;
  /** The client's in-band error; never looks like a proper end. Shows what was charged, null for nothing. */
  failure(error: GatewayError, requestId: string, charged: Usage | null): string;
  /** A heartbeat that is legal after the frames written so far. */
  heartbeat(): string;
  readonly usage: ReportedUsage | null;
  /** As far as the provider has reported them; the service tier by OpenAI's names. */
  readonly tiers: Tiers;
  /** Text produced since the last call, for counting it locally and for progress. */
  takeProduced(): string;
  /** The length of all reasoning so far that only its provider can read. It is content, too. */
  readonly sealedChars: number;
  /** Whether the last text is complete, and none has followed it: then only the end and the usage may be missing. */
  readonly hasEndedText: boolean;
  /** True once content (text, reasoning, tool call) has been written, or the provider reports output for certain. */
  readonly started: boolean;
}
