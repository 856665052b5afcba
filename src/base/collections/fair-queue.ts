interface OwnedItems<Item> {
  /** In insertion order, each with its round. */
  items: { readonly round: number; readonly item: Item }[];
  lastRound: number;
}

/**
 * A queue in which owners take turns: each has one item in a round, and a new owner joins the round that is under way. So one
 * who has added a hundred items delays another's first one by at most the item that has been taken already.
 */
export class FairQueue<Item> {
  readonly #byOwner = new Map<string, OwnedItems<Item>>();
  #round = 0;

  add(owner: string, item: Item): void {
    const owned = this.#byOwner.getOrInsertComputed(owner, () => ({ items: [], lastRound: -1 }));
    owned.lastRound = Math.max(owned.lastRound + 1, this.#round);
    owned.items.push({ round: owned.lastRound, item });
  }

  /** Takes an item of the earliest round. */
  next(): Item | undefined {
    let first: OwnedItems<Item> | undefined;
    for (const [owner, owned] of this.#byOwner) {
      if (owned.items.length === 0 && owned.lastRound < this.#round) this.#byOwner.delete(owner);
      else if (roundOf(owned) < roundOf(first)) first = owned;
    }
    const taken = first?.items.shift();
    if (taken !== undefined) this.#round = taken.round;
    return taken?.item;
  }

  /** Takes all items out that match. What follows them moves up. */
  remove(matches: (item: Item) => boolean): readonly Item[] {
    const removed: Item[] = [];
    for (const owned of this.#byOwner.values()) {
      const { items } = owned;
      const kept = items.filter(({ item }) => !matches(item));
      if (kept.length === items.length) continue;
      for (const each of items) if (!kept.includes(each)) removed.push(each.item);
      owned.items = kept.map(({ item }, index) => ({ round: items[index]?.round ?? this.#round, item }));
      owned.lastRound -= items.length - kept.length;
    }
    return removed;
  }
}

/** Infinite if nothing waits. */
function roundOf<Item>(owned: OwnedItems<Item> | undefined): number {
  return owned?.items[0]?.round ?? Number.POSITIVE_INFINITY;
}
