import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import type { ReportedExtras } from "../../../base/usage/usage.ts";
import { FailedAnswer, reportedFailure } from "../../errors/failure.ts";
import { listOf, objectsOf, stringOf } from "../../json/json-fields.ts";
import { writtenText } from "../../produced.ts";
import type { ScannerOptions } from "../../provider-dialect.ts";
import { isDoneMark } from "../../sse/data-field.ts";
import { type EventAction, StreamScanner } from "../../sse/stream-scanner.ts";
import { isFailure, issuedIds, sealedChars } from "./delta-in.ts";
import { type ChoiceFigures, figures, readExtras, reportsUsage, usageIn } from "./usage-in.ts";

/** Chat streams end with `data: [DONE]`; usage is in a chunk of its own before it, or in the last one. */
export class ChatScanner extends StreamScanner {
  extras: ReportedExtras | null = null;
  readonly #hideUsage: boolean;
  /** The indexes of the choices, and of those that have finished. Events may be read more than once. */
  readonly #choices = new Set<Json | undefined>();
  readonly #finishedChoices = new Set<Json | undefined>();
  readonly #figuresOfChoices: ChoiceFigures = new Map();

  constructor({ hideUsage }: Pick<ScannerOptions, "hideUsage">) {
    super();
    this.#hideUsage = hideUsage;
  }

  /** Some servers report figures with every chunk, and some of them only zeros before the last one. */
  protected get hasFinished(): boolean {
    return this.held !== null || this.isComplete();
  }

  protected actionFor(chunk: JsonObject | null, data: string): EventAction {
    if (chunk === null) return isDoneMark(data) ? "hold" : "forward";
    if (isFailure(chunk)) {
      this.failure = reportedFailure(chunk, figures);
      if (this.failure instanceof FailedAnswer) this.extras = this.failure.extras;
      return "stop";
    }
    this.#recordIds(chunk);
    for (const choice of objectsOf(chunk["choices"])) this.#noteFinish(choice);
    if (!reportsUsage(chunk)) return "forward";
    const usage = usageIn(chunk, this.#figuresOfChoices);
    if (usage !== null) this.takeFigures(usage);
    this.extras = readExtras(chunk);
    return this.#hideUsage && this.#holdsNothingElse(chunk) ? "drop" : "forward";
  }

  /** OpenAI's chunk of usage has no choice, and LiteLLM's an empty one after all have finished. */
  #holdsNothingElse({ choices }: JsonObject): boolean {
    if (!Array.isArray(choices)) return false;
    return choices.length === 0 || (this.#hasAllFinished && choices.every(isEmptyChoice));
  }

  /** A spoken answer has many chunks, and each may contain its id. */
  #recordIds(chunk: JsonObject): void {
    const ids = issuedIds(chunk);
    if (ids.length > 0) this.issued = [...new Set([...this.issued, ...ids])];
  }

  /** A complete stream may lack its `[DONE]`. */
  override missingTerminal(): string | null {
    return this.isComplete() ? "data: [DONE]\n\n" : null;
  }

  /** Every choice has a finish reason. */
  override isComplete(): boolean {
    return this.#hasAllFinished;
  }

  get #hasAllFinished(): boolean {
    return this.#choices.size > 0 && this.#choices.size === this.#finishedChoices.size;
  }

  /** Completions have no deltas, but texts, and some servers send a message whole. Others repeat in it what the deltas had. */
  protected producedBy(chunk: JsonObject): string | null {
    let text = "";
    if (!Array.isArray(chunk["choices"])) return null;
    for (const choice of chunk["choices"]) {
      if (!isObject(choice)) continue;
      text += writtenText(choice["delta"] ?? choice["message"]) + (stringOf(choice["text"]) ?? "");
    }
    return text;
  }

  protected sealedIn(chunk: JsonObject): number {
    let chars = 0;
    for (const choice of listOf(chunk["choices"])) {
      const delta = isObject(choice) ? choice["delta"] : null;
      if (isObject(delta)) chars += sealedChars(delta);
    }
    return chars;
  }

  protected endsText(): boolean {
    return this.#hasAllFinished;
  }

  /** Some servers have an empty reason in every chunk. */
  #noteFinish({ index = 0, finish_reason: reason }: JsonObject): void {
    this.#choices.add(index);
    if (typeof reason === "string" && reason !== "") this.#finishedChoices.add(index);
  }
}

function isEmptyChoice(choice: Json): boolean {
  if (!isObject(choice) || !isObject(choice["delta"])) return false;
  const { finish_reason: reason = null, delta } = choice;
  return reason === null && Object.values(delta).every((value) => value === null || value === "");
}
