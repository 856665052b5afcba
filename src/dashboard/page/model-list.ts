import type { ModelBriefView } from "../../admin/models/schema.ts";
import { type LoadState, useAnswer } from "./api.ts";
import type { Choice } from "./parts/field.tsx";

interface ModelList {
  readonly data: readonly ModelBriefView[];
}

/** Every model in brief: what lists and choices of models need. */
export function useModels(everyMs = 0): LoadState<ModelList> {
  return useAnswer<ModelList>("/models/brief", everyMs);
}

/** Listed ones first, because a catalog also serves dated and old ids. */
export function modelChoices(models: readonly ModelBriefView[]): readonly Choice[] {
  const [listed, others] = [models.filter((each) => each.listed), models.filter((each) => !each.listed)];
  return [...listed, ...others].map(({ id }) => ({ value: id, text: id }));
}
