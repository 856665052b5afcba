import { estimateText } from "../../catalog/estimate.ts";
import { countPieces, isWordCut, shareOfPieces } from "../../catalog/tokens/low-count.ts";

/** Some sixteen thousand tokens; a stream in all may keep 256 KiB. */
const maxKeptChars = 64 * 1024;

/** Encrypted reasoning takes 5 to 6 characters a token, and there is an envelope around it. So this counts too little. */
const sealedCharsPerToken = 16;

/**
 * What a stream has produced, in case the provider reports no usage. Text is kept up to a bound, to be counted exactly when
 * the stream has ended; beyond it only an estimate is.
 */
export class Produced {
  readonly #pieces: string[] = [];
  #keptChars = 0;
  #tokensOfTheRest = 0;
  #textChars = 0;
  /** How many of the pieces are in the low count. */
  #lowCounted = 0;
  #lowPieces = 0;
  /** All reasoning so far that only its provider can read. */
  sealedChars = 0;
  /** How many answers were written for each that is shown. */
  readonly #times: number;

  constructor(times = 1) {
    this.#times = times;
  }

  add(text: string): this {
    if (text === "") return this;
    this.#textChars += text.length;
    const room = maxKeptChars - this.#keptChars;
    const kept = text.length <= room ? text : text.slice(0, room);
    if (kept !== "") this.#pieces.push(kept);
    this.#keptChars += kept.length;
    if (kept.length < text.length) this.#tokensOfTheRest += estimateText(text.slice(kept.length));
    return this;
  }

  /** How much there is, counted or not. */
  get chars(): number {
    return this.#textChars + this.sealedChars;
  }

  /** Counted by the tokenizer's thread; at least 1 if there is content. */
  async count(countText: (texts: string[]) => Promise<number>): Promise<number> {
    if (this.chars === 0) return 0;
    const counted = this.#keptChars === 0 ? 0 : await countText([this.#pieces.join("")]);
    return Math.max(1, Math.ceil((counted + this.#estimated) * this.#times));
  }

  /** At or below that, without a tokenizer: what is journaled while the stream runs. Each text is looked at once. */
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
    return this.#tokensOfTheRest + Math.ceil(this.sealedChars / sealedCharsPerToken);
  }
}
