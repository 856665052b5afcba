import type { GatewayError } from "../../base/errors.ts";
import type { ReportedExtras, ReportedUsage, Tiers } from "../../base/usage/usage.ts";
import { FailedResponse, failedAfter, isBilled } from "../errors/failure.ts";
import type { IrEvent } from "../ir/ir.ts";
import { runningTotal } from "../usage/reported-usage.ts";
import { ProducedText } from "./produced.ts";
import { type EndedIds, passAnswer, type ReadEvent } from "./stream-reader.ts";

const noIds: readonly string[] = [];

/** What a reader has found in a stream so far: what it costs, and how far it is. */
export class StreamFindings {
  /** Ids of the provider's resources that a later request can refer to. */
  issued = noIds;
  /** The ids in a response that the last event contains completely, so that it can be stored unchanged. */
  endedIds: EndedIds | null = null;
  /** The highest output reported so far. */
  reportedOutput = 0;
  /** The length of all reasoning so far that only its provider can read, and of images. They are content, too. */
  encryptedChars = 0;
  /** Whether the stream has announced its response. */
  hasBegun = false;
  /** The last text is complete, and none has followed it: only the end and the usage can be missing. */
  hasEndedText = false;
  /** Whether the response is complete, although its stream may not have ended. */
  isComplete = false;
  ended = false;
  /**
   * Why the provider's stream failed, or null. The part before the failure, even in the same read, is delivered and
   * charged.
   */
  failure: GatewayError | null = null;
  readonly #produced = new ProducedText();
  #hasContent = false;
  /** Whether no content of the stream could be translated yet. */
  #isUntranslated = false;
  #reported: ReportedUsage | null = null;
  /** Whether usage was reported that includes the output up to it. */
  #hasFigures = false;
  /** Whether text followed the last reported usage, which therefore cannot include it. */
  #areFiguresOutdated = false;
  #extras: ReportedExtras | null = null;
  #tiers: Tiers | null = null;

  /** Takes what was found in one event of the provider. */
  add(events: readonly ReadEvent[]): void {
    let hasText = false;
    let hasFigures = false;
    let isContent = false;
    let endsText = false;
    for (const event of events) {
      switch (event.type) {
        case "start":
          this.hasBegun = true;
          this.#reported = event.usage ?? this.#reported;
          break;
        case "written":
          isContent ||= event.text !== "" || event.encryptedChars > 0;
          hasText ||= event.text !== "";
          this.#produced.add(event.text);
          this.encryptedChars += event.encryptedChars;
          break;
        case "unreadable":
          // It counts as output, but alone it does not make an answer.
          hasText ||= event.text !== "";
          this.#produced.add(event.text);
          break;
        case "usage":
          hasFigures = true;
          this.#takeFigures(event.usage);
          break;
        case "cost":
          hasFigures = true;
          this.#reported = event.usage;
          this.#hasFigures = true;
          this.#extras = event.extras;
          this.isComplete ||= event.isFinal;
          break;
        case "extras":
          this.#extras = event.extras;
          break;
        case "service_tier":
          this.#tiers = { service_tier: event.tier };
          break;
        case "text_end":
          endsText = true;
          this.isComplete ||= event.isLast;
          break;
        case "issued":
          this.issued = event.ids;
          this.endedIds = event.ended ?? null;
          break;
        case "end":
          this.ended = true;
          break;
        case "failure":
          this.fail(event.failure);
          break;
      }
    }
    this.#hasContent ||= isContent;
    this.hasEndedText = endsText || (this.hasEndedText && !isContent);
    if (isContent && !endsText) this.isComplete = false;
    if (hasFigures) this.#areFiguresOutdated = false;
    else if (hasText) this.#areFiguresOutdated = true;
  }

  /**
   * Adds the events, and passes on what the response consists of, with the usage so far. Throws the reason if the response fails.
   */
  addTranslated(events: readonly ReadEvent[], pass: (event: IrEvent) => void): void {
    const isFirst = !this.#hasContent;
    this.add(events);
    if (isFirst) this.#isUntranslated = this.#hasContent;
    passAnswer(events, (event) => {
      if (event.type === "delta" || event.type === "block_start") this.#isUntranslated = false;
      pass(event.type === "usage" ? { type: "usage", usage: this.partialUsage ?? event.usage } : event);
    });
  }

  /** Marks that content has arrived that is not counted. */
  addUncounted(): void {
    this.#hasContent = true;
  }

  fail(failure: GatewayError): void {
    this.failure = failedAfter(this, failure);
  }

  /**
   * The provider's usage for the whole response, or for its failure; null until it is reported. If output followed the
   * last reported usage, the output is marked as doubtful.
   */
  get usage(): ReportedUsage | null {
    if (this.failure instanceof FailedResponse) return this.failure.usage;
    const isFinal = this.isComplete || (this.ended && this.failure === null);
    return this.#hasFigures && isFinal ? this.partialUsage : null;
  }

  /** The latest usage reported, for a stream that breaks off now. The actual output may be higher. */
  get partialUsage(): ReportedUsage | null {
    if (this.#reported === null || !this.#areFiguresOutdated) return this.#reported;
    const { isUpToDate: _, ...outdated } = this.#reported;
    return { ...outdated, isOutputDoubtful: true };
  }

  /** Usage in addition to tokens; null if none was reported. */
  get extras(): ReportedExtras | null {
    const failed = this.failure instanceof FailedResponse ? this.failure.extras : null;
    if (this.#tiers === null && failed === null) return this.#extras;
    const calls = { ...failed?.calls, ...this.#extras?.calls };
    return {
      ...this.#extras,
      ...failed,
      tiers: { ...this.#extras?.tiers, ...this.#tiers, ...failed?.tiers },
      ...(Object.keys(calls).length === 0 ? {} : { calls }),
    };
  }

  /** True once there is something to charge: content, or the provider has reported output. A model may have thought without showing it. */
  get started(): boolean {
    const hasCalls = this.#extras?.calls !== undefined;
    // A provider that streams in another dialect has written text, but a stream that could only fail has delivered none.
    const hasContent = this.#hasContent && !(this.#isUntranslated && this.failure !== null);
    return hasContent || hasCalls || this.reportedOutput > 0 || isBilled(this.failure);
  }

  /** Text produced since the last call. */
  takeProduced(): string {
    return this.#produced.take();
  }

  /** The length of that text. */
  get producedChars(): number {
    return this.#produced.length;
  }

  #takeFigures(usage: ReportedUsage): void {
    this.#reported = runningTotal(
      { partialUsage: this.#reported, reportedOutput: this.reportedOutput },
      usage,
    );
    this.reportedOutput = this.#reported.outputTokens;
    this.#hasFigures = true;
  }
}
