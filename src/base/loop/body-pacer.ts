import { LoopPacer } from "./pacer.ts";

/**
 * Paces all work on bodies that may be long, or of which there may be many: reading them from the store, opening, copying and
 * sending them. A step is taken after each wait, and the steps of all bodies share two milliseconds of an iteration.
 */
export const bodyPacer = new LoopPacer({ budgetMs: 2 });
