import type { IrFinish } from "./ir.ts";

/**
 * An unknown reason is not the end of a turn: the answer may have been cut off. Every client's dialect tells that
 * the provider has stopped an answer as a refusal, and has a place for why.
 */
export function unknownFinish(word: string): IrFinish {
  const explanation = `The provider ended the answer for a reason that is not known here: ${word.slice(0, 100)}.`;
  return { reason: "refusal", stopSequence: null, explanation };
}

/** Of a whole answer, or of a stream that has ended properly, whose server does not say why. */
export const unsaidFinish: IrFinish = { reason: "stop", stopSequence: null, explanation: null };
