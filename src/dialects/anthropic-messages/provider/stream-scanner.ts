import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import type { ReportedExtras } from "../../../base/usage/usage.ts";
import { objectOf } from "../../json/json-fields.ts";
import { writtenText } from "../../produced.ts";
import type { ScannerOptions } from "../../provider-dialect.ts";
import { type EventAction, type ScanPosition, StreamScanner } from "../../sse/stream-scanner.ts";
import { CallCounter } from "../../usage/extra-usage.ts";
import { readFinish } from "../finish.ts";
import { issuedIdsOfEvent } from "./issued-ids.ts";
import { StreamUsage } from "./stream-usage.ts";
import { countBlock, extrasOf, sealedChars } from "./usage-in.ts";

/** Messages streams end with `message_stop`. */
export class MessagesScanner extends StreamScanner {
  readonly #usage = new StreamUsage();
  readonly #isStored: boolean;
  readonly #calls = new CallCounter();
  #hasStopped = false;
  #hasBegun = false;

  constructor({ isStored = false }: ScannerOptions) {
    super();
    this.#isStored = isStored;
  }

  /** Some servers report figures before the last `message_delta`, which says why the answer has stopped. */
  protected get hasFinished(): boolean {
    return this.held !== null || this.#hasStopped;
  }

  override get position(): ScanPosition {
    return { ...super.position, hasBegun: this.#hasBegun };
  }

  get extras(): ReportedExtras | null {
    return extrasOf(this.#usage.figures, this.#calls);
  }

  protected actionFor(event: JsonObject | null): EventAction {
    switch (event?.["type"]) {
      case "message_stop":
        return "hold";
      case "error":
        this.failure = this.#usage.failure(event);
        return "stop";
      case "content_block_start":
        this.#recordIds(event);
        if (isObject(event["content_block"])) countBlock(event["content_block"], this.#calls);
        return "forward";
      case "message_start":
        this.#hasBegun = true;
        this.#recordIds(event);
        this.partialUsage = this.#usage.begin(objectOf(event["message"])?.["usage"]) ?? this.partialUsage;
        return "forward";
      case "message_delta":
        this.#recordIds(event);
        this.#readDelta(event);
        return "forward";
      default:
        return "forward";
    }
  }

  #readDelta(event: JsonObject): void {
    if (readFinish(objectOf(event["delta"]) ?? {}) !== null) this.#hasStopped = true;
    const usage = this.#usage.update(event["usage"]);
    if (usage !== null) this.takeFigures(usage);
  }

  #recordIds(event: JsonObject): void {
    const ids = issuedIdsOfEvent(event, this.#isStored);
    if (ids.length > 0) this.issued = [...this.issued, ...ids];
  }

  protected producedBy(event: JsonObject): string | null {
    if (event["type"] === "content_block_start") return startText(event["content_block"]);
    // Some servers have content here, or all of it.
    if (event["type"] === "message_start") return writtenText(objectOf(event["message"])?.["content"]);
    const delta = event["delta"];
    if (event["type"] !== "content_block_delta" || !isObject(delta)) return null;
    const output = delta["text"] ?? delta["thinking"] ?? delta["partial_json"] ?? delta["content"];
    return typeof output === "string" ? output : null;
  }

  protected sealedIn({ content_block: block, delta }: JsonObject): number {
    return sealedChars(block) + sealedChars(delta);
  }

  protected endsText(event: JsonObject): boolean {
    return event["type"] === "content_block_stop" || this.#hasStopped;
  }
}

/** Anthropic's blocks begin with no more than a name. The results of its tools are not the model's text. */
function startText(block: Json | undefined): string {
  if (!isObject(block)) return "";
  const { type, name, text, thinking, content } = block;
  const output = name ?? text ?? thinking ?? (type === "compaction" ? content : null);
  return typeof output === "string" ? output : "";
}
