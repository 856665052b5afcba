import type { SaidCall } from "../conversation/scenario.ts";

/** What goes wrong: the first answer breaks off, all prompts are too long, or the model knows no effort and says so. */
export type StoreProblem = "breaks off" | "too long" | "no effort";

/**
 * What the model behind an agent does: in each step it thinks and calls tools of the agent, and goes on when
 * their results are as they must be; in the end it says something.
 */
export interface Errand {
  readonly problems?: readonly StoreProblem[];
  readonly steps: readonly Step[];
  /** For clients that do not understand calls whose fragments are mixed. */
  readonly inSequence?: true;
  readonly farewell: string;
  /** What a compaction says of all the steps. Once it is brought back, nothing is left but the farewell. */
  readonly summary?: string;
  /** What is called where a client offers this tool alone, to get an object out of the model. */
  readonly extraction?: SaidCall;
}

export interface Step {
  /** It has to come back with the results. Absent for clients that do not bring it back. */
  readonly thinking?: string;
  /** Before the calls. */
  readonly says?: string;
  readonly calls: readonly AgentCall[];
}

export interface AgentCall {
  readonly call: SaidCall;
  /** What the tool's result must contain: a text, or the base64 of a picture. */
  readonly expects: string | { readonly picture: string };
}

/** Unique to a step, and to be brought back with its thinking. */
export function proofOf(step: number): string {
  return `c2VhbCBvZiBzdGVw+/${step}==`;
}
