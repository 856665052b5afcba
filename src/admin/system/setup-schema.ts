import { type Static, Type } from "@sinclair/typebox";
import { nullable, oneOf, text } from "../formats/shapes.ts";

export const setupSteps = ["provider", "key", "request", "reachable", "backup"] as const;

export const setupStepView = Type.Object({
  step: oneOf(setupSteps),
  done: Type.Boolean(),
  text: text("The step, in a few words."),
  command: nullable(text("The command that does it.")),
});
export type SetupStepView = Static<typeof setupStepView>;
