import type { ReportedExtras } from "../base/extra-usage.ts";
import type { Json, JsonObject } from "../base/json.ts";
import type { ReportedUsage } from "../base/usage.ts";
import type { ForwardedHeaders } from "./headers.ts";
import type { IrEvent, IrRequest, IrResponse } from "./ir/ir.ts";
import type { BodyChanges } from "./json/patch.ts";
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
  /** Of the dialects that a provider speaks, the richest is used: what a poorer one cannot say would be lost. */
  readonly richness: number;
  readonly takesStopSequences: boolean;
  /** Where the API is asked below its base address, unless the vendor has other places. */
  readonly paths: DialectPaths;
  /** Of the forwarded headers those that this dialect understands, and those that it needs. */
  requestHeaders(forwarded: ForwardedHeaders): ForwardedHeaders;
  /** Where a whole answer keeps what the model has produced; a body without it is no answer. */
  readonly answerField: string;
  /** The provider's own figures in the `usage` of an answer; null when it reported neither input nor output. */
  readUsage(usage: Json | undefined): ReportedUsage | null;
  /** What a whole answer says of its service tier, its hosted tools and its audio. */
  readExtras(answer: JsonObject): ReportedExtras;
  /** A request for a few tokens, to find out whether a model answers. */
  smallRequest(question: string, target: SmallTarget): JsonObject;
  readonly toolRules: ToolRules;
  writeRequest(request: IrRequest, target: Target, dropped: DroppedFields): JsonObject;
  /** Throws `upstream_error` when the body makes no sense, or is an error in disguise. */
  readResponse(body: JsonObject): IrResponse;
  /** Null where no client speaks the dialect, so that every answer is translated. */
  readonly passthrough: Passthrough | null;
  createStreamReader(emit: (event: IrEvent) => void): StreamReader;
}

/** What is needed to let requests and answers pass through to a client of the same dialect. */
export interface Passthrough {
  /** How a stream is asked to tell its usage; null where it always does. */
  readonly usageOption: UsageOption | null;
  createScanner(options: ScannerOptions): StreamScanner;
  /** The ids in a whole answer that a later request may name. */
  givenIds(answer: JsonObject): readonly string[];
}

export interface UsageOption {
  isSet(body: JsonObject): boolean;
  readonly changes: BodyChanges;
}

export interface DialectPaths {
  readonly generate: string;
  /** Null where the dialect has no such request. */
  readonly countTokens: string | null;
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

export type SmallTarget = Pick<Target, "upstreamModel" | "maxTokensField"> & {
  readonly maxOutputTokens: number;
};

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
