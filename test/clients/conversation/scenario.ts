import type { JsonObject } from "../../../src/base/json.ts";

/**
 * A conversation told once, apart from any wire format: what the client asks, and what the provider answers
 * request by request. Each dialect (chat.ts, responses.ts, messages.ts) can say the answers and can hear
 * what was asked, so that the same story is played on every pair of dialects.
 */
export interface Scenario {
  readonly name: string;
  readonly ask: Ask;
  /** One for every request; a turn that calls tools is followed by their results, another by the user's reply. */
  readonly turns: readonly Turn[];
}

export interface Ask {
  readonly system: string;
  /** Texts and pictures in order; the first is a text that no other scenario begins with. */
  readonly user: readonly [string, ...(string | Picture)[]];
  readonly tools: readonly Tool[];
  readonly effort: "high" | null;
  /** What the user says to the first answer that calls no tool. */
  readonly reply: string | null;
  /** Of the JSON that the answer has to be. */
  readonly schema: JsonObject | null;
}

export interface Picture {
  readonly mediaType: string;
  /** Base64. */
  readonly data: string;
}

export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly schema: JsonObject;
  /** What the client answers when the tool is called. */
  readonly run: (input: JsonObject) => string;
}

export interface Call {
  readonly id: string;
  readonly name: string;
  readonly input: JsonObject;
}

/** One piece of what the provider says. The proof is what it wants back with its reasoning, untouched. */
export type Said =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "thinking"; readonly text: string; readonly proof: string }
  | SaidCall
  | { readonly type: "refusal"; readonly text: string };

/**
 * A free-form tool of Codex takes text and no JSON. Only Responses can say so; in the other dialects the text
 * is the one field `input` of the arguments, and so it is here.
 */
export interface SaidCall extends Call {
  readonly type: "call";
  readonly freeform?: true;
}

export interface Turn {
  readonly says: readonly Said[];
  readonly usage: TokenCount;
  readonly ending: Ending;
  /** Parallel calls come one after the other in a stream, as they do in practice, and not mixed, as they may. */
  readonly inSequence?: true;
}

/** `fails`: the provider reports an error after it has begun. `cut`: it ends as if the line had gone dead. */
export type Ending = "stop" | "tool_calls" | "length" | "refusal" | "fails" | "cut";

export interface TokenCount {
  /** Everything, cached or not. */
  readonly input: number;
  readonly cached: number;
  readonly output: number;
}

/** What a provider understood of a request, flattened so that every dialect's can be compared. */
export interface Heard {
  readonly system: string;
  readonly spoken: readonly Utterance[];
  readonly tools: readonly {
    readonly name: string;
    readonly description: string;
    readonly schema: unknown;
  }[];
  readonly effort: string | null;
  readonly schema: unknown;
}

export type Utterance =
  | { readonly who: "user"; readonly text: string }
  | { readonly who: "user"; readonly picture: Picture }
  | { readonly who: "assistant"; readonly text: string }
  | { readonly who: "assistant"; readonly thinking: string; readonly proof: string | null }
  | { readonly who: "assistant"; readonly call: Call }
  | { readonly who: "tool"; readonly id: string; readonly text: string };

/** What a provider must have heard when it is asked for the given turn. */
export function expectedAt(scenario: Scenario, turn: number): Heard {
  const { ask, turns } = scenario;
  const spoken: Utterance[] = ask.user.map((part) =>
    typeof part === "string" ? { who: "user", text: part } : { who: "user", picture: part },
  );
  for (const { says } of turns.slice(0, turn)) {
    const results = says.flatMap((said) => resultOf(ask, said));
    spoken.push(...says.map(asHistory), ...results);
    if (results.length === 0 && ask.reply !== null) spoken.push({ who: "user", text: ask.reply });
  }
  return {
    system: ask.system,
    spoken,
    tools: ask.tools.map(({ name, description, schema }) => ({ name, description, schema })),
    effort: ask.effort,
    schema: ask.schema,
  };
}

function asHistory(said: Said): Utterance {
  switch (said.type) {
    case "text":
    case "refusal":
      return { who: "assistant", text: said.text };
    case "thinking":
      return { who: "assistant", thinking: said.text, proof: said.proof };
    case "call":
      return { who: "assistant", call: { id: said.id, name: said.name, input: said.input } };
  }
}

function resultOf(ask: Ask, said: Said): Utterance[] {
  return said.type === "call" ? [{ who: "tool", id: said.id, text: runTool(ask, said) }] : [];
}

/** What the client's side of the conversation does with a call. */
export function runTool(ask: Ask, call: Call): string {
  const tool = ask.tools.find(({ name }) => name === call.name);
  if (tool === undefined) throw new Error(`the model called ${call.name}, which the client does not have`);
  return tool.run(call.input);
}

export function textOf(says: readonly Said[], type: "text" | "thinking" | "refusal"): string {
  return says.map((said) => (said.type === type ? said.text : "")).join("");
}

export function callsOf(says: readonly Said[]): Call[] {
  return says.flatMap((said) =>
    said.type === "call" ? [{ id: said.id, name: said.name, input: said.input }] : [],
  );
}
