import { coversModel } from "../../base/models/model-pattern.ts";
import type { ValueCapRecord } from "../../store/store.ts";
import { invalidInput } from "../context.ts";

/** The fields that decide which model a request switches to. */
type SteppingCap = Pick<
  ValueCapRecord,
  "id" | "keyId" | "accountId" | "mode" | "label" | "value" | "models" | "thenModel"
>;

/** Throws if the model to run instead is one that the cap limits, or if other caps lead from it back to such a model. */
export function rejectCircle(cap: SteppingCap, all: readonly SteppingCap[]): void {
  const { models, thenModel } = cap;
  if (thenModel === null) return;
  if (models === null)
    throw invalidInput(`a cap on all models also limits ${thenModel}; limit a pattern such as claude-opus-*`);
  if (coversModel(models, thenModel))
    throw invalidInput(
      `${thenModel} is itself one of the models ${models} that the cap limits; pass a model that it does not limit`,
    );
  const path = pathBack(cap, models, all);
  if (path === null) return;
  const steps = path.map(({ id, thenModel: next }) => `${id} switches to ${next}`).join(", ");
  throw invalidInput(
    `requests would switch models in a circle: from ${thenModel}, ${steps}, which this cap on ${models} limits; pass another model`,
  );
}

/** The caps that lead from the model that this one names back to those that it limits; null if there are none. */
function pathBack(
  cap: SteppingCap,
  models: string,
  all: readonly SteppingCap[],
): readonly SteppingCap[] | null {
  const meeting = all.filter(
    (other) => other.id !== cap.id && other.thenModel !== null && canMeet(cap, other),
  );
  // Many caps for one value each lead the same way.
  const steps = [...new Map(meeting.map((each) => [`${each.models} ${each.thenModel}`, each])).values()];
  const seen = new Set<string>();
  let paths: (readonly SteppingCap[])[] = [[cap]];
  while (paths.length > 0) {
    paths = paths.flatMap((path) => {
      const model = path.at(-1)?.thenModel ?? "";
      const next = steps.filter((each) => coversModel(each.models, model) && !seen.has(each.thenModel ?? ""));
      for (const { thenModel } of next) seen.add(thenModel ?? "");
      return next.map((each) => [...path, each]);
    });
    const back = paths.find((path) => coversModel(models, path.at(-1)?.thenModel ?? ""));
    if (back !== undefined) return back.slice(1);
  }
  return null;
}

/** Whether a request can fall under both. A key can be moved, so that it can meet the caps of every account. */
function canMeet(one: SteppingCap, other: SteppingCap): boolean {
  if (one.mode !== other.mode || differ(one.keyId, other.keyId) || differ(one.accountId, other.accountId))
    return false;
  return one.label !== other.label || !differ(one.value, other.value);
}

function differ(one: string | null, other: string | null): boolean {
  return one !== null && other !== null && one !== other;
}
