import { isObject, type JsonObject } from "../../../base/json.ts";
import { cutShort, failedAnswer, malformedAnswer, reportedFailure } from "../../errors/failure.ts";
import { BlockEmitter, functionCall, type OpenBlock, usageEvent } from "../../ir/answer-parts.ts";
import { EventCollector } from "../../ir/events.ts";
import type { IrEvent, IrResponse } from "../../ir/ir.ts";
import { objectOf, objectsOf, stringOf } from "../../json/json-fields.ts";
import type { StreamReader, Target } from "../../provider-dialect.ts";
import { googleSignature } from "../../reasoning/google-signature.ts";
import { wholeObjectIn } from "../../sse/parse-event.ts";
import type { SseFrame } from "../../sse/sse.ts";
import { isTokenCount } from "../../usage/usage-figures.ts";
import { type GeminiFinish, readBlocked, readGeminiFinish } from "./finish-in.ts";
import { figures, mergeUsage, readUsage, reportsOutput, tierOf } from "./usage-in.ts";

/**
 * Reads generateContent answers, each a chunk of a stream or a whole one. Text and thoughts come in increments, a call
 * comes whole. The stream ends with the body: more may follow the chunk that has the finish reason.
 */
export class GeminiStreamReader implements StreamReader {
  readonly #emit: (event: IrEvent) => void;
  readonly #target: Target;
  readonly #blocks: BlockEmitter;
  #open: OpenBlock | null = null;
  #begun = false;
  /** Something other than thoughts has been written. */
  #hasAnswered = false;
  readonly #usage: JsonObject = {};
  #tier: string | null = null;
  #ending: GeminiFinish | null = null;
  sealedChars = 0;
  ended = false;

  constructor(emit: (event: IrEvent) => void, target: Target) {
    this.#emit = emit;
    this.#blocks = new BlockEmitter(emit);
    this.#target = target;
  }

  push(frame: SseFrame): void {
    this.read(wholeObjectIn(frame, "a chunk that is not a JSON object"));
  }

  read(answer: JsonObject): void {
    if (isObject(answer["error"])) this.#fail(answer);
    const candidate = objectsOf(answer["candidates"]).find(isFirst);
    const blocked = readBlocked(answer);
    if (candidate === undefined && blocked === null && !isObject(answer["usageMetadata"])) {
      throw malformedAnswer("neither a candidate nor a reason why there is none");
    }
    mergeUsage(this.#usage, answer);
    if (!this.#begun) this.#emit({ type: "start", usage: readUsage(this.#usage) });
    this.#begun = true;
    for (const part of objectsOf(objectOf(candidate?.["content"])?.["parts"])) this.#readPart(part);
    if (reportsOutput(answer["usageMetadata"])) this.#emitUsage();
    this.#reportTier();
    this.#ending = blocked ?? (candidate === undefined ? null : readGeminiFinish(candidate)) ?? this.#ending;
  }

  /** A reason for the end has been given. */
  get hasEndedText(): boolean {
    return this.#ending !== null;
  }

  end(): void {
    if (this.ended) return;
    if (this.#ending === null) throw cutShort();
    this.#close(null);
    const { finish, failure } = this.#ending;
    const reported = { usageMetadata: this.#usage };
    if (failure !== null)
      throw failedAnswer(failure, figures.usageIn(reported), figures.readExtras(reported));
    this.#emit({ type: "finish", finish });
    this.ended = true;
  }

  /** Figures reported with the error complete the earlier ones. */
  #fail(answer: JsonObject): never {
    mergeUsage(this.#usage, answer);
    throw reportedFailure(
      isObject(answer["usageMetadata"]) ? { ...answer, usageMetadata: this.#usage } : answer,
      figures,
    );
  }

  /** Chunks before the last may leave the candidates out although they have some, which are then counted here. */
  #emitUsage(): void {
    const usage = readUsage(this.#usage);
    if (usage === null) return;
    const reported = this.#hasAnswered ? usage.outputTokens - usage.reasoningTokens : usage.outputTokens;
    const isLeftOut = !isTokenCount(this.#usage["candidatesTokenCount"]) && reported === 0;
    const isDoubtful = isLeftOut && this.#blocks.count > 0;
    this.#emit(usageEvent(isDoubtful ? { ...usage, isOutputDoubtful: true } : usage, true));
  }

  #readPart(part: JsonObject): void {
    const { text } = part;
    this.sealedChars += stringOf(part["thoughtSignature"])?.length ?? 0;
    const call = objectOf(part["functionCall"]);
    if (typeof text === "string") this.#text(part["thought"] === true ? "reasoning" : "text", text);
    else if (call !== null) this.#call(call, stringOf(part["thoughtSignature"]));
    else if (isObject(part["inlineData"])) this.#text("text", noteOf(part["inlineData"]));
  }

  #text(kind: "reasoning" | "text", text: string): void {
    if (text !== "") this.#blocks.append(this.#opened(kind), text);
  }

  #opened(kind: "reasoning" | "text"): OpenBlock {
    if (this.#open?.head.type !== kind) {
      this.#hasAnswered ||= kind === "text";
      this.#close(null);
      this.#open = this.#blocks.begin({ type: kind });
    }
    return this.#open;
  }

  /** The signature of a call belongs to the reasoning right before it, which is empty if no thoughts were shown. */
  #call(call: JsonObject, signature: string | null): void {
    const name = stringOf(call["name"]) ?? "";
    // Vertex ends a call that it has streamed with an empty one.
    if (name === "" && Object.keys(call).length === 0) return;
    if (name === "") throw malformedAnswer("a function call without a name");
    if (signature !== null) this.#opened("reasoning");
    this.#close(signature);
    this.#hasAnswered = true;
    const block = this.#blocks.begin(functionCall(call["id"], name));
    this.#blocks.append(block, JSON.stringify(objectOf(call["args"]) ?? {}));
    this.#blocks.end(block);
  }

  #close(signature: string | null): void {
    if (this.#open === null) return;
    const isReasoning = this.#open.head.type === "reasoning";
    this.#blocks.end(this.#open, isReasoning ? googleSignature(signature, this.#target) : null);
    this.#open = null;
  }

  #reportTier(): void {
    const tier = tierOf(this.#usage);
    if (tier === null || tier === this.#tier) return;
    this.#tier = tier;
    this.#emit({ type: "service_tier", tier });
  }
}

/** More than one candidate is never asked for. */
function isFirst({ index }: JsonObject): boolean {
  return index === undefined || index === 0;
}

/** No client dialect can be given the data itself. */
function noteOf(data: JsonObject): string {
  return `[The model returned ${stringOf(data["mimeType"]) ?? "data"}, which cannot be shown here.]`;
}

/** A whole answer has the form of a stream's only chunk. */
export function readResponse(body: JsonObject, target: Target): IrResponse {
  const collector = new EventCollector();
  const reader = new GeminiStreamReader((event) => collector.push(event), target);
  reader.read(body);
  if (!reader.hasEndedText) throw malformedAnswer("an answer without a finishReason");
  reader.end();
  return collector.response();
}
