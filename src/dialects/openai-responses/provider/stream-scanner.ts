import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import { nothingReported, type ReportedExtras } from "../../../base/usage/usage.ts";
import { reportedBy, reportedFailure } from "../../errors/failure.ts";
import { listOf } from "../../json/json-fields.ts";
import type { ScannerOptions } from "../../provider-dialect.ts";
import { type EventAction, type ScanPosition, StreamScanner } from "../../sse/stream-scanner.ts";
import { CallCounter, reportedTogether } from "../../usage/extra-usage.ts";
import { type EndedIds, endedIds } from "../client/turn-items.ts";
import { SealedItems } from "./event-in.ts";
import { issuedIds } from "./issued-ids.ts";
import { ItemTexts } from "./item-texts.ts";
import { countItem, figures, readExtras, readUsage } from "./usage-in.ts";

/** Responses streams end with one of three events that contain the whole response, usage included. */
export class ResponsesScanner extends StreamScanner {
  /** Usage is reported only at the end. */
  protected readonly hasFinished = true;
  readonly #calls = new CallCounter();
  /** The indexes of calls that were counted by a partial image, and have not ended. */
  readonly #drawings = new Set<Json | undefined>();
  #final: ReportedExtras | null = null;
  #sequence = 0;
  #responseId: string | null = null;
  readonly #texts = new ItemTexts();
  /** The items of a response that has ended without figures. */
  #output: readonly Json[] = [];
  readonly #sealed = new SealedItems();
  readonly #isStored: boolean;

  constructor({ isStored = true }: Pick<ScannerOptions, "isStored"> = {}) {
    super();
    this.#isStored = isStored;
  }

  /** The last event has all extras, but for the calls if it has no items; before it, only the calls so far are known. */
  get extras(): ReportedExtras | null {
    if (this.#final === null && this.#calls.isEmpty) return null;
    return reportedTogether(this.#calls.report(), this.#final ?? nothingReported);
  }

  /** The SDK's validator requires a failure to continue the stream's numbers and to have the response's id. */
  override get position(): ScanPosition {
    return { ...super.position, sequenceNumber: this.#sequence, responseId: this.#responseId };
  }

  protected actionFor(event: JsonObject | null): EventAction {
    switch (event?.["type"]) {
      case "response.failed":
        this.failure = reportedFailure(isObject(event["response"]) ? event["response"] : event, figures);
        this.#readResponse(event);
        return "stop";
      case "response.completed":
      case "response.incomplete":
        this.#readResponse(event);
        if (isObject(event["response"])) this.endedIds = idsOfWhole(event["response"]);
        return "hold";
      case "response.image_generation_call.partial_image":
        this.#countDrawing(event);
        return "forward";
      case "response.output_item.done":
        if (isObject(event["item"]) && !this.#drawings.delete(event["output_index"]))
          countItem(event["item"], this.#calls);
        // A call is charged, whether or not text follows it.
        if (!this.#calls.isEmpty) this.started = true;
        return "forward";
      case "response.created":
        if (isObject(event["response"])) this.issued = issuedIds(event["response"], this.#isStored);
        return "forward";
      case "error":
        this.failure = reportedFailure(event, figures);
        return "stop";
      default:
        return "forward";
    }
  }

  /** A partial image differs little from the result, so the call counts from the first of them on. */
  #countDrawing({ output_index: index }: JsonObject): void {
    this.started = true;
    if (this.#drawings.has(index)) return;
    this.#drawings.add(index);
    this.#calls.add("image_generation");
  }

  #readResponse(event: JsonObject): void {
    const response = event["response"];
    if (!isObject(response)) return;
    this.issued = issuedIds(response, this.#isStored);
    this.#final = readExtras(response);
    const usage = this.failure === null ? readUsage(response["usage"]) : reportedBy(this.failure);
    if (usage === null) this.#output = listOf(response["output"]);
    else this.takeFigures(usage);
  }

  protected producedBy(event: JsonObject): string | null {
    const type = event["type"];
    if (typeof type !== "string") return null;
    if (typeof event["sequence_number"] === "number") this.#sequence = event["sequence_number"] + 1;
    if (type === "response.created" && isObject(event["response"])) {
      const id = event["response"]["id"];
      if (typeof id === "string") this.#responseId = id;
    }
    if (type.endsWith(".delta")) return this.#deltaText(event);
    if (type === "response.output_item.done") return this.#texts.of(event).addItem("item", event["item"]);
    if (type.endsWith(".done")) return this.#wholeText(event);
    return type === "response.output_item.added"
      ? this.#texts.of(event).addItem("added", event["item"])
      : null;
  }

  protected sealedIn(event: JsonObject): number {
    return this.#sealed.charsIn(event);
  }

  protected endsText({ type }: JsonObject): boolean {
    return typeof type === "string" && type.endsWith(".done");
  }

  override takeProduced(): string {
    const text = super.takeProduced();
    const missing = this.#output.map((item, index) => this.#texts.at(index, item).addItem("response", item));
    this.#output = [];
    return text + missing.join("");
  }

  #deltaText(event: JsonObject): string | null {
    const { delta } = event;
    return typeof delta === "string" ? this.#texts.of(event).add("delta", delta) : null;
  }

  /** Some servers send texts without deltas. */
  #wholeText(event: JsonObject): string {
    const { text, refusal, arguments: args, input, code, command, diff, transcript } = event;
    const whole = text ?? refusal ?? args ?? input ?? code ?? command ?? diff ?? transcript;
    return typeof whole === "string" ? this.#texts.of(event).add("whole", whole) : "";
  }
}

/** Null if the response may lack items that came before it in the stream. */
function idsOfWhole(response: JsonObject): EndedIds | null {
  return listOf(response["output"]).length === 0 ? null : endedIds(response);
}
