/**
 * For each millisecond that a turn takes. To begin a request takes a tenth of one, and nearly all of it before that code is
 * compiled. With four, streams that had begun waited twice as long as with one while a thousand others began.
 */
const itemsPerMs = 1;

/**
 * How many waiting items go on in one turn of the event loop: few, so that other work gets its turn in between, but the
 * more the longer turns take. Otherwise a thousand requests wait for 16 turns, however long these are.
 */
export class TurnShare {
  readonly #least: number;
  readonly #now: () => number;
  #sinceMs = 0;

  constructor(least: number, now: () => number = () => performance.now()) {
    this.#least = least;
    this.#now = now;
  }

  /** The first item waits. */
  begin(): void {
    this.#sinceMs = this.#now();
  }

  /** To be asked once at the end of each turn. */
  take(): number {
    const nowMs = this.#now();
    const turnMs = nowMs - this.#sinceMs;
    this.#sinceMs = nowMs;
    return Math.max(this.#least, Math.floor(turnMs * itemsPerMs));
  }
}
