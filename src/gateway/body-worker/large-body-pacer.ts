import { LoopPacer } from "../../base/loop/pacer.ts";

/** Paces work on large bodies on the event loop: copying one takes milliseconds. */
export const largeBodyPacer = new LoopPacer();
