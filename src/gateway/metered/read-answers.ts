import { assert } from "../../base/assert.ts";
import { sharedCopy } from "../../base/shared-bytes.ts";
import type { Usage } from "../../base/usage.ts";
import type { ReadMetered } from "../../dialects/metered/route.ts";
import { isLargeBody } from "../large/is-large.ts";
import type { Answered } from "./ask.ts";
import type { MeteredAsking } from "./asking.ts";

/** What the client is sent. */
export type MeteredBody = Uint8Array | string;

/** What was used, and the answer once its usage is known. */
export interface FoundAnswer extends Omit<ReadMetered, "written"> {
  bodyWith(usage: Usage): MeteredBody;
}

/** Answers that have to be parsed and written anew are so on another thread if they are large. */
export async function readAnswers(
  { gateway, name, route, asked }: MeteredAsking,
  { answers, chosen }: Answered,
): Promise<FoundAnswer> {
  const [answer] = answers;
  assert(answer !== undefined, "a provider has answered");
  const passed = answers.length === 1 ? (chosen.format.pass?.(answer, asked) ?? null) : null;
  if (passed !== null) return { ...passed, bodyWith: () => answer.bytes };
  const end = (usage: Usage) => route.writeEnd?.(usage) ?? "";
  if (!answers.some(({ bytes }) => isLargeBody(bytes))) {
    const read = chosen.format.read?.(answers, asked);
    assert(read !== undefined, "an answer passes, or is read");
    return { ...read, bodyWith: (usage) => (read.written ?? "") + end(usage) };
  }
  const job = {
    type: "metered",
    route: name,
    format: chosen.name,
    answers: answers.map((each) => ({ ...each, bytes: sharedCopy(each.bytes) })),
    asked,
  } as const;
  const { written, ...read } = await gateway.largeBodies.runAnswer(job);
  return {
    ...read,
    bodyWith: (usage) => Buffer.concat([written ?? new Uint8Array(), Buffer.from(end(usage))]),
  };
}
