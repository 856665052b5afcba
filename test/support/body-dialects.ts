import { type ClientDialectName, clientDialectNames } from "../../src/dialects/registry.ts";

/** Dialects whose requests say everything in their body. Google's has the model in its path, and tests of its own. */
export type BodyDialectName = Exclude<ClientDialectName, "gemini">;

export const bodyDialectNames = clientDialectNames.filter(
  (name): name is BodyDialectName => name !== "gemini",
);
