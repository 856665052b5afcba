/** A queue in which owners take turns: one who adds a hundred items delays another's first one by a single item. */
export class FairQueue<Item> {
  /** In the order of the owners' turns. */
  readonly #byOwner = new Map<string, Item[]>();

  add(owner: string, item: Item): void {
    this.#byOwner.getOrInsertComputed(owner, () => []).push(item);
  }

  /** Takes an item of the owner whose turn it is. */
  next(): Item | undefined {
    for (const [owner, items] of this.#byOwner) {
      const item = items.shift();
      this.#byOwner.delete(owner);
      if (items.length > 0) this.#byOwner.set(owner, items);
      return item;
    }
    return undefined;
  }

  /** Takes all items out that match. */
  remove(matches: (item: Item) => boolean): readonly Item[] {
    const removed: Item[] = [];
    for (const [owner, items] of this.#byOwner) {
      const kept = items.filter((item) => !matches(item));
      removed.push(...items.filter((item) => !kept.includes(item)));
      if (kept.length > 0) this.#byOwner.set(owner, kept);
      else this.#byOwner.delete(owner);
    }
    return removed;
  }
}
