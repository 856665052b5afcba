import { LoopPacer } from "../../base/loop/pacer.ts";

/** Milliseconds of each turn of the event loop. */
const budgetMs = 2;

/** Where all streams wait that have used their part of a turn, and go on one after the other. */
export const streamPacer = new LoopPacer({ budgetMs });
