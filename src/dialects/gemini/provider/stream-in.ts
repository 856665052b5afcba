import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import { nothingReported } from "../../../base/usage/usage.ts";
import type { ReaderOptions, Target } from "../../contract/provider-dialect.ts";
import { cutShort, failedResponse, malformedResponse, reportedFailure } from "../../errors/failure.ts";
import { BlockEmitter, functionCall, type OpenBlock, usageEvent } from "../../ir/blocks.ts";
import type { IrEvent } from "../../ir/ir.ts";
import { objectOf, objectsOf, stringOf } from "../../json/json-fields.ts";
import { encryptedCharsPerImage } from "../../provider-response/produced.ts";
import { readAsStream } from "../../provider-response/read-whole.ts";
import { StreamReader } from "../../provider-response/stream-reader.ts";
import { googleSignature } from "../../reasoning/google-signature.ts";
import { CallCounter } from "../../usage/extra-usage.ts";
import { isTokenCount } from "../../usage/reported-usage.ts";
import { type GeminiFinish, readBlocked, readGeminiFinish } from "./finish-in.ts";
import {
  extrasOf,
  mergeUsage,
  readUsage,
  reportsOutput,
  searchesIn,
  tierOf,
  usageReader,
} from "./usage-in.ts";

/**
 * Reads generateContent responses, each a chunk of a stream or a complete one. Text and thoughts arrive in increments,
 * a call arrives complete. The stream ends with the body: more chunks may follow the one that has the finish reason.
 */
export class GeminiStreamReader extends StreamReader {
  override readonly endsWithBody = true;
  protected override readonly eventName = "a chunk";
  readonly #target: Target | null;
  readonly #blocks = new BlockEmitter(this.emit);
  #open: OpenBlock | null = null;
  #begun = false;
  #hasThought = false;
  /** Something other than thoughts has been written. */
  #hasAnswered = false;
  readonly #usage: JsonObject = {};
  readonly #calls = new CallCounter();
  #tier: string | null = null;
  #ending: GeminiFinish | null = null;
  /** Candidates that have begun, and not ended. Only clients of Gemini's own format ask for more than one. */
  readonly #unfinished = new Set<Json>();

  constructor({ target }: ReaderOptions) {
    super(target !== null);
    this.#target = target;
  }

  protected readEvent(answer: JsonObject): void {
    if (isObject(answer["error"])) {
      this.#fail(answer);
      return;
    }
    const candidates = objectsOf(answer["candidates"]);
    const candidate = candidates.find(isFirst);
    const blocked = readBlocked(answer);
    if (candidates.length === 0 && blocked === null && !isObject(answer["usageMetadata"])) {
      throw malformedResponse("no candidate and no block reason");
    }
    mergeUsage(this.#usage, answer);
    this.#calls.atLeast("web_search", searchesIn(answer));
    if (!this.#begun) this.emit({ type: "start", usage: readUsage(this.#usage) });
    this.#begun = true;
    const written = candidates.flatMap(partsOf);
    this.emitWritten(
      written.map(writtenIn).join(""),
      written.reduce((sum, part) => sum + encryptedIn(part), 0),
    );
    const parts = candidate === undefined ? [] : partsOf(candidate);
    for (const part of parts) this.#noteKind(part);
    if (reportsOutput(answer["usageMetadata"])) this.#emitUsage();
    this.#reportTier();
    this.#reportExtras();
    this.#ending = blocked ?? (candidate === undefined ? null : readGeminiFinish(candidate)) ?? this.#ending;
    for (const each of candidates) this.#noteFinish(each);
    if (this.#ending !== null && this.#unfinished.size === 0) this.emit({ type: "text_end", isLast: true });
    if (this.isTranslated) for (const part of parts) this.#readPart(part);
  }

  protected readEnd(): void {
    if (this.#ending === null) throw cutShort();
    this.#close(null);
    const { finish, failure } = this.#ending;
    const reported = { usageMetadata: this.#usage };
    if (failure !== null)
      throw failedResponse(failure, usageReader.usageIn(reported), usageReader.readExtras(reported));
    this.emit({ type: "finish", finish });
    this.emit({ type: "end" });
  }

  /** Figures reported with the error complete the earlier ones. */
  #fail(answer: JsonObject): void {
    mergeUsage(this.#usage, answer);
    const failed = isObject(answer["usageMetadata"]) ? { ...answer, usageMetadata: this.#usage } : answer;
    this.emit({ type: "failure", failure: reportedFailure(failed, usageReader) });
  }

  /** Chunks before the last may leave the candidates out although they have some, which are then counted here. */
  #emitUsage(): void {
    const usage = readUsage(this.#usage);
    if (usage === null) return;
    const reported = this.#hasAnswered ? usage.outputTokens - usage.reasoningTokens : usage.outputTokens;
    const isLeftOut = !isTokenCount(this.#usage["candidatesTokenCount"]) && reported === 0;
    const isDoubtful = isLeftOut && (this.#hasThought || this.#hasAnswered);
    this.emit(usageEvent(isDoubtful ? { ...usage, isOutputDoubtful: true } : usage, true));
  }

  #noteKind(part: JsonObject): void {
    const { text } = part;
    if (typeof text === "string" && part["thought"] === true) this.#hasThought ||= text !== "";
    else this.#hasAnswered ||= writtenIn(part) !== "";
  }

  #readPart(part: JsonObject): void {
    const { text } = part;
    const call = objectOf(part["functionCall"]);
    if (typeof text === "string") this.#text(part["thought"] === true ? "reasoning" : "text", text);
    else if (call !== null) this.#call(call, stringOf(part["thoughtSignature"]));
    else if (isObject(part["inlineData"])) this.#text("text", noteOf(part["inlineData"]));
  }

  #text(kind: "reasoning" | "text", text: string): void {
    if (text !== "") this.#blocks.append(this.#opened(kind), text);
  }

  #opened(kind: "reasoning" | "text"): OpenBlock {
    if (this.#open?.head.type === kind) return this.#open;
    this.#close(null);
    this.#open = this.#blocks.begin({ type: kind });
    return this.#open;
  }

  /** The signature of a call belongs to the reasoning right before it, which is empty if no thoughts were shown. */
  #call(call: JsonObject, signature: string | null): void {
    const name = stringOf(call["name"]) ?? "";
    // Vertex ends a call that it has streamed with an empty one.
    if (name === "" && Object.keys(call).length === 0) return;
    if (name === "") throw malformedResponse("a function call without a name");
    if (signature !== null) this.#opened("reasoning");
    this.#close(signature);
    const block = this.#blocks.begin(functionCall(call["id"], name));
    this.#blocks.append(block, JSON.stringify(objectOf(call["args"]) ?? {}));
    this.#blocks.end(block);
  }

  #close(signature: string | null): void {
    if (this.#open === null) return;
    const isReasoning = this.#open.head.type === "reasoning";
    this.#blocks.end(
      this.#open,
      isReasoning ? this.#target && googleSignature(signature, this.#target) : null,
    );
    this.#open = null;
  }

  #noteFinish(candidate: JsonObject): void {
    const { index = 0 } = candidate;
    if (readGeminiFinish(candidate) === null) this.#unfinished.add(index);
    else this.#unfinished.delete(index);
  }

  #reportExtras(): void {
    const extras = extrasOf(this.#usage, this.#calls);
    if (extras !== nothingReported) this.emit({ type: "extras", extras });
  }

  #reportTier(): void {
    const tier = tierOf(this.#usage);
    if (tier === null || tier === this.#tier) return;
    this.#tier = tier;
    this.emit({ type: "service_tier", tier });
  }
}

function partsOf({ content }: JsonObject): readonly JsonObject[] {
  return objectsOf(objectOf(content)?.["parts"]);
}

/** A translated request asks for one candidate. Where bytes pass, all of them count. */
function isFirst({ index }: JsonObject): boolean {
  return index === undefined || index === 0;
}

/** A note in place of data, which no client dialect can carry. */
function noteOf(data: JsonObject): string {
  return `[The model returned ${stringOf(data["mimeType"]) ?? "data"}, which cannot be shown here.]`;
}

/** Text that the model wrote in a part. */
function writtenIn(part: JsonObject): string {
  const { text } = part;
  if (typeof text === "string") return text;
  const call = objectOf(part["functionCall"]);
  if (call !== null) return (stringOf(call["name"]) ?? "") + JSON.stringify(objectOf(call["args"]) ?? {});
  const code = stringOf(objectOf(part["executableCode"])?.["code"]);
  if (code !== null) return code;
  return isObject(part["inlineData"]) ? noteOf(part["inlineData"]) : "";
}

function encryptedIn({ thoughtSignature: signature, inlineData: data }: JsonObject): number {
  const isImage = stringOf(objectOf(data)?.["mimeType"])?.startsWith("image/") === true;
  return (stringOf(signature)?.length ?? 0) + (isImage ? encryptedCharsPerImage : 0);
}

/** A non-streaming response has the form of a stream's only chunk. */
export function readResponse(body: JsonObject, target: Target): readonly IrEvent[] {
  return readAsStream(new GeminiStreamReader({ target }), [["", body]]);
}
