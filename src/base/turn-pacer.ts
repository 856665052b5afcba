import { nextTurn } from "./next-turn.ts";

/**
 * Lets one caller go on in each turn of the event loop. Steps of some milliseconds each, such as copying megabytes, do not
 * add up in one turn then, however many requests take them at once.
 */
export class TurnPacer {
  #last: Promise<void> = Promise.resolve();

  turn(): Promise<void> {
    this.#last = this.#last.then(nextTurn);
    return this.#last;
  }
}
