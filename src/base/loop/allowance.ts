import { TurnShare } from "./share.ts";

/** Counts what is done within one turn of the event loop, and says when it is enough for that turn. */
export class TurnAllowance {
  readonly #perTurn: number;
  /** So many are counted over several turns: noticing the end of each turn would take longer than they do. */
  readonly #few: number;
  readonly #share: TurnShare;
  readonly #waiting: (() => void)[] = [];
  #allowed: number;
  #taken = 0;

  constructor(perTurn: number, now?: () => number) {
    this.#perTurn = perTurn;
    this.#few = perTurn >> 3;
    this.#share = new TurnShare(perTurn, now);
    this.#allowed = perTurn;
  }

  /** Whether one more fits into this turn. */
  take(): boolean {
    if (this.#taken === this.#allowed) return false;
    if (this.#taken === this.#few) setImmediate(this.#renew);
    this.#taken += 1;
    return true;
  }

  /** After `take` has said no: resolves in a later turn, in the order of asking. */
  wait(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (this.#waiting.push(resolve) === 1) this.#share.begin();
    return promise;
  }

  readonly #renew = () => {
    this.#taken = 0;
    this.#allowed = this.#waiting.length === 0 ? this.#perTurn : this.#share.take();
    for (const resume of this.#waiting.splice(0, this.#allowed)) resume();
  };
}
