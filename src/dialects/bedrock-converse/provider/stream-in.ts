import type { GatewayError } from "../../../base/errors.ts";
import { isObject, type JsonObject } from "../../../base/json.ts";
import { nothingReported, type ReportedUsage } from "../../../base/usage/usage.ts";
import { cutShort, failedResponse, reportedFailure } from "../../errors/failure.ts";
import { BlockEmitter, functionCall, type OpenBlock, usageEvent } from "../../ir/blocks.ts";
import type { IrBlockHead, IrFinish, ReasoningSignature } from "../../ir/ir.ts";
import { numberOf, objectOf, stringOf } from "../../json/json-fields.ts";
import { StreamReader } from "../../provider-response/stream-reader.ts";
import { readFailure, readFinish, readTier, usageReader } from "./ending-in.ts";

interface ReadBlock {
  readonly block: OpenBlock;
  signature: string;
  redacted: string;
}

/**
 * Reads ConverseStream's events. Only tool calls have a start; other blocks begin with their first delta. The usage
 * comes last, after the stop, so the stream ends with its body.
 */
export class ConverseStreamReader extends StreamReader {
  /** By the provider's index. */
  readonly #open = new Map<number, ReadBlock>();
  readonly #blocks = new BlockEmitter(this.emit);
  #hasBegun = false;
  #finish: IrFinish | null = null;
  #failure: GatewayError | null = null;
  #usage: ReportedUsage | null = null;
  #extras = nothingReported;

  /** No client speaks the dialect. */
  constructor() {
    super(true);
  }

  protected readEvent(data: JsonObject, name: string): void {
    if (name === "error" || isObject(data["error"])) {
      this.emit({ type: "failure", failure: reportedFailure(data, usageReader) });
      return;
    }
    this.#begin();
    const index = numberOf(data["contentBlockIndex"]) ?? 0;
    switch (name) {
      case "contentBlockStart":
        this.#start(index, objectOf(data["start"]) ?? {});
        break;
      case "contentBlockDelta":
        this.#delta(index, objectOf(data["delta"]) ?? {});
        break;
      case "contentBlockStop":
        this.#stop(index);
        this.emit({ type: "text_end", isLast: false });
        break;
      case "messageStop":
        this.#failure = readFailure(data["stopReason"]) ?? this.#failure;
        this.#finish = readFinish(data["stopReason"]) ?? this.#finish;
        if (this.#finish !== null || this.#failure !== null) this.emit({ type: "text_end", isLast: true });
        break;
      case "metadata":
        this.#metadata(data);
        break;
    }
  }

  protected readEnd(): void {
    // Not before the end: the billed usage of a failed answer follows its stop.
    if (this.#failure !== null) throw failedResponse(this.#failure, this.#usage, this.#extras);
    if (this.#finish === null) throw cutShort();
    for (const index of this.#open.keys()) this.#stop(index);
    this.emit({ type: "finish", finish: this.#finish });
    this.emit({ type: "end" });
  }

  #begin(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    this.emit({ type: "start", usage: null });
  }

  #start(index: number, start: JsonObject): void {
    const call = objectOf(start["toolUse"]);
    if (call === null) return;
    this.emitWritten(stringOf(call["name"]) ?? "", 0);
    this.#openBlock(index, functionCall(call["toolUseId"], call["name"]));
  }

  #delta(index: number, delta: JsonObject): void {
    const reasoning = objectOf(delta["reasoningContent"]);
    const head: IrBlockHead = { type: reasoning === null ? "text" : "reasoning" };
    const input = stringOf(objectOf(delta["toolUse"])?.["input"]);
    const text = input ?? stringOf((reasoning ?? delta)["text"]) ?? "";
    // A citation, or whatever else a model may send one day, opens no block.
    const open = this.#open.get(index) ?? (isKnown(delta) ? this.#openBlock(index, head) : null);
    if (open === null) return;
    const signature = stringOf(reasoning?.["signature"]) ?? "";
    const redacted = stringOf(reasoning?.["redactedContent"]) ?? "";
    open.signature += signature;
    open.redacted += redacted;
    this.emitWritten(text, signature.length + redacted.length);
    this.#blocks.append(open.block, text);
  }

  #openBlock(index: number, head: IrBlockHead): ReadBlock {
    const open = { block: this.#blocks.begin(head), signature: "", redacted: "" };
    this.#open.set(index, open);
    return open;
  }

  #stop(index: number): void {
    const open = this.#open.get(index);
    if (open === undefined) return;
    this.#open.delete(index);
    this.#blocks.end(open.block, signatureOf(open));
  }

  #metadata(data: JsonObject): void {
    const usage = usageReader.usageIn(data);
    this.#usage = usage ?? this.#usage;
    this.#extras = usageReader.readExtras(data);
    this.emit({ type: "extras", extras: this.#extras });
    if (usage !== null) this.emit(usageEvent(usage, this.#finish !== null));
    const tier = readTier(data);
    if (tier !== null) this.emit({ type: "service_tier", tier });
  }
}

function isKnown(delta: JsonObject): boolean {
  return delta["text"] !== undefined || delta["reasoningContent"] !== undefined;
}

function signatureOf({ block, signature, redacted }: ReadBlock): ReasoningSignature | null {
  if (block.head.type !== "reasoning") return null;
  if (redacted !== "") return { maker: "anthropic-redacted", data: redacted };
  return signature === "" ? null : { maker: "anthropic", signature };
}
