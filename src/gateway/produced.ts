import { estimateText } from "../catalog/estimate.ts";

const keptChars = 256 * 1024;

/**
 * What a stream has produced, in case the provider never says how much it was. The text itself is kept up
 * to a bound so that it can be counted exactly; of anything longer only an estimate of its tokens is.
 */
export class Produced {
  #text = "";
  #tokensOfTheRest = 0;

  add(text: string): void {
    if (this.#text.length + text.length <= keptChars) this.#text += text;
    else this.#tokensOfTheRest += estimateText(text);
  }

  get isEmpty(): boolean {
    return this.#text === "" && this.#tokensOfTheRest === 0;
  }

  /** Cheap enough for every progress row. */
  estimate(): number {
    return estimateText(this.#text) + this.#tokensOfTheRest;
  }

  /** By the tokenizer, in its own thread; never 0 once there is content. */
  async count(countText: (texts: string[]) => Promise<number>): Promise<number> {
    if (this.isEmpty) return 0;
    const counted = this.#text === "" ? 0 : await countText([this.#text]);
    return Math.max(1, counted + this.#tokensOfTheRest);
  }
}
