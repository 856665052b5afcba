import type { JsonObject } from "../base/json.ts";
import type { IrEvent, IrRequest, IrResponse } from "./ir/ir.ts";
import type { SseFrame } from "./sse/frame.ts";
import type { StreamScanner } from "./sse/stream-scanner.ts";
import type { DroppedFields } from "./translation/dropped-fields.ts";

/**
 * The gateway as a client of a wire format. Writers throw an `invalid_request` GatewayError for what their
 * dialect cannot express, unless it does no harm when missing: then it is dropped and reported.
 *
 * Before `writeRequest` the request has been adapted to the target (see adapt-request.ts): tool names and ids
 * are legal there, tools are ones that the target can have, calls and results are paired.
 */
export interface ProviderDialect {
  readonly name: string;
  readonly toolRules: ToolRules;
  writeRequest(request: IrRequest, target: Target, dropped: DroppedFields): JsonObject;
  /** Throws `upstream_error` when the body makes no sense, or is an error in disguise. */
  readResponse(body: JsonObject): IrResponse;
  /** For a stream that passes through. */
  createScanner(options: ScannerOptions): StreamScanner;
  createStreamReader(emit: (event: IrEvent) => void): StreamReader;
}

/** What a dialect demands of tools, calls and their results. */
export interface ToolRules {
  /** Tools may take free text, and a choice may be limited to some of the tools. */
  readonly takesFreeform: boolean;
  /** A tool that the history mentions needs a definition, also when the client offers none. */
  readonly definesMentioned: boolean;
  /** The same id always becomes the same, so that a result still finds its call. */
  callId(id: string, target: Target): string;
  /** Whether a JSON schema for the answer has to be forced through a tool. */
  forcesFormat(target: Target): boolean;
}

/** What the translation must know of the model behind a deployment. */
export interface Target {
  readonly dialect: ProviderDialect;
  readonly upstreamModel: string;
  /** The vendor refuses what it does not know, as those who define a dialect do and imitators do not. */
  readonly isStrict: boolean;
  readonly maxOutputTokens: number | null;
  readonly maxTokensField: "max_tokens" | "max_completion_tokens";
  readonly streamUsage: boolean;
  readonly capabilities: Readonly<Record<string, unknown>>;
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

export interface ScannerOptions {
  /** The client did not ask for the usage chunk that the gateway asked the provider for. */
  readonly hideUsage: boolean;
  /** The request asks for more than text, hosted tools or audio, whose events have to be read. */
  readonly readsExtras: boolean;
}
