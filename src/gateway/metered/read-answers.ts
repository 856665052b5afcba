import { assert } from "../../base/assert.ts";
import { lengthOf, shared } from "../../base/bytes.ts";
import type { Usage } from "../../base/usage/usage.ts";
import type { MeteredAnswer, MeteredFormat, MeteredReading } from "../../dialects/metered/route.ts";
import type { Piece } from "../answer/stream-relayer.ts";
import { isLargeBody, largeBodyBytes } from "../body-worker/is-large.ts";
import type { AnsweredParts } from "./ask.ts";
import type { MeteredPlan } from "./metered-call.ts";

/** What was used, and the answer once its usage is known. */
export interface FoundAnswer extends Omit<MeteredReading, "written"> {
  bodyWith(usage: Usage): readonly Piece[];
}

/** Large responses are read on another thread, and so are many small ones that have to be rewritten. */
export async function readAnswers(
  { call, name, route, askedAt }: MeteredPlan,
  { answers, chosen, opened }: AnsweredParts,
): Promise<FoundAnswer> {
  const [answer] = answers;
  const asked = askedAt(opened.deployment);
  const { format } = chosen;
  assert(answer !== undefined, "a provider has answered");
  const passed = answers.length === 1 && passesQuickly(answer, format) ? format.pass?.(answer, asked) : null;
  if (passed != null) return { ...passed, bodyWith: () => answer.pieces };
  const end = (usage: Usage) => route.writeEnd?.(usage) ?? "";
  if (!areLarge(answers)) {
    const read = format.read?.(answers, asked);
    assert(read !== undefined, "an answer passes, or is read");
    return { ...read, bodyWith: (usage) => [(read.written ?? "") + end(usage)] };
  }
  const job = {
    type: "metered",
    route: name,
    format: chosen.name,
    answers: answers.map(({ pieces: _, ...each }) => ({ ...each, bytes: shared(each.bytes) })),
    asked,
  } as const;
  const { written, ...read } = await call.gateway.largeBodies.runAnswer(job);
  if (written === null) return { ...read, bodyWith: () => answer.pieces };
  return { ...read, bodyWith: (usage) => [endedBy(written, Buffer.from(end(usage)))] };
}

function passesQuickly(answer: MeteredAnswer, { parsesWhole }: MeteredFormat): boolean {
  return parsesWhole === true ? !isLargeBody(answer.bytes) : lengthOf(answer.pieces) < largeBodyBytes;
}

/** Many small ones take as long as a large one. */
function areLarge(answers: readonly MeteredAnswer[]): boolean {
  const bytes = answers.reduce((sum, answer) => sum + lengthOf(answer.pieces), 0);
  return bytes >= largeBodyBytes || answers.some((answer) => isLargeBody(answer.bytes));
}

/** There is room behind it (body-worker/run-job.ts). */
function endedBy(written: Uint8Array, end: Uint8Array): Uint8Array {
  const whole = new Uint8Array(written.buffer, written.byteOffset, written.length + end.length);
  whole.set(end, written.length);
  return whole;
}
