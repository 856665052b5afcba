/** Counts what is done within one turn of the event loop, and says when it is enough for that turn. */
export class TurnAllowance {
  readonly #perTurn: number;
  #taken = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(perTurn: number) {
    this.#perTurn = perTurn;
  }

  /** Whether one more fits into this turn. */
  take(): boolean {
    if (this.#taken === this.#perTurn) return false;
    if (this.#taken === 0) setImmediate(this.#renew);
    this.#taken += 1;
    return true;
  }

  /** After `take` has said no: resolves in the turn in which it says yes, in the order of asking. */
  wait(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  readonly #renew = () => {
    this.#taken = 0;
    for (const resume of this.#waiting.splice(0, this.#perTurn)) resume();
  };
}
