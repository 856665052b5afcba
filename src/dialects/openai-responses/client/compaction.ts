import { asBuffer } from "../../../base/bytes.ts";
import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import type { Source } from "../../contract/client-dialect.ts";
import { listOf, stringOf } from "../../json/json-fields.ts";
import { patchMembers } from "../../json/patch.ts";
import { completedAt, requestEcho, responseHead } from "./envelope-out.ts";
import { shownItem } from "./shown-item.ts";
import { Frames } from "./stream-items-out.ts";
import {
  describeItem,
  type EndedResponse,
  type NamingField,
  roleOf,
  type TurnItem,
  withInput,
} from "./turn-items.ts";

export const compactionTrigger = "compaction_trigger";

/** Whether an item replaces a conversation: the vendor's own form of it, or one that was encrypted here. */
export function isCompaction({ type }: TurnItem): boolean {
  return type === "compaction" || type === "compaction_summary";
}

const encryptedMark = "slu1.";

/** The encrypted part of a compaction that was made here; null if it was not. */
export function encryptedSummaryIn(item: TurnItem): string | null {
  if (!isCompaction(item)) return null;
  const content = stringOf(parsed(item)["encrypted_content"]);
  return content?.startsWith(encryptedMark) === true ? content.slice(encryptedMark.length) : null;
}

/** Whether a request may have such an item; spares nearly all requests a closer look. */
export function mayHaveSeal(body: Uint8Array): boolean {
  return asBuffer(body).includes(encryptedMark);
}

const summaryLine = "Earlier turns of this conversation were summarized. The summary:";

/** A summary as a part of the conversation, for any provider. */
export function summaryMessage(summary: string): TurnItem {
  return message("user", `${summaryLine}\n\n${summary}`);
}

const instruction =
  "Summarize the conversation so that another assistant can continue it from your summary alone. Keep the user's requests, decisions " +
  "and reasons, names, numbers, paths, identifiers, relevant code, tool results, open work and next steps. Do not reply to the " +
  "conversation or call tools. Output only the summary.";

/** Request fields to remove: tools and response formats, because only the summary is wanted. */
const leftOut = [
  ...["tools", "tool_choice", "parallel_tool_calls", "max_tool_calls", "text", "include", "top_logprobs"],
  ...["context_management", "truncation", "background", "moderation"],
];

/** The pieces of a request for a summary of these items. Calls of tools and what they returned become text, because no tools are offered. */
export function summaryRequest(
  body: Uint8Array,
  items: readonly TurnItem[],
  naming: NamingField,
  changes: { readonly maxOutputTokens: number; readonly stream: boolean },
): readonly Uint8Array[] {
  const kept = items.filter(({ type }) => type !== "reasoning" && type !== "additional_tools").map(asText);
  const request = patchMembers(body, {
    ...Object.fromEntries(leftOut.map((name) => [name, undefined])),
    max_output_tokens: changes.maxOutputTokens,
    stream: changes.stream,
    store: false,
  });
  return withInput(request, [...kept, message("user", instruction)], naming);
}

function asText(item: TurnItem): TurnItem {
  if (item.type === "message") return item;
  const { type, name, arguments: input, input: text, output, ...others } = parsed(item);
  if (item.type.endsWith("_output")) return message("user", `A tool returned: ${textOf(output ?? others)}`);
  return message(
    "assistant",
    `Called the tool ${textOf(name ?? type ?? null)}: ${textOf(input ?? text ?? others)}`,
  );
}

/** The text of a value: its text parts, or all of it as JSON. */
function textOf(value: Json): string {
  if (typeof value === "string") return value;
  const parts = listOf(value).map((part) => (isObject(part) ? stringOf(part["text"]) : null));
  return parts.length > 0 && parts.every((part) => part !== null) ? parts.join("\n") : JSON.stringify(value);
}

function message(role: "user" | "assistant", text: string): TurnItem {
  const type = role === "user" ? "input_text" : "output_text";
  return itemOf({ type: "message", role, content: [{ type, text }] });
}

export function itemOf(item: JsonObject): TurnItem {
  return describeItem(Buffer.from(JSON.stringify(item)));
}

function parsed({ raw }: TurnItem): JsonObject {
  return JSON.parse(Buffer.from(raw).toString());
}

/** Maximum size of the conversation that is kept next to its summary: 64,000 tokens of about four bytes. */
const maxKeptBytes = 64_000 * 4;

/** The newest messages of the user, in their order. */
export function keptMessages(items: readonly TurnItem[]): readonly TurnItem[] {
  const messages = items.filter((item) => item.type === "message" && roleOf(item) === "user");
  let bytes = 0;
  const dropped = messages.findLastIndex(({ raw }) => {
    bytes += raw.length;
    return bytes > maxKeptBytes;
  });
  return messages.slice(dropped + 1);
}

/** All text of a response; "" if it has none. */
export function summaryOf({ output }: EndedResponse): string {
  const texts = output
    .filter(({ type }) => type === "message")
    .flatMap((item) => listOf(parsed(item)["content"]))
    .map((part) => (isObject(part) && part["type"] === "output_text" ? stringOf(part["text"]) : null));
  return texts
    .filter((text) => text !== null)
    .join("\n")
    .trim();
}

export function compactionItem(id: string, encrypted: string): TurnItem {
  return itemOf({ id, type: "compaction", encrypted_content: encryptedMark + encrypted });
}

/** The parameters for writing a compaction. */
export interface CompactionContext {
  /** The request as the client sent it, and the model's id. */
  readonly source: Source;
  readonly id: string;
  readonly itemId: string;
}

/** The response of the route that only compacts. */
export function writeCompaction(
  { source, id }: CompactionContext,
  output: readonly TurnItem[],
  usage: Json,
): string {
  const created = source.nowSeconds;
  const items = output.map(shownItem);
  return JSON.stringify({ id, object: "response.compaction", created_at: created, output: items, usage });
}

/** A response whose only output is the compaction. */
export function compactedResponse(context: CompactionContext, item: TurnItem, usage: Json): JsonObject {
  return { ...envelope(context, "completed"), usage, output: [parsed(item)] };
}

/** The usage that a response reports. */
export function usageOf({ head }: EndedResponse): Json {
  const { usage = null }: JsonObject = JSON.parse(Buffer.from(head).toString());
  return usage;
}

function envelope({ source, id }: CompactionContext, status: "in_progress" | "completed"): JsonObject {
  const { nowSeconds, body, model, kept } = source;
  const clock = { wallMs: Date.now };
  const completedAtSeconds = status === "completed" ? completedAt({ source, clock }) : null;
  const head = responseHead(id, nowSeconds, { status, completedAtSeconds });
  return { ...head, output: [], ...requestEcho(body, model, kept) };
}

/** Writes the events of a response whose output is a compaction. */
export class CompactionStream {
  readonly frames = new Frames();
  readonly #context: CompactionContext;

  constructor(context: CompactionContext) {
    this.#context = context;
  }

  begin(): string {
    const { itemId } = this.#context;
    const response = envelope(this.#context, "in_progress");
    const item = { id: itemId, type: "compaction", encrypted_content: "" };
    return (
      this.#event("response.created", { response }) +
      this.#event("response.in_progress", { response }) +
      this.#event("response.output_item.added", { output_index: 0, item }) +
      this.#event("response.compaction.compacting", { output_index: 0, item_id: itemId })
    );
  }

  end(item: TurnItem, usage: Json): string {
    const response = compactedResponse(this.#context, item, usage);
    return (
      this.#event("response.output_item.done", { output_index: 0, item: parsed(item) }) +
      this.#event("response.completed", { response }) +
      "data: [DONE]\n\n"
    );
  }

  #event(type: string, fields: JsonObject): string {
    return this.frames.write(type, JSON.stringify(fields).slice(1, -1));
  }
}
