import { estimateText } from "../../catalog/estimate.ts";
import { startOfLastPiece } from "../../catalog/tokens/text-pieces.ts";

/** Some sixteen thousand tokens; a stream in all may keep 256 KiB. */
const maxKeptChars = 64 * 1024;

/** Encrypted reasoning takes 5 to 6 characters a token, and there is an envelope around it. So this counts too little. */
const sealedCharsPerToken = 16;

/**
 * What a stream has produced, in case the provider reports no usage. Text is kept up to a bound, to be counted
 * exactly; beyond it only an estimate is. What has been counted is not kept, so that it can be counted again and again
 * while the stream runs, and the sum is that of the whole text.
 */
export class Produced {
  #pieces: string[] = [];
  #keptChars = 0;
  #tokensOfTheRest = 0;
  #counted: Promise<number> = Promise.resolve(0);
  #textChars = 0;
  /** All reasoning so far that only its provider can read. */
  sealedChars = 0;

  add(text: string): void {
    if (text === "") return;
    this.#textChars += text.length;
    const room = maxKeptChars - this.#keptChars;
    const kept = text.length <= room ? text : text.slice(0, room);
    if (kept !== "") this.#pieces.push(kept);
    this.#keptChars += kept.length;
    if (kept.length < text.length) this.#tokensOfTheRest += estimateText(text.slice(kept.length));
  }

  /** How much there is, counted or not. */
  get chars(): number {
    return this.#textChars + this.sealedChars;
  }

  /** Counted by the tokenizer's thread; at least 1 if there is content. */
  async count(countText: (texts: string[]) => Promise<number>): Promise<number> {
    if (this.chars === 0) return 0;
    const estimated = this.#tokensOfTheRest + Math.ceil(this.sealedChars / sealedCharsPerToken);
    const last = this.#countAllButLast(countText);
    const tokens = await Promise.all([this.#counted, last === "" ? 0 : countText([last])]);
    return Math.max(1, tokens[0] + tokens[1] + estimated);
  }

  /** Returns the text that is not counted for good, because more may belong to it. */
  #countAllButLast(countText: (texts: string[]) => Promise<number>): string {
    const text = this.#pieces.join("");
    const end = startOfLastPiece(text);
    const last = text.slice(end);
    if (end > 0) this.#counted = sumOf(this.#counted, countText([text.slice(0, end)]));
    this.#pieces = [last];
    this.#keptChars = last.length;
    return last;
  }
}

async function sumOf(one: Promise<number>, other: Promise<number>): Promise<number> {
  return (await one) + (await other);
}
