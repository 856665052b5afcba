import { LoopPacer } from "../../base/loop/pacer.ts";

/** For what is done with large bodies on the event loop: copying one takes milliseconds. */
export const largeBodyPacer = new LoopPacer();
