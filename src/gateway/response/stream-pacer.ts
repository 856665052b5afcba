import { LoopPacer } from "../../base/loop/pacer.ts";

/** Milliseconds of each event-loop iteration. */
const budgetMs = 2;

/** All streams that have used up their share of an iteration wait here, and resume one after the other. */
export const streamPacer = new LoopPacer({ budgetMs });
