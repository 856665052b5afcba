import { expect } from "bun:test";
import type { ClientDialectName } from "../../src/dialects/registry.ts";
import type { Reply } from "./conversation/provider.ts";
import { callsOf, type Scenario, type Turn, textOf } from "./conversation/scenario.ts";
import { type SpeakerName, speakers } from "./conversation/speakers.ts";
import type { Understood } from "./drivers/client.ts";

/** What the gateway says for a provider that does not. */
const unexplained = "The provider's content filter stopped the response.";

/**
 * What a client must have understood of a turn, whatever the two dialects. Only Converse does not say why it refuses, and
 * where the provider has no ids of calls, the gateway makes some.
 */
export function understoodAs(
  { says, usage, ending }: Turn,
  provider: SpeakerName,
  hidesRefusals = false,
): Understood {
  const { dialect, wire } = speakers[provider];
  if (ending === "fails" || ending === "cut") throw new Error("such a turn cannot be understood");
  return {
    text: textOf(says, "text"),
    thinking: textOf(says, "thinking"),
    refusal: hidesRefusals
      ? expect.any(String)
      : dialect === "converse" && ending === "refusal"
        ? unexplained
        : textOf(says, "refusal"),
    calls: callsOf(says).map((call) =>
      wire.numbersCalls === true ? { ...call, id: expect.any(String) } : call,
    ),
    finish: ending,
    usage,
  };
}

/**
 * Reasoning comes back to its maker, except from chat clients, which have no place for another's seal. Gemini's is a
 * seal of its calls, which chat has a place for.
 */
export function repliesTo(scenario: Scenario, client: ClientDialectName, provider: SpeakerName): Reply[] {
  const { dialect } = speakers[provider];
  const isSealOfCalls = dialect === "gemini";
  const reasons = scenario.turns.some(
    ({ says }) => textOf(says, "thinking") !== "" && (!isSealOfCalls || callsOf(says).length > 0),
  );
  const keeps = client !== "chat" || dialect === "chat" || isSealOfCalls;
  return scenario.turns.map((_, turn) => ({
    scenario: scenario.name,
    turn,
    reasoningReturned: reasons && keeps && turn > 0,
  }));
}

/** What a client must be told: the provider's words where it had begun, the gateway's where it had not. */
export function failureOf({ turns: [turn] }: Scenario, stream: boolean): RegExp {
  if (turn?.ending === "fails") return stream ? /The machine has caught fire\./ : /failed with status 500/;
  return stream ? /ended before the response was complete/ : /not a JSON object|not JSON/;
}
