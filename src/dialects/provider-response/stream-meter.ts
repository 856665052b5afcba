import type { GatewayError } from "../../base/errors.ts";
import type { ReportedExtras, ReportedUsage, Tiers } from "../../base/usage/usage.ts";
import { FailedResponse, failedAfter, isBilled } from "../errors/failure.ts";
import type { IrEvent } from "../ir/ir.ts";
import { runningTotal } from "../usage/reported-usage.ts";
import { ProducedText } from "./produced-text.ts";
import { answerIn, type EndedIds, type ReadEvent } from "./read-event.ts";

const noIds: readonly string[] = [];

/** What is known of a stream from what its reader has found so far: what it costs, and how far it has got. */
export class StreamMeter {
  /** Ids of the provider's resources that a later request can refer to. */
  issued = noIds;
  /** The ids in a response that the last event contains whole, so that it can be stored as it is. */
  endedIds: EndedIds | null = null;
  /** The most output that figures have reported so far. */
  reportedOutput = 0;
  /** The length of all reasoning so far that only its provider can read, and of images. They are content, too. */
  encryptedChars = 0;
  /** The stream has announced its answer. */
  hasBegun = false;
  /** The last text is complete, and none has followed it: only the end and the usage can be missing. */
  hasEndedText = false;
  /** The answer is complete, although its stream may not have ended. */
  isComplete = false;
  ended = false;
  /** Why the provider's stream failed, or null. What came before the failure, even in the same read, is delivered and charged. */
  failure: GatewayError | null = null;
  readonly #produced = new ProducedText();
  #hasContent = false;
  /** Nothing of a stream's content could be translated yet. */
  #isUntranslated = false;
  #reported: ReportedUsage | null = null;
  /** Figures have come that include the output up to them. */
  #hasFigures = false;
  /** Text came after the last figures, which therefore cannot include it. */
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

  /** Takes the same, and yields the answer in it, with the usage so far. Throws what is wrong with it. */
  *answerIn(events: readonly ReadEvent[]): Generator<IrEvent> {
    const isFirst = !this.#hasContent;
    this.add(events);
    if (isFirst) this.#isUntranslated = this.#hasContent;
    for (const event of answerIn(events)) {
      if (event.type === "delta" || event.type === "block_start") this.#isUntranslated = false;
      yield event.type === "usage" ? { type: "usage", usage: this.partialUsage ?? event.usage } : event;
    }
  }

  /** Content has come of which nothing is counted. */
  addUncounted(): void {
    this.#hasContent = true;
  }

  fail(failure: GatewayError): void {
    this.failure = failedAfter(this, failure);
  }

  /**
   * The provider's usage for the whole answer, or for its failure; null until it has reported that. If output followed the last
   * figures, the output is marked as doubtful.
   */
  get usage(): ReportedUsage | null {
    if (this.failure instanceof FailedResponse) return this.failure.usage;
    const isFinal = this.isComplete || (this.ended && this.failure === null);
    return this.#hasFigures && isFinal ? this.partialUsage : null;
  }

  /** The latest usage reported, for a stream that breaks off now. There may be more output than it says. */
  get partialUsage(): ReportedUsage | null {
    if (this.#reported === null || !this.#areFiguresOutdated) return this.#reported;
    const { isUpToDate: _, ...outdated } = this.#reported;
    return { ...outdated, isOutputDoubtful: true };
  }

  /** What the provider has reported in addition to tokens; null if it has reported nothing. */
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
