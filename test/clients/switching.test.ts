import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { type ConversationProvider, startConversationProvider } from "./conversation/provider.ts";
import { goodScenarios } from "./conversation/scenarios.ts";
import { dialectSpeakers, type SpeakerName, speakerNames, speakers } from "./conversation/speakers.ts";
import { clients } from "./drivers/all.ts";
import { understoodAs } from "./expectations.ts";
import { startWorld, type World } from "./world.ts";

/**
 * A user who changes the model in the middle of a conversation: the history holds what another vendor's model
 * has said, called and thought. The provider refuses a seal that is not its own, as real ones do.
 */
const scenarios = goodScenarios.filter(({ turns }) => turns.length > 1);
const ways = speakerNames.flatMap((from) =>
  speakerNames.filter((to) => to !== from && isTried(from, to)).map((to) => [from, to] as const),
);

/** Every dialect to every other, and a cloud from and to the maker of its dialect. */
function isTried(from: SpeakerName, to: SpeakerName): boolean {
  // Calls that the gateway has given ids cannot be told from others' by a provider that knows its own.
  if (speakers[from].wire.numbersCalls === true) return false;
  return (
    [from, to].every((name) => dialectSpeakers.includes(name)) ||
    speakers[from].dialect === speakers[to].dialect
  );
}

const claudes: readonly SpeakerName[] = ["messages", "converse", "messages-at-vertex"];
const gpts: readonly SpeakerName[] = ["responses", "responses-at-azure"];
const geminis: readonly SpeakerName[] = ["gemini", "gemini-at-vertex"];

/** Other models' calls have no signature. Where bytes pass, the gateway adds a placeholder once Google asks for one. */
function isMended(complaint: string): boolean {
  return complaint.includes("missing a thought_signature");
}

let world: World<ConversationProvider>;

beforeAll(async () => {
  world = await startWorld(startConversationProvider(scenarios));
}, 120_000);

beforeEach(() => world.provider.forget());

afterAll(() => world.dispose());

describe.each(clients.map((client, place) => [client.name, client, place] as const))("%s", (...each) => {
  const [, client, place] = each;
  test.each(ways)("goes on with a conversation of %s on a provider of %s", async (from, to) => {
    for (const [index, { ask, turns }] of scenarios.entries()) {
      // Of the two libraries for a dialect, which are three places apart, one streams what the other asks for whole.
      const stream = (place + index) % 2 === 0;
      const access = { ...world.access(from), nextModel: world.access(to).model };
      const answers = await client.converse(access, ask, stream);
      expect(
        world.provider.complaints.filter((each) => client.dialect !== "gemini" || !isMended(each)),
      ).toEqual([]);
      expect(answers).toEqual(turns.map((turn) => understoodAs(turn, to)));
    }
    // Without a seal only a provider that reasons in the open can be shown what another has thought. A maker's seal is the same
    // behind all of its doors, but chat clients have no place for it.
    const returned = world.provider.replies.some(({ reasoningReturned }) => reasoningReturned);
    const makers = client.dialect === "gemini" ? [claudes, gpts, geminis] : [claudes, gpts];
    const isSameMaker = makers.some((doors) => doors.includes(from) && doors.includes(to));
    // Where Gemini's bytes pass, what it thought has no seal but Google's.
    const isShown =
      speakers[to].dialect === "chat" && !(client.dialect === "gemini" && geminis.includes(from));
    expect(returned).toBe(isShown || (isSameMaker && client.dialect !== "chat"));
  });
});
