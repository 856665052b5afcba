import { estimateText } from "../../catalog/estimate.ts";

/** Some sixteen thousand tokens; a stream in all may keep 256 KiB. */
const maxKeptChars = 64 * 1024;

/**
 * What a stream has produced, in case the provider reports no usage. Text is kept up to a bound, to be counted
 * exactly; beyond it only an estimate is. Each piece is estimated once, when it comes: joining and estimating the whole
 * answer for every progress row would turn it into garbage twice a second.
 */
export class Produced {
  readonly #pieces: string[] = [];
  #keptChars = 0;
  #estimatedTokens = 0;
  #tokensOfTheRest = 0;

  add(text: string): void {
    if (text === "") return;
    this.#estimatedTokens += estimateText(text);
    const room = maxKeptChars - this.#keptChars;
    const kept = text.length <= room ? text : text.slice(0, room);
    if (kept !== "") this.#pieces.push(kept);
    this.#keptChars += kept.length;
    if (kept.length < text.length) this.#tokensOfTheRest += estimateText(text.slice(kept.length));
  }

  get isEmpty(): boolean {
    return this.#keptChars === 0 && this.#tokensOfTheRest === 0;
  }

  /** Cheap enough for every progress row. */
  estimate(): number {
    return this.#estimatedTokens;
  }

  /** Counted by the tokenizer's thread; at least 1 if there is content. */
  async count(countText: (texts: string[]) => Promise<number>): Promise<number> {
    if (this.isEmpty) return 0;
    const counted = this.#keptChars === 0 ? 0 : await countText([this.#pieces.join("")]);
    return Math.max(1, counted + this.#tokensOfTheRest);
  }
}
