import type { JsonObject } from "../../base/json.ts";
import type { ReportedUsage } from "../../base/usage.ts";

/**
 * The intermediate form: what a conversation, an answer and a stream mean, apart from any wire format.
 * It leans on Messages, the dialect with the finest blocks: a turn is a list of blocks in order, and the
 * results of tools are blocks of a user turn. What two dialects word differently has one word here.
 */

// ——— Content ———

/** An instruction to cache up to here, as Messages words it (`{"type":"ephemeral"}`). */
export type CacheControl = JsonObject;

export interface IrText {
  readonly type: "text";
  readonly text: string;
  readonly cache?: CacheControl;
}

export interface IrImage {
  readonly type: "image";
  readonly source: IrBytes | IrUrl;
  /** OpenAI's `low`, `high`, `auto`; Messages has no such thing. */
  readonly detail?: string;
  /** Where the client wrote it, for an error that names the place. */
  readonly path?: string;
  readonly cache?: CacheControl;
}

export interface IrDocument {
  readonly type: "document";
  readonly source: IrBytes | IrUrl | IrPlainText | IrParts;
  /** The title in Messages, the file name in OpenAI's dialects. */
  readonly title?: string;
  readonly context?: string;
  /** Where the client wrote it, for an error that names the place. */
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

/** What a user says, or a tool answers. */
export type IrContent = IrText | IrImage | IrDocument | IrSearchResult;

/** What the model declines to say, in its own words. */
export interface IrRefusal {
  readonly type: "refusal";
  readonly text: string;
}

/**
 * How the provider recognises its own reasoning when it comes back. Only its maker may ever see it again:
 * Anthropic refuses a signature that is not its own, OpenAI a ciphertext. A client of another dialect keeps
 * it inside a envelope (see envelope.ts) and returns it untouched.
 */
export type ReasoningProof =
  | { readonly maker: "anthropic"; readonly signature: string }
  /** Reasoning that Anthropic hides altogether. */
  | { readonly maker: "anthropic-redacted"; readonly data: string }
  /** `raw`: the text stood in the item's `content` (open models), not in its `summary`. */
  | {
      readonly maker: "openai";
      readonly id: string | null;
      readonly encryptedContent: string | null;
      readonly raw: boolean;
    }
  /** A chat provider's `reasoning_content`: nothing to prove, but it wants the text back. */
  | { readonly maker: "chat" };

export interface IrReasoning {
  readonly type: "reasoning";
  /** One part, except for a Responses summary in several. Empty when the text is withheld. */
  readonly parts: readonly string[];
  readonly proof: ReasoningProof | null;
}

/**
 * `function`: the input is JSON. `custom`: the input is free text (Responses and Chat). `tool_search`:
 * Codex' own look-up, executed by the client, an ordinary function to everybody else.
 */
export type ToolKind = "function" | "custom" | "tool_search";

/** A tool as the client knows it. Namespaces are Codex'; everybody else has null. */
export interface ToolRef {
  readonly namespace: string | null;
  readonly name: string;
}

export interface IrToolCall extends ToolRef {
  readonly type: "tool_call";
  /** Empty when the provider gave none; the client's side then gets one that was made here. */
  readonly id: string;
  readonly kind: ToolKind;
  /** JSON text for a function, exactly as the model wrote it where the dialect allows; else free text. */
  readonly input: string;
  readonly cache?: CacheControl;
}

export interface IrToolResult {
  readonly type: "tool_result";
  /** The id of the call that it answers. */
  readonly id: string;
  readonly kind: ToolKind;
  readonly content: readonly IrContent[];
  readonly isError: boolean;
  readonly cache?: CacheControl;
}

export type IrUserBlock = IrContent | IrToolResult;
export type IrAssistantBlock = IrText | IrRefusal | IrReasoning | IrToolCall;

export type IrMessage =
  /** An instruction in the middle of the conversation; it stays where it is, for the sake of caches. */
  | { readonly role: "system"; readonly blocks: readonly IrText[] }
  | { readonly role: "user"; readonly blocks: readonly IrUserBlock[]; readonly name?: string }
  | { readonly role: "assistant"; readonly blocks: readonly IrAssistantBlock[]; readonly name?: string };

// ——— Request ———

export interface IrFunctionTool extends ToolRef {
  readonly type: "function";
  /** `tool_search` when calls of it must come back to the client in Codex' own form. */
  readonly kind: "function" | "tool_search";
  readonly description: string | null;
  /** Null when the client gave none. Never changed on the way except to become a legal empty object. */
  readonly schema: JsonObject | null;
  /** Null when the client did not say. */
  readonly strict: boolean | null;
  readonly cache?: CacheControl;
}

export interface IrCustomTool extends ToolRef {
  readonly type: "custom";
  readonly description: string | null;
  /** `{"type":"text"}` or a grammar with `syntax` and `definition`, in the words of Responses. */
  readonly format: JsonObject | null;
}

/** A tool that the provider itself executes, such as web search; only its own dialect can express it. */
interface IrHostedTool {
  readonly type: "hosted";
  /** The client dialect that has it. */
  readonly dialect: string;
  /** The wire's `type`, such as `web_search` or `web_search_20250305`. */
  readonly name: string;
  /** Its path in the client's body, such as `tools[2]`. */
  readonly path: string;
}

export type IrTool = IrFunctionTool | IrCustomTool | IrHostedTool;

export type IrToolChoice =
  | { readonly type: "auto" | "required" | "none" }
  | ({ readonly type: "tool" } & ToolRef)
  | { readonly type: "hosted"; readonly name: string }
  /** A hard limit to some of the tools, without taking the others out of the prompt. */
  | { readonly type: "allowed"; readonly mode: "auto" | "required"; readonly tools: readonly ToolRef[] };

export const efforts = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;
export type Effort = (typeof efforts)[number];

export interface IrReasoningSettings {
  readonly effort: Effort | null;
  /** Messages' `thinking.type`; null when the client did not say. */
  readonly thinking: "adaptive" | "enabled" | "disabled" | null;
  readonly budgetTokens: number | null;
  /** Whether the client wants to see reasoning (as a summary); null when it did not say. */
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
  /** Messages' `metadata.user_id`, OpenAI's `user`. Never cut here: a writer hashes what is too long. */
  readonly user: string | null;
  readonly safetyIdentifier: string | null;
  readonly promptCacheKey: string | null;
}

export interface IrRequest {
  readonly stream: boolean;
  /** Instructions that stand before the conversation, block by block. */
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
  /** In OpenAI's words: auto, default, flex, priority. */
  readonly serviceTier: string | null;
  readonly verbosity: string | null;
  readonly store: boolean | null;
  /** OpenAI's map of labels; Messages' `metadata` is an identity instead. */
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
  /** The provider paused its own tools and wants to be asked again. */
  | "pause";

export interface IrFinish {
  readonly reason: FinishReason;
  /** Only when the provider named the sequence that matched. */
  readonly stopSequence: string | null;
  /** Why it was refused, when the provider says so. */
  readonly explanation: string | null;
}

export interface IrResponse {
  readonly blocks: readonly IrAssistantBlock[];
  readonly finish: IrFinish;
  /** Null when the provider told none. */
  readonly usage: ReportedUsage | null;
  /** In OpenAI's words; null when the provider did not say. */
  readonly serviceTier: string | null;
}

// ——— Stream ———

/** What a block is when it begins; everything else of it comes as deltas. */
export type IrBlockHead =
  | { readonly type: "text" }
  | { readonly type: "refusal" }
  | { readonly type: "reasoning" }
  | ({ readonly type: "tool_call"; readonly id: string; readonly kind: ToolKind } & ToolRef);

/**
 * Blocks are numbered 0, 1, 2 in the order of their beginnings and may interleave: a reader passes on what
 * the provider does, and a writer whose dialect wants one block at a time holds the others back. Every
 * block that begins ends, before `finish`.
 */
export type IrEvent =
  /** First, once. `usage` when the provider already tells its input. */
  | { readonly type: "start"; readonly usage: ReportedUsage | null }
  | { readonly type: "block_start"; readonly index: number; readonly block: IrBlockHead }
  /** Never empty. */
  | { readonly type: "delta"; readonly index: number; readonly text: string }
  /** A further part of a Responses summary begins in a reasoning block; never before its first. */
  | { readonly type: "part"; readonly index: number }
  /** `proof` only for reasoning. */
  | { readonly type: "block_end"; readonly index: number; readonly proof: ReasoningProof | null }
  /** Cumulative: each replaces the one before. May still come after `finish`. */
  | { readonly type: "usage"; readonly usage: ReportedUsage }
  | { readonly type: "service_tier"; readonly tier: string }
  | { readonly type: "finish"; readonly finish: IrFinish };
