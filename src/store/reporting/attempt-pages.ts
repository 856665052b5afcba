import type { Query } from "../query.ts";
import type { AttemptSums } from "../records.ts";
import { type AttemptPlace, selectAttemptSums, selectPageEnd } from "./attempt-columns.ts";

export const attemptsPerPage = 500;

/** The sums of a provider between two days, both included, so many at a time: a year of a hundred models is a hundred thousand of them. */
export async function* attemptPages(
  read: Query,
  provider: string,
  fromDay: number,
  throughDay: number,
): AsyncGenerator<readonly AttemptSums[]> {
  // No sum is of an empty ending, so this is before all of that day.
  let after: AttemptPlace = [fromDay, "", "", ""];
  for (;;) {
    const parameters = [provider, ...after];
    const [last] = await read<AttemptSums>(selectPageEnd, [...parameters, throughDay, attemptsPerPage - 1]);
    const through: AttemptPlace = last === undefined ? [throughDay + 1, "", "", ""] : placeOf(last);
    const page = await read<AttemptSums>(selectAttemptSums, [...parameters, ...through]);
    if (page.length > 0) yield page;
    if (last === undefined) return;
    after = through;
    await Bun.sleep(0);
  }
}

function placeOf({ day, credential, upstreamModel, ending }: AttemptSums): AttemptPlace {
  return [day, credential, upstreamModel, ending];
}
