/** With fewer items a turn, one turn more costs about as much as handling them together saves. */
const crowdItems = 2;
/** How many turns the average is about, so that a single small one does not end the gathering. */
const averagedTurns = 8;
/** More are handled in several turns, so that others get theirs in between. More together would gain a little. */
const mostItemsPerTurn = 64;
/** While there is no crowd, every so many items a turn is gathered to see whether there is one by now. */
const itemsBetweenLooks = 64;

/** All there are. They live as long as the process. */
const gatherings: { readonly addedCount: number; readonly handledCount: number }[] = [];

/** Calls back when everything that is gathered by now has been handled. */
export function whenGatheredIsHandled(callback: () => void): void {
  const awaited = gatherings.map(({ addedCount }) => addedCount);
  const look = () => {
    if (gatherings.every(({ handledCount }, index) => handledCount >= (awaited[index] ?? 0))) callback();
    else setImmediate(look);
  };
  look();
}

/**
 * Gathers what arrives in one turn of the event loop, and handles it together at the turn's end. The code for one item
 * is then still in the processor's caches when the next comes, instead of being displaced by receiving and sending
 * in between: with 32 requests at once this takes a sixth off a request's CPU time. Without a crowd nothing is gathered,
 * because the extra turn would delay each item by some 20 µs.
 */
export class Gathering<Item> {
  readonly #handle: (item: Item) => void;
  #waiting: Item[] = [];
  /** Items per gathered turn, on average. */
  #itemsPerTurn = 0;
  #itemsUntilLook = itemsBetweenLooks;
  #addedCount = 0;

  constructor(handle: (item: Item) => void) {
    this.#handle = handle;
    gatherings.push(this);
  }

  /** How many items have been added so far. */
  get addedCount(): number {
    return this.#addedCount;
  }

  /** How many of them, oldest first, have been handled. */
  get handledCount(): number {
    return this.#addedCount - this.#waiting.length;
  }

  /** To be asked once for every item: whether to add it. If not, it should be handled now. */
  shouldAdd(): boolean {
    if (this.#isCrowd || this.#waiting.length > 0) return true;
    this.#itemsUntilLook -= 1;
    if (this.#itemsUntilLook > 0) return false;
    this.#itemsUntilLook = itemsBetweenLooks;
    return true;
  }

  get #isCrowd(): boolean {
    return this.#itemsPerTurn >= crowdItems;
  }

  /** It is handled at the end of this turn, after those that were added before it. */
  add(item: Item): void {
    this.#addedCount += 1;
    if (this.#waiting.push(item) === 1) setImmediate(this.#endTurn);
  }

  readonly #endTurn = (): void => {
    const items = this.#take();
    const weight = this.#isCrowd ? averagedTurns : 1;
    this.#itemsPerTurn += (items.length - this.#itemsPerTurn) / weight;
    let handled = 0;
    try {
      for (; handled < items.length; handled += 1) this.#handle(items[handled] as Item);
    } finally {
      // What one item throws is reported as uncaught, and does not keep the others from being handled.
      for (const item of items.slice(handled + 1)) this.add(item);
    }
  };

  #take(): Item[] {
    const all = this.#waiting;
    if (all.length > mostItemsPerTurn) {
      setImmediate(this.#endTurn);
      return all.splice(0, mostItemsPerTurn);
    }
    this.#waiting = [];
    return all;
  }
}
