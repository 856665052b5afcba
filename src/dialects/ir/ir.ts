import type { JsonObject } from "../../base/json.ts";
import type { ReportedUsage } from "../../base/usage/usage.ts";
import type { IrWebSearch } from "./web-search.ts";

/**
 * The intermediate form: a conversation, a response and a stream independent of any wire format. It is modelled on
 * Messages, the dialect with the finest blocks: a turn is an ordered list of blocks, and tool results are blocks of a
 * user turn. A concept that the dialects name differently has one name here.
 */

// ——— Content ———

/** Marks the end of a prefix to cache, in the form of Messages (`{"type":"ephemeral"}`). */
export type CacheControl = JsonObject;

export interface IrText {
  readonly type: "text";
  readonly text: string;
  /** Only in a response, and only if there are any. */
  readonly citations?: readonly IrCitation[];
  readonly cache?: CacheControl;
}

/** A web page that the model cites. */
export interface IrCitation {
  readonly url: string;
  readonly title: string | null;
  /** The quoted text; OpenAI's dialects do not quote pages. */
  readonly citedText: string | null;
  /** The part of the block's text that the page supports; null for all of it, as in Messages. */
  readonly span: IrSpan | null;
}

export interface IrSpan {
  readonly start: number;
  readonly end: number;
}

export interface IrImage {
  readonly type: "image";
  readonly source: IrBytes | IrUrl;
  /** OpenAI's `low`, `high`, `auto`; Messages does not have this field. */
  readonly detail?: string;
  /** Its path in the client's body, for errors. */
  readonly path?: string;
  readonly cache?: CacheControl;
}

export interface IrDocument {
  readonly type: "document";
  readonly source: IrBytes | IrUrl | IrPlainText | IrParts;
  /** The title in Messages, the file name in OpenAI's dialects. */
  readonly title?: string;
  readonly context?: string;
  /** Its path in the client's body, for errors. */
  readonly path?: string;
  readonly cache?: CacheControl;
}

export interface IrSearchResult {
  readonly type: "search_result";
  readonly title: string;
  readonly source: string;
  readonly content: readonly IrText[];
  readonly cache?: CacheControl;
}

export interface IrBytes {
  readonly kind: "base64";
  readonly mediaType: string;
  readonly data: string;
}

export interface IrUrl {
  readonly kind: "url";
  readonly url: string;
}

interface IrPlainText {
  readonly kind: "text";
  readonly text: string;
}

interface IrParts {
  readonly kind: "parts";
  readonly parts: readonly IrContent[];
}

/** Content of a user turn or a tool result. */
export type IrContent = IrText | IrImage | IrDocument | IrSearchResult;

/** The model's explanation why it declines to respond. */
export interface IrRefusal {
  readonly type: "refusal";
  readonly text: string;
}

/**
 * How a provider recognizes its own reasoning when it is replayed. It may only be sent to the provider that issued it:
 * Anthropic rejects foreign signatures, OpenAI foreign ciphertexts. Clients of other dialects get it in an envelope
 * (reasoning-envelope.ts), which they return unchanged.
 */
export type ReasoningSignature =
  | { readonly maker: "anthropic"; readonly signature: string }
  /** Reasoning that Anthropic does not show at all. */
  | { readonly maker: "anthropic-redacted"; readonly data: string }
  /** `raw`: the text was in the item's `content` (open models), not in its `summary`. */
  | {
      readonly maker: "openai";
      readonly id: string | null;
      readonly encryptedContent: string | null;
      readonly raw: boolean;
    }
  /** A chat provider's `reasoning_content`: it has no signature, but the provider expects the text back. */
  | {
      readonly maker: "chat";
      /** OpenRouter's `reasoning_details`, which it expects back unchanged. */
      readonly details?: JsonObject[];
    }
  | GoogleSignature;

/**
 * Gemini signs calls, not thoughts: the reasoning directly before a call carries the call's signature. Null for thoughts
 * without one. Google rejects a signature from a different model or account, so `origin` says where it is valid.
 */
export interface GoogleSignature {
  readonly maker: "google";
  readonly signature: string | null;
  /** Null if unknown. */
  readonly origin: string | null;
}

export interface IrReasoning {
  readonly type: "reasoning";
  /** One part, except for a Responses summary in several. Empty when the text is withheld. */
  readonly parts: readonly string[];
  readonly signature: ReasoningSignature | null;
}

/**
 * `function`: the input is JSON. `custom`: the input is free text (Responses and Chat). `tool_search`: Codex' tool
 * search, which the client runs; an ordinary function for other dialects.
 */
export type ToolKind = "function" | "custom" | "tool_search";

/** A tool as the client knows it. Only Codex uses namespaces; null otherwise. */
export interface ToolRef {
  readonly namespace: string | null;
  readonly name: string;
}

export interface IrToolCall extends ToolRef {
  readonly type: "tool_call";
  /** Empty if the provider gave none; one is then generated for the client. */
  readonly id: string;
  readonly kind: ToolKind;
  /** JSON text for a function, exactly as the model wrote it where the dialect allows; else free text. */
  readonly input: string;
  readonly cache?: CacheControl;
}

export interface IrToolResult {
  readonly type: "tool_result";
  /** The id of the call. */
  readonly id: string;
  readonly kind: ToolKind;
  readonly content: readonly IrContent[];
  readonly isError: boolean;
  readonly cache?: CacheControl;
}

export type IrUserBlock = IrContent | IrToolResult;
export type IrAssistantBlock = IrText | IrRefusal | IrReasoning | IrToolCall;

export type IrMessage =
  /** An instruction in the middle of the conversation. It keeps its position, so that prompt caches hit. */
  | { readonly role: "system"; readonly blocks: readonly IrText[] }
  | { readonly role: "user"; readonly blocks: readonly IrUserBlock[]; readonly name?: string }
  | { readonly role: "assistant"; readonly blocks: readonly IrAssistantBlock[]; readonly name?: string };

// ——— Request ———

export interface IrFunctionTool extends ToolRef {
  readonly type: "function";
  /** `tool_search` if its calls must be returned to the client in Codex' own form. */
  readonly kind: "function" | "tool_search";
  readonly description: string | null;
  /** Null if the client gave none. Never changed, except to a legal empty object. */
  readonly schema: JsonObject | null;
  /** Null if the client did not set it. */
  readonly strict: boolean | null;
  readonly cache?: CacheControl;
}

export interface IrCustomTool extends ToolRef {
  readonly type: "custom";
  readonly description: string | null;
  /** `{"type":"text"}` or a grammar with `syntax` and `definition`, in the form of Responses. */
  readonly format: JsonObject | null;
}

/** A tool that the provider runs. Only its own dialect can express it, unless it searches the web. */
export interface IrHostedTool {
  readonly type: "hosted";
  /** The wire's `type`, such as `web_search` or `web_search_20250305`. */
  readonly name: string;
  /** Its path in the client's body, such as `tools[2]`; or the field that turns it on, such as `web_search_options`. */
  readonly path: string;
  /** Its name in `x-sluice-dropped`. */
  readonly shownAs: string;
  /** Set for a web search. */
  readonly search?: IrWebSearch;
}

export type IrTool = IrFunctionTool | IrCustomTool | IrHostedTool;

export type IrToolChoice =
  | { readonly type: "auto" | "required" | "none" }
  | ({ readonly type: "tool" } & ToolRef)
  | { readonly type: "hosted"; readonly name: string }
  /** Allows only some of the tools, without removing the others from the prompt. */
  | { readonly type: "allowed"; readonly mode: "auto" | "required"; readonly tools: readonly ToolRef[] };

export const efforts = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;
export type Effort = (typeof efforts)[number];

export interface IrReasoningSettings {
  readonly effort: Effort | null;
  /** Messages' `thinking.type`; null if the client did not set it. */
  readonly thinking: "adaptive" | "enabled" | "disabled" | null;
  readonly budgetTokens: number | null;
  /** Whether the client wants to see reasoning (as a summary); null if the request does not set this. */
  readonly visible: boolean | null;
  /** Responses' `reasoning.summary`: auto, concise, detailed. */
  readonly summary: string | null;
}

export type IrFormat =
  | {
      readonly type: "json_schema";
      readonly name: string | null;
      readonly description: string | null;
      readonly schema: JsonObject;
      readonly strict: boolean | null;
    }
  | { readonly type: "json_object" };

interface IrSampling {
  readonly temperature: number | null;
  readonly topP: number | null;
  readonly topK: number | null;
}

export interface IrIdentity {
  /** Messages' `metadata.user_id`, OpenAI's `user`. Not truncated here: a writer hashes what is too long. */
  readonly user: string | null;
  readonly safetyIdentifier: string | null;
  readonly promptCacheKey: string | null;
}

export interface IrRequest {
  readonly stream: boolean;
  /** Instructions before the conversation, block by block. */
  readonly system: readonly IrText[];
  readonly messages: readonly IrMessage[];
  readonly tools: readonly IrTool[];
  readonly toolChoice: IrToolChoice | null;
  readonly parallelToolCalls: boolean | null;
  readonly reasoning: IrReasoningSettings | null;
  readonly format: IrFormat | null;
  readonly maxOutputTokens: number | null;
  readonly stop: readonly string[];
  readonly sampling: IrSampling;
  readonly identity: IrIdentity;
  /** By OpenAI's names: auto, default, flex, priority. */
  readonly serviceTier: string | null;
  readonly verbosity: string | null;
  readonly store: boolean | null;
  /** OpenAI's map of labels; Messages' `metadata` holds an identity instead. */
  readonly metadata: JsonObject | null;
}

// ——— Response ———

export type FinishReason =
  | "stop"
  | "stop_sequence"
  | "tool_calls"
  | "length"
  | "context_window"
  | "refusal"
  /** The provider paused while running its own tools; the client continues by sending the conversation again. */
  | "pause";

export interface IrFinish {
  readonly reason: FinishReason;
  /** Only if the provider reported which sequence matched. */
  readonly stopSequence: string | null;
  /** Why it was refused, if the provider reports it. */
  readonly explanation: string | null;
}

export interface IrResponse {
  readonly blocks: readonly IrAssistantBlock[];
  readonly finish: IrFinish;
  /** Null if the provider reported none. */
  readonly usage: ReportedUsage | null;
  /** By OpenAI's names; null if the provider did not report it. */
  readonly serviceTier: string | null;
}

// ——— Stream ———

/** The start of a block; the rest arrives as deltas. */
export type IrBlockHead =
  | { readonly type: "text" }
  | { readonly type: "refusal" }
  | { readonly type: "reasoning" }
  | ({ readonly type: "tool_call"; readonly id: string; readonly kind: ToolKind } & ToolRef);

/**
 * Blocks are numbered 0, 1, 2 in the order in which they begin, and may interleave: a reader emits what the provider
 * sends, and a writer gets them one after the other (`BlockOrder` in blocks.ts). Every block ends before `finish`.
 */
export type IrEvent =
  /** First event, once. `usage` if the provider already reports its input. */
  | { readonly type: "start"; readonly usage: ReportedUsage | null }
  | { readonly type: "block_start"; readonly index: number; readonly block: IrBlockHead }
  /** Never empty. */
  | { readonly type: "delta"; readonly index: number; readonly text: string }
  /** Starts another part of a Responses summary in a reasoning block; not sent for its first part. */
  | { readonly type: "part"; readonly index: number }
  /**
   * `signature` only for reasoning, `citations` only for text. Citations come at the end, because some providers send them
   * before the text that they support, and only then is its length known.
   */
  | {
      readonly type: "block_end";
      readonly index: number;
      readonly signature: ReasoningSignature | null;
      readonly citations?: readonly IrCitation[];
    }
  /**
   * Cumulative: each replaces the previous one. Can follow `finish`. `isAlone`: the provider's event has nothing else
   * that a client needs.
   */
  | { readonly type: "usage"; readonly usage: ReportedUsage; readonly isAlone?: boolean }
  | { readonly type: "service_tier"; readonly tier: string }
  | { readonly type: "finish"; readonly finish: IrFinish };
