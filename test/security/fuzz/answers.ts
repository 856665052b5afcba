import type { Json } from "../../../src/base/json.ts";
import { type Answer, bytesOf, splitAt } from "../../support/answers.ts";
import type { BodyDialectName } from "../../support/body-dialects.ts";
import { allStreams, answerFrom, type FixtureName } from "../../support/fixtures.ts";
import type { SeededRandom } from "../../support/random.ts";
import { damagedBytes, damagedJson } from "./mutate.ts";

const wholes: Readonly<Record<BodyDialectName, readonly FixtureName[]>> = {
  chat: ["chat/text.json", "chat/tools.json"],
  responses: ["responses/text.json", "responses/tools.json"],
  messages: ["messages/text.json", "messages/tools.json"],
};

const oddEvents = [
  ": comment\n\n",
  "\n\n\n",
  "event: ping\ndata: {}\n\n",
  "data: null\n\n",
  "data: {\n\n",
  "data: [DONE]\n\n",
  "retry: 5\nid: 7\n\n",
  'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"busy"}}\n\n',
  'data: {"error":{"message":"boom"}}\n\n',
  `data: {"x":"${"y".repeat(20_000)}"}\n\n`,
  "data: \ufeff{}\n\n",
];

/** An answer of the right kind that is damaged somewhere, cut anywhere, and sometimes of the other form. */
export function fuzzedResponse(dialect: BodyDialectName, stream: boolean, random: SeededRandom): Answer {
  const otherForm = random.chance(0.03);
  const form = stream !== otherForm ? allStreams : wholes;
  const good = answerFrom(random.pick(form[dialect]));
  const damaged = form === allStreams ? damagedStream(good, random) : damagedWhole(good, random);
  const answer = random.chance(0.02)
    ? { ...damaged, status: random.pick([201, 204, 400, 404, 418, 429, 500, 529]) }
    : damaged;
  if (answer.status === 204) return { ...answer, steps: [], framing: "length" };
  return cut(answer, random);
}

function damagedWhole(good: Answer, random: SeededRandom): Answer {
  const body: Json = JSON.parse(new TextDecoder().decode(bytesOf(good)));
  const damaged = Buffer.from(JSON.stringify(damagedJson(body, random, random.pick([0, 0.01, 0.05]))));
  const write = random.chance(0.2) ? damagedBytes(damaged, random) : damaged;
  return { ...good, framing: "chunked", steps: [{ write }] };
}

function damagedStream(good: Answer, random: SeededRandom): Answer {
  const rate = random.pick([0, 0.005, 0.03]);
  const events = new TextDecoder().decode(bytesOf(good)).split(/(?<=\r?\n\r?\n)/);
  const damaged = events.flatMap((event) => {
    if (random.chance(0.02)) return [];
    const next = damagedEvent(event, random, rate);
    if (random.chance(0.02)) return [next, next];
    return random.chance(0.02) ? [random.pick(oddEvents), next] : [next];
  });
  const bytes = Buffer.from(damaged.join(""));
  const write = random.chance(0.15) ? damagedBytes(bytes, random) : bytes;
  return { ...good, steps: [{ write }] };
}

function damagedEvent(event: string, random: SeededRandom, rate: number): string {
  const found = /^data: (\{.*\})\r?$/m.exec(event);
  if (found?.[1] === undefined || rate === 0) return event;
  return event.replace(found[1], () =>
    JSON.stringify(damagedJson(JSON.parse(found[1] ?? "{}"), random, rate)),
  );
}

/** The network hands over pieces of any size, and sometimes nothing more. */
function cut(answer: Answer, random: SeededRandom): Answer {
  const { length } = bytesOf(answer);
  if (length === 0) return answer;
  const places = Array.from({ length: random.below(4) }, () => random.below(length));
  const pieces = splitAt(answer, places, random.chance(0.2) ? 1 : 0);
  if (!random.chance(0.05)) return pieces;
  const kept = pieces.steps.slice(0, 1 + random.below(pieces.steps.length));
  return { ...pieces, steps: random.chance(0.5) ? [...kept, { reset: true }] : kept };
}
