import type { JsonObject } from "../../../base/json.ts";
import { cutShort, failedAnswer, reportedFailure, unexplainedFailure } from "../../errors/failure.ts";
import { BlockEmitter, type OpenBlock, unsaidFinish, usageEvent } from "../../ir/answer-parts.ts";
import type { IrCitation, IrEvent, IrFinish, ReasoningSignature } from "../../ir/ir.ts";
import { firstObjectOf, objectOf, stringOf } from "../../json/json-fields.ts";
import type { StreamReader, Target } from "../../provider-dialect.ts";
import { isDoneMark } from "../../sse/data-field.ts";
import { wholeObjectIn } from "../../sse/parse-event.ts";
import type { SseFrame } from "../../sse/sse.ts";
import { isFailedFinish, readFinish } from "../finish.ts";
import { hasQuirk } from "../quirks.ts";
import {
  callsOf,
  chatSignature,
  citationsOf,
  contentOf,
  detailsIn,
  isFailure,
  reasoningOf,
  sealedChars,
  tierIn,
} from "./delta-in.ts";
import { CallAssembler } from "./stream-calls.ts";
import { type SplitText, ThinkTagSplitter } from "./think-tags.ts";
import { figures } from "./usage-in.ts";

type TextKind = "reasoning" | "text" | "refusal";

/**
 * Reads chat chunks. At most one of reasoning, text and refusal is open at a time. Calls stay open until the end, because
 * providers interleave their fragments and nothing marks a call as complete.
 */
export class ChatStreamReader implements StreamReader {
  readonly #emit: (event: IrEvent) => void;
  readonly #calls: CallAssembler;
  readonly #thinkTags = new ThinkTagSplitter();
  readonly #blocks: BlockEmitter;
  #open: OpenBlock | null = null;
  #begun = false;
  /** Null unless the provider wants its reasoning back in this form. */
  #details: JsonObject[] | null;
  /** Citations of the open text or the next one, by their JSON: some providers repeat in every chunk what is cited so far. */
  readonly #citations = new Map<string, IrCitation>();
  #tier: string | null = null;
  #finish: IrFinish | null = null;
  sealedChars = 0;
  ended = false;

  constructor(emit: (event: IrEvent) => void, target: Target) {
    this.#emit = emit;
    this.#details = hasQuirk(target, "reasoning_details") ? [] : null;
    this.#blocks = new BlockEmitter(emit);
    this.#calls = new CallAssembler(this.#blocks, target);
  }

  push(frame: SseFrame): void {
    if (this.ended) return;
    if (isDoneMark(frame.data)) {
      this.#finishStream(true);
      return;
    }
    const chunk = wholeObjectIn(frame, "a chat chunk that is not a JSON object");
    if (isFailure(chunk) || frame.event === "error") throw reportedFailure(chunk, figures);
    if (!this.#begun) this.#emit({ type: "start", usage: null });
    this.#begun = true;
    this.#read(chunk);
  }

  end(): void {
    if (!this.ended) this.#finishStream(false);
  }

  get isComplete(): boolean {
    return this.#finish !== null;
  }

  #finishStream(isDone: boolean): void {
    // Some servers end properly without saying why.
    if (this.#finish === null && isDone && this.#blocks.count > 0) this.#end(unsaidFinish);
    if (this.#finish === null) throw cutShort();
    this.ended = true;
  }

  #read(chunk: JsonObject): void {
    const choice = firstObjectOf(chunk["choices"]);
    const delta = objectOf(choice?.["delta"]);
    if (delta !== null && this.#finish === null) this.#readDelta(delta);
    const tier = tierIn(chunk);
    if (tier !== null && tier !== this.#tier) this.#emit({ type: "service_tier", tier });
    this.#tier = tier ?? this.#tier;
    const usage = figures.usageIn(chunk);
    const finish = readFinish(choice?.["finish_reason"]);
    const hasFinished = this.#finish !== null || finish !== null;
    if (usage !== null) this.#emit(usageEvent(usage, hasFinished));
    if (isFailedFinish(choice?.["finish_reason"]))
      throw failedAnswer(unexplainedFailure(), usage, figures.readExtras(chunk));
    if (finish !== null && this.#finish === null) this.#end(finish);
  }

  #readDelta(delta: JsonObject): void {
    this.sealedChars += sealedChars(delta);
    this.#details?.push(...detailsIn(delta));
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
    if (text === "") return;
    if (this.#open?.head.type !== kind) {
      this.#close();
      this.#open = this.#blocks.begin({ type: kind });
    }
    this.#blocks.append(this.#open, text);
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
    this.#emit({ type: "finish", finish });
  }
}
