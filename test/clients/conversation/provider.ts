import { type Answer, encode, json, type Step, sse, text } from "../../support/answers.ts";
import { type SeenRequest, startProvider } from "../../support/provider.ts";
import { numberOf, tokenResponse } from "./clouds.ts";
import { Complaint, complain, failureWords, type ProviderDialect } from "./dialect.ts";
import { expectedAt, type Heard, type Scenario, type Turn, type Utterance } from "./scenario.ts";
import { checkAddress, type Speaker, speakerAt } from "./speakers.ts";

/** What became of one request. */
export interface Reply {
  readonly scenario: string;
  readonly turn: number;
  /** Whether reasoning of earlier turns came back with it. */
  readonly reasoningReturned: boolean;
}

/** A provider that plays scenarios in all dialects, and holds what it is asked against them. */
export interface ConversationProvider {
  readonly url: string;
  readonly replies: readonly Reply[];
  /** What was wrong with requests; a test must find none. */
  readonly complaints: readonly string[];
  forget(): void;
  stop(): void;
}

/**
 * The scenario is known by the first words of the user, the turn by how many have been answered. `silence` is
 * what a stream does in its middle.
 */
export function startConversationProvider(
  scenarios: readonly Scenario[],
  silence: () => Step = () => ({ sleepMs: 2 }),
): ConversationProvider {
  const replies: Reply[] = [];
  const complaints: string[] = [];

  function answer(request: SeenRequest): Answer {
    const token = tokenResponse(request);
    if (token !== null) return token;
    const speaker = speakerAt(request.path);
    const { wire } = speaker;
    try {
      checkAddress(request, speaker);
      const heard = wire.hear(request.body);
      const scenario = scenarios.find(({ ask }) => Bun.deepEquals(heard.spoken[0], firstOf(ask.user[0])));
      if (scenario === undefined) return complain("nobody begins like this:", heard.spoken[0]);
      const turn = turnOf(heard);
      const reasoningReturned = compare(heard, expectedAt(scenario, turn), speaker);
      replies.push({ scenario: scenario.name, turn, reasoningReturned });
      return render(wire, scenario.turns[turn] ?? complain("one turn too many"), request, silence());
    } catch (error) {
      if (!(error instanceof Complaint)) throw error;
      complaints.push(`${request.path}: ${error.message}`);
      return json(wire.failure(error.message), { status: 400 });
    }
  }

  const provider = startProvider(answer);
  return {
    url: provider.url,
    replies,
    complaints,
    forget() {
      replies.length = 0;
      complaints.length = 0;
    },
    stop: provider.stop,
  };
}

function firstOf(text: string): Utterance {
  return { who: "user", text };
}

/** A turn ends where another role speaks after the assistant. */
function turnOf({ spoken }: Heard): number {
  return spoken.filter(({ who }, at) => who !== "assistant" && spoken[at - 1]?.who === "assistant").length;
}

/**
 * Everything must be as the scenario has it; only reasoning may be missing, because a chat client cannot
 * bring it back. Gives whether it came: then it must be complete, in place and untouched.
 */
function compare(heard: Heard, expected: Heard, { dialect, wire }: Speaker): boolean {
  const reasoning = expected.spoken.filter(isThinking);
  const came = heard.spoken.some(isThinking);
  const spoken = expected.spoken
    .filter((utterance, at) => !isThinking(utterance) || (came && isWanted(dialect, expected.spoken[at + 1])))
    .map((utterance) => (isThinking(utterance) ? asReturned(dialect, utterance) : utterance));
  const wanted: Heard = { ...expected, spoken: wire.numbersCalls === true ? numbered(spoken) : spoken };
  if (!Bun.deepEquals(heard, wanted)) complain("heard and expected:", heard, wanted);
  return came && reasoning.length > 0;
}

type Thinking = Extract<Utterance, { readonly thinking: string }>;

function isThinking(utterance: Utterance): utterance is Thinking {
  return "thinking" in utterance;
}

/** Numbers calls by their position in the conversation, and gives each result its call's number. */
function numbered(spoken: readonly Utterance[]): Utterance[] {
  const ids = spoken.flatMap((utterance) => ("call" in utterance ? [utterance.call.id] : []));
  return spoken.map((utterance) => {
    if ("call" in utterance) {
      const { call } = utterance;
      return { ...utterance, call: { ...call, id: numberOf(ids.indexOf(call.id)) } };
    }
    return utterance.who === "tool" ? { ...utterance, id: numberOf(ids.indexOf(utterance.id)) } : utterance;
  });
}

/** Gemini wants back what it thought before a call only. */
function isWanted(dialect: Speaker["dialect"], next: Utterance | undefined): boolean {
  return dialect !== "gemini" || (next !== undefined && "call" in next);
}

/** A chat provider has no proofs, and Gemini wants nothing but them. */
function asReturned(dialect: Speaker["dialect"], utterance: Thinking): Utterance {
  if (dialect === "gemini") return { ...utterance, thinking: "" };
  return dialect === "chat" ? { ...utterance, proof: null } : utterance;
}

function render(dialect: ProviderDialect, turn: Turn, request: SeenRequest, silence: Step): Answer {
  if (dialect.isAskedToStream(request)) return streamed(dialect, dialect.stream(turn, request.body), silence);
  if (turn.ending === "fails") return json(dialect.failure(failureWords), { status: 500 });
  const body = JSON.stringify(dialect.say(turn, request.body));
  return text(turn.ending === "cut" ? body.slice(0, -20) : body, "application/json");
}

/** In two pieces, so that an answer has begun before it can fail. */
function streamed(
  { streamType }: ProviderDialect,
  frames: readonly (string | Uint8Array)[],
  silence: Step,
): Answer {
  const half = Math.ceil(frames.length / 2);
  const joined = (some: readonly (string | Uint8Array)[]) => Buffer.concat(some.map(encode));
  const steps: Step[] = [
    { write: joined(frames.slice(0, half)) },
    silence,
    { write: joined(frames.slice(half)) },
  ];
  const answer = sse("");
  const headers = streamType === undefined ? answer.headers : { "content-type": streamType };
  return { ...answer, headers, steps };
}
