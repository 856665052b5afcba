import { answerOf, maxTokens, type ReportedUsage, totalInput, type Usage } from "../../base/usage/usage.ts";
import { estimateText } from "../../catalog/estimate.ts";
import type { HoldTokens } from "../../catalog/price.ts";
import { countPieces, isWordCut, shareOfPieces } from "../../catalog/tokens/low-count.ts";
import { encryptedCharsPerToken } from "../../dialects/provider-response/produced.ts";

/** The evidence of the call's tokens when it ends. */
export interface UsageEvidence {
  /** The provider's final usage. */
  readonly usage: ReportedUsage | null;
  /** The usage reported before the stream broke off. */
  readonly partialUsage: ReportedUsage | null;
  /** Only called if the provider's usage does not suffice. */
  produced(): ProducedOutput;
  readonly requestBytes: Uint8Array;
  /** Counts the input; absent for generation, which is counted elsewhere. */
  countInput?(): Promise<number>;
}

export function isMeasured(reported: ReportedUsage, evidence: UsageEvidence): boolean {
  return reported.isInputDoubtful !== true && isOutputSure(reported, evidence);
}

export function isOutputSure(reported: ReportedUsage, { usage }: UsageEvidence): boolean {
  const isFinal = usage !== null || reported.isUpToDate === true;
  return isFinal && reported.isOutputDoubtful !== true;
}

/** If the input is doubtful, the missing tokens up to the count are charged as uncached input. */
export function atLeast(reported: ReportedUsage, countedInput: number, countedOutput: number): Usage {
  const { isInputDoubtful = false, isOutputDoubtful: _, isUpToDate: __, ...usage } = reported;
  const answer = answerOf(usage);
  const lackingInput = isInputDoubtful ? Math.max(0, countedInput - totalInput(answer)) : 0;
  const lackingOutput = Math.max(0, countedOutput - answer.outputTokens);
  return {
    ...usage,
    inputTokens: usage.inputTokens + lackingInput,
    outputTokens: usage.outputTokens + lackingOutput,
  };
}

/** The limits of plausible usage. */
export interface UsageBounds {
  /** Maximum tokens that the model reads and writes at once; null if unknown. */
  readonly contextWindow: number | null;
  /** The provider may have run the model several times, so that sums may be above the window. */
  readonly mayRepeat: boolean;
  readonly held: HoldTokens;
}

/**
 * Input or output above what the model can read or write is implausible, and is clamped to what the hold allowed for. So implausible
 * usage makes a call neither more nor less expensive than its hold.
 */
export function clampUsage(
  reported: ReportedUsage,
  { contextWindow, mayRepeat, held }: UsageBounds,
): ReportedUsage {
  const most = mayRepeat ? maxTokens : (contextWindow ?? maxTokens);
  const isInputImplausible = totalInput(reported) > most;
  // Several choices may produce more than one window in total.
  const isOutputImplausible = reported.outputTokens > Math.max(most, held.output);
  if (!isInputImplausible && !isOutputImplausible) return reported;
  const { rounds: _, ...sums } = reported;
  return {
    ...sums,
    ...(isInputImplausible ? inputUpTo(held.input, reported) : {}),
    ...(isOutputImplausible ? outputUpTo(held.output, reported) : {}),
  };
}

/**
 * Zero tokens for delivered content are implausible: some servers send zeros for tokens that they do not count. If
 * nothing was delivered, a zero is a valid count. A request that is not held in tokens has none.
 */
export function doubtZeros(
  reported: ReportedUsage,
  held: HoldTokens,
  evidence: Pick<UsageEvidence, "produced">,
): ReportedUsage {
  const isInputZero = held.input > 0 && totalInput(reported) === 0;
  const isOutputZero = held.output > 0 && reported.outputTokens === 0;
  if ((!isInputZero && !isOutputZero) || evidence.produced().chars === 0) return reported;
  return {
    ...reported,
    ...(isInputZero ? { isInputDoubtful: true } : {}),
    ...(isOutputZero ? { isOutputDoubtful: true } : {}),
  };
}

/** The kinds that cost most come first. */
function inputUpTo(most: number, usage: Usage) {
  const cacheWriteTokens = Math.min(usage.cacheWriteTokens, most);
  const inputTokens = Math.min(usage.inputTokens, most - cacheWriteTokens);
  const cachedInputTokens = Math.min(usage.cachedInputTokens, most - cacheWriteTokens - inputTokens);
  return { inputTokens, cachedInputTokens, cacheWriteTokens, isInputDoubtful: true } as const;
}

function outputUpTo(most: number, { outputTokens, reasoningTokens }: Usage) {
  return {
    outputTokens: Math.min(outputTokens, most),
    reasoningTokens: Math.min(reasoningTokens, most),
    isOutputDoubtful: true,
  } as const;
}

/** About sixteen thousand tokens; all texts of a stream together can keep 256 KiB. */
const maxKeptChars = 64 * 1024;

/**
 * The output of a stream, in case the provider reports no usage. Text is kept up to a limit, and counted exactly when
 * the stream has ended; the rest is only estimated.
 */
export class ProducedOutput {
  readonly #pieces: string[] = [];
  #keptChars = 0;
  #tokensOfTheRest = 0;
  #textChars = 0;
  /** Number of pieces in the low count. */
  #lowCounted = 0;
  #lowPieces = 0;
  /** All reasoning so far that only its provider can read, and images. */
  encryptedChars = 0;
  /** Number of choices that were generated for each one returned. */
  readonly #times: number;

  constructor(times = 1) {
    this.#times = times;
  }

  add(text: string): this {
    if (text === "") return this;
    this.#textChars += text.length;
    const room = maxKeptChars - this.#keptChars;
    const kept = text.length <= room ? text : copyOf(text.slice(0, room));
    if (kept !== "") this.#pieces.push(kept);
    this.#keptChars += kept.length;
    if (kept.length < text.length) this.#tokensOfTheRest += estimateText(text.slice(kept.length));
    return this;
  }

  /** Number of characters, counted or not. */
  get chars(): number {
    return this.#textChars + this.encryptedChars;
  }

  /** Counted by the tokenizer's thread; at least 1 if there is content. */
  async count(countText: (texts: string[]) => Promise<number>): Promise<number> {
    if (this.chars === 0) return 0;
    const counted = this.#keptChars === 0 ? 0 : await countText([this.#pieces.join("")]);
    return Math.max(1, Math.ceil((counted + this.#estimated) * this.#times));
  }

  /** At or below the exact count, without a tokenizer, for the journal while the stream runs. Each text is read once. */
  lowCount(): number {
    for (; this.#lowCounted < this.#pieces.length; this.#lowCounted += 1) {
      const text = this.#pieces[this.#lowCounted] ?? "";
      const before = this.#pieces[this.#lowCounted - 1] ?? "";
      this.#lowPieces += countPieces(text) - (isWordCut(before, text) ? 1 : 0);
    }
    if (this.chars === 0) return 0;
    return Math.max(1, Math.round(this.#lowPieces * shareOfPieces) + this.#estimated);
  }

  get #estimated(): number {
    return this.#tokensOfTheRest + Math.ceil(this.encryptedChars / encryptedCharsPerToken);
  }
}

/** A slice keeps all of the text that it is a part of, which may be megabytes. Half of a surrogate pair is lost, which counts the same. */
function copyOf(slice: string): string {
  return Buffer.from(slice).toString();
}
