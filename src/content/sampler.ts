/** Rounding must not lose the last of a thousand. */
const tolerance = 1e-9;

/** Selects an exact share of items, evenly spread. */
export class Sampler {
  #seen = 0;

  takes(share: number): boolean {
    const before = Math.floor(this.#seen * share + tolerance);
    this.#seen += 1;
    return Math.floor(this.#seen * share + tolerance) > before;
  }
}
