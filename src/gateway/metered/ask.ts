import { assert } from "../../base/assert.ts";
import type { JsonObject } from "../../base/json.ts";
import { malformedAnswer } from "../../dialects/errors/failure.ts";
import type { MeteredAnswer } from "../../dialects/metered/route.ts";
import type { Deployment, Opened } from "../../upstream/upstream.ts";
import { largeBodyBytes } from "../large/is-large.ts";
import { joinShared } from "../large/join-shared.ts";
import type { ChosenFormat } from "./destination.ts";
import { MeteredCall, type MeteredCallParts } from "./metered-call.ts";

/** Calls of one request at the same time. */
const mostAtOnce = 8;

/** What providers have answered to the parts of a request. */
export interface Answered {
  readonly opened: Opened;
  readonly chosen: ChosenFormat;
  readonly dropped: readonly string[];
  /** In the order of the parts. Where one has failed, those of the others that were answered. */
  readonly answers: readonly MeteredAnswer[];
  /** The parts that they answer. */
  readonly parts: readonly JsonObject[];
  /** The first failure of a part; null if all were answered. */
  readonly failure: unknown;
}

/**
 * Asks for all parts of a request. The first one chooses the deployment: vectors of two models cannot be compared. The others follow
 * a few at a time. After a failure none is begun, and those under way run to their end, since they are billed. Rejects if the
 * first one fails.
 */
export async function askForParts(parts: MeteredCallParts, bodies: readonly JsonObject[]): Promise<Answered> {
  const isWhole = bodies.length === 1;
  const first = await ask(parts, isWhole ? null : (bodies[0] ?? null), null);
  const answers: (MeteredAnswer | undefined)[] = [first.answer];
  const dropped = new Set(first.call.dropped);
  let failure: unknown = null;
  let next = 1;
  const work = async () => {
    while (next < bodies.length && failure === null) {
      const place = next++;
      try {
        const { answer } = await ask(parts, bodies[place] ?? null, first.opened.deployment);
        answers[place] = answer;
      } catch (error) {
        failure ??= error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(mostAtOnce, bodies.length - 1) }, work));
  const { chosen } = first.call;
  assert(chosen !== null, "a provider has answered without an attempt");
  const given = answers.flatMap((answer, place) => (answer === undefined ? [] : [{ answer, place }]));
  return {
    opened: first.opened,
    chosen,
    dropped: [...dropped],
    answers: given.map(({ answer }) => answer),
    parts: given.map(({ place }) => bodies[place] ?? {}),
    failure,
  };
}

interface AskedPart {
  readonly call: MeteredCall;
  readonly opened: Opened;
  readonly answer: MeteredAnswer;
}

async function ask(
  parts: MeteredCallParts,
  body: JsonObject | null,
  pinned: Deployment | null,
): Promise<AskedPart> {
  const call = new MeteredCall(parts, body, pinned);
  const opened = await parts.exchange.configured.upstream.open(call);
  if (opened.streaming) {
    opened.finished("failed");
    throw malformedAnswer("it is a stream");
  }
  const { whole } = opened;
  const bytes = whole.bytes >= largeBodyBytes ? await joinShared(whole) : opened.bytes();
  opened.finished("completed");
  return { call, opened, answer: { bytes, countedInput: countedInput(opened) } };
}

/** Bedrock's. */
function countedInput(opened: Opened): number | null {
  const text = opened.head?.get("x-amzn-bedrock-input-token-count") ?? null;
  return text !== null && /^\d{1,10}$/.test(text) ? Number(text) : null;
}
