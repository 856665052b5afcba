import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import type { ReaderOptions } from "../../contract/provider-dialect.ts";
import { hasQuirk } from "../../contract/quirks.ts";
import { cutShort, failedResponse, reportedFailure, unexplainedFailure } from "../../errors/failure.ts";
import { BlockEmitter, type OpenBlock, unsaidFinish, usageEvent } from "../../ir/blocks.ts";
import type { IrCitation, IrFinish, ReasoningSignature } from "../../ir/ir.ts";
import { firstObjectOf, stringOf } from "../../json/json-fields.ts";
import { streamedText, writtenText } from "../../provider-response/produced.ts";
import { StreamReader } from "../../provider-response/stream-reader.ts";
import { isFailedFinish, readFinish } from "../finish.ts";
import {
  callsOf,
  chatSignature,
  citationsOf,
  contentOf,
  detailsIn,
  encryptedChars,
  isFailure,
  issuedIds,
  reasoningOf,
  tierIn,
} from "./delta-in.ts";
import { CallAssembler } from "./stream-calls.ts";
import { type SplitText, ThinkTagSplitter } from "./think-tags.ts";
import { type ChoiceUsages, readExtras, reportsUsage, usageIn, usageReader } from "./usage-in.ts";

type TextKind = "reasoning" | "text" | "refusal";

/**
 * Reads chunks of chat, and of completions. Streams end with `[DONE]`; usage is in a separate chunk before it, or in
 * the last one. The response is the first choice. At most one of reasoning, text and refusal is open at a time. Calls
 * stay open until the end, because providers interleave their fragments and nothing marks a call as complete.
 */
export class ChatStreamReader extends StreamReader {
  /** Some servers omit it. */
  override readonly missingEnd = "data: [DONE]\n\n";
  protected override readonly eventName = "a chat chunk";
  readonly #calls: CallAssembler;
  readonly #thinkTags = new ThinkTagSplitter();
  readonly #blocks = new BlockEmitter(this.emit);
  #open: OpenBlock | null = null;
  #begun = false;
  /** Null unless the provider wants its reasoning back in this form. */
  #details: JsonObject[] | null;
  /** Citations of the open text or the next one, by their JSON: some providers repeat in every chunk what is cited so far. */
  readonly #citations = new Map<string, IrCitation>();
  #tier: string | null = null;
  #finish: IrFinish | null = null;
  /** The indexes of all choices, and of the finished ones. */
  readonly #choices = new Set<Json | undefined>();
  readonly #finishedChoices = new Set<Json | undefined>();
  readonly #choiceUsages: ChoiceUsages = new Map();
  #issued: readonly string[] = [];

  constructor({ target }: ReaderOptions) {
    super(target !== null);
    this.#details = target !== null && hasQuirk(target, "reasoning_details") ? [] : null;
    this.#calls = new CallAssembler(this.#blocks, target);
  }

  protected readEvent(chunk: JsonObject, name: string): void {
    if (isFailure(chunk) || name === "error") {
      this.emit({ type: "failure", failure: reportedFailure(chunk, usageReader) });
      return;
    }
    if (!this.#begun) this.emit({ type: "start", usage: null });
    this.#begun = true;
    this.#recordIds(chunk);
    this.#readChoices(chunk);
    if (this.#hasAllFinished) this.emit({ type: "text_end", isLast: true });
    this.#readFigures(chunk);
    if (this.isTranslated) this.#readAnswer(chunk);
  }

  protected override readDone(): void {
    if (this.isTranslated && this.#finish === null) {
      if (this.#blocks.count === 0) throw cutShort();
      // Some servers end properly without saying why.
      this.#end(unsaidFinish);
    }
    this.emit({ type: "end" });
  }

  protected readEnd(): void {
    if (!this.#hasAllFinished) throw cutShort();
    this.emit({ type: "end" });
  }

  get #hasAllFinished(): boolean {
    return this.#choices.size > 0 && this.#choices.size === this.#finishedChoices.size;
  }

  /** Completions have no deltas, but texts, and some servers send a message whole. Others repeat in it what the deltas had. */
  #readChoices(chunk: JsonObject): void {
    const { choices } = chunk;
    if (!Array.isArray(choices)) {
      this.emitWritten(streamedText(chunk), 0);
      return;
    }
    let text = "";
    let encrypted = 0;
    for (const choice of choices) {
      if (!isObject(choice)) continue;
      this.#noteFinish(choice);
      const { delta, message } = choice;
      text += writtenText(delta ?? message) + (stringOf(choice["text"]) ?? "");
      if (isObject(delta)) encrypted += encryptedChars(delta);
    }
    this.emitWritten(text, encrypted);
  }

  /** Some servers send an empty reason in every chunk. */
  #noteFinish({ index = 0, finish_reason: reason }: JsonObject): void {
    this.#choices.add(index);
    if (typeof reason === "string" && reason !== "") this.#finishedChoices.add(index);
  }

  /** A spoken response has many chunks, and each may contain its id. */
  #recordIds(chunk: JsonObject): void {
    const ids = issuedIds(chunk);
    if (ids.length === 0) return;
    this.#issued = [...new Set([...this.#issued, ...ids])];
    this.emit({ type: "issued", ids: this.#issued });
  }

  #readAnswer(chunk: JsonObject): void {
    const choice = firstObjectOf(chunk["choices"]);
    if (choice === null) return;
    const { delta, finish_reason: reason } = choice;
    if (isObject(delta) && this.#finish === null) this.#readDelta(delta);
    if (isFailedFinish(reason))
      throw failedResponse(unexplainedFailure(), usageReader.usageIn(chunk), readExtras(chunk));
    const finish = readFinish(reason);
    if (finish !== null && this.#finish === null) this.#end(finish);
  }

  #readFigures(chunk: JsonObject): void {
    const tier = tierIn(chunk);
    if (tier !== null && tier !== this.#tier) this.emit({ type: "service_tier", tier });
    this.#tier = tier ?? this.#tier;
    if (!reportsUsage(chunk)) return;
    this.emit({ type: "extras", extras: readExtras(chunk) });
    const usage = usageIn(chunk, this.#choiceUsages);
    if (usage !== null)
      this.emit({ ...usageEvent(usage, this.#hasAllFinished), isAlone: this.#holdsNothingElse(chunk) });
  }

  /** OpenAI's chunk of usage has no choice, and LiteLLM's an empty one after all have finished. */
  #holdsNothingElse({ choices }: JsonObject): boolean {
    if (!Array.isArray(choices)) return false;
    return choices.length === 0 || (this.#hasAllFinished && choices.every(isEmptyChoice));
  }

  #readDelta(delta: JsonObject): void {
    const details = this.#details === null ? [] : detailsIn(delta);
    this.#details?.push(...details);
    if (details.length > 0) this.#openBlock("reasoning");
    this.#text("reasoning", reasoningOf(delta));
    this.#content(this.#thinkTags.push(contentOf(delta)));
    if (Array.isArray(delta["annotations"])) this.#cite(delta);
    this.#text("refusal", stringOf(delta["refusal"]) ?? "");
    for (const fragment of callsOf(delta)) {
      this.#content(this.#thinkTags.end());
      this.#close();
      this.#calls.push(fragment);
    }
  }

  #content({ reasoning, text }: SplitText): void {
    this.#text("reasoning", reasoning);
    this.#text("text", text);
  }

  #text(kind: TextKind, text: string): void {
    if (text !== "") this.#blocks.append(this.#openBlock(kind), text);
  }

  #openBlock(kind: TextKind): OpenBlock {
    if (this.#open?.head.type === kind) return this.#open;
    this.#close();
    this.#open = this.#blocks.begin({ type: kind });
    return this.#open;
  }

  #cite(delta: JsonObject): void {
    for (const citation of citationsOf(delta, this.#thinkTags.foundTag)) {
      this.#citations.set(JSON.stringify(citation), citation);
    }
  }

  #close(): void {
    if (this.#open === null) return;
    const { type } = this.#open.head;
    const signature = type === "reasoning" ? this.#takeSignature() : null;
    this.#blocks.end(this.#open, signature, type === "text" ? this.#takeCitations() : []);
    this.#open = null;
  }

  #takeCitations(): IrCitation[] {
    const citations = [...this.#citations.values()];
    this.#citations.clear();
    return citations;
  }

  #takeSignature(): ReasoningSignature {
    const signature = chatSignature(this.#details ?? []);
    if (this.#details !== null) this.#details = [];
    return signature;
  }

  #end(finish: IrFinish): void {
    this.#content(this.#thinkTags.end());
    this.#close();
    this.#calls.end();
    this.#finish = finish;
    this.emit({ type: "finish", finish });
  }
}

function isEmptyChoice(choice: Json): boolean {
  if (!isObject(choice) || !isObject(choice["delta"])) return false;
  const { finish_reason: reason = null, delta } = choice;
  return reason === null && Object.values(delta).every((value) => value === null || value === "");
}
