import type { ClientDialectName } from "../../../src/dialects/registry.ts";
import type { Ask, Call, TokenCount } from "../conversation/scenario.ts";

/** Where a client connects to, and with which key. */
export interface Access {
  /** The gateway's origin, without `/v1`. */
  readonly url: string;
  readonly key: string;
  readonly model: string;
  /** Whom to ask from the second turn on, for a user who changes the model in the middle. */
  readonly nextModel?: string;
}

export function modelAt({ model, nextModel }: Access, turn: number): string {
  return turn === 0 ? model : (nextModel ?? model);
}

/** One answer as a client has understood it. */
export interface Understood {
  readonly text: string;
  readonly thinking: string;
  readonly calls: readonly Call[];
  /** The words of a refusal, wherever the dialect puts them. */
  readonly refusal: string;
  readonly finish: "stop" | "tool_calls" | "length" | "refusal" | "other";
  readonly usage: TokenCount;
}

/** A real client library, driven through a whole conversation. */
export interface Client {
  readonly name: string;
  readonly dialect: ClientDialectName;
  /** It does not show the words of a refusal. */
  readonly hidesRefusals?: true;
  /** Asks, runs the tools that are called, and asks again until no tool is; rejects when an answer fails. */
  converse(access: Access, ask: Ask, stream: boolean): Promise<readonly Understood[]>;
}

/** No scenario takes longer; a model that calls tools for ever must not run for ever. */
export const mostTurns = 4;

/** Whether the conversation is over: no tool is called, and the user has said what there was to say. */
export function isLast(ask: Ask, answers: readonly Understood[]): boolean {
  const uncalled = answers.filter(({ calls }) => calls.length === 0).length;
  return answers.length === mostTurns || uncalled > (ask.reply === null ? 0 : 1);
}

/** A stream's pieces must be what its end says they were. */
export function mustBeSame(pieces: string, whole: string, what: string): void {
  if (pieces !== whole) throw new Error(`the deltas of ${what} were ${pieces}, the whole is ${whole}`);
}
