/** Counts what is done within one turn of the event loop, and says when it is enough for that turn. */
export class TurnAllowance {
  readonly #perTurn: number;
  #taken = 0;

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

  readonly #renew = () => {
    this.#taken = 0;
  };
}
