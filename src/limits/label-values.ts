import { msPerDay } from "../base/clock.ts";

/** Per key, day and kind of label: what a report can show, and a client cannot fill the memory with. */
const defaultMax = 10_000;

/** Which values of a key's labels reports break down: the first ones of each UTC day, up to a limit. */
export class LabelValues {
  readonly #most: number;
  /** Hashes of the values of this day, by key and kind; tags of all names are one kind. */
  readonly #seen = new Map<string, Set<number>>();
  #day = 0;

  constructor(most = defaultMax) {
    this.#most = most;
  }

  /** False for a value beyond those. */
  isCounted(keyId: string, name: string, value: string, atMs: number): boolean {
    const day = Math.floor(atMs / msPerDay);
    if (day !== this.#day) this.#seen.clear();
    this.#day = day;
    const kind = `${keyId} ${name.startsWith("tag:") ? "tag" : name}`;
    const values = this.#seen.getOrInsertComputed(kind, () => new Set());
    const hash = Bun.hash.xxHash32(value, Bun.hash.xxHash32(name));
    if (!values.has(hash) && values.size >= this.#most) return false;
    values.add(hash);
    return true;
  }
}
