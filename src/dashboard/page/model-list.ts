import type { ModelBriefView } from "../../admin/models/schema.ts";
import type { ClientId } from "../../base/models/client-snippets.ts";
import { preferredModel } from "../../base/models/preferred-model.ts";
import { type LoadState, useAnswer } from "./api.ts";
import type { Choice } from "./parts/field.tsx";

interface ModelList {
  readonly data: readonly ModelBriefView[];
}

/** Every model in brief: what lists and choices of models need. */
export function useModels(everyMs = 0): LoadState<ModelList> {
  return useAnswer<ModelList>("/models/brief", everyMs);
}

/** The model to show in an example of this client. */
export function exampleModel(client: ClientId, models: readonly ModelBriefView[]): string | undefined {
  const listed = models.filter((model) => model.listed && model.serves.includes("generation"));
  const named = (listed.length > 0 ? listed : models).map(({ id, providers }) => ({
    id,
    provider: providers[0],
  }));
  return preferredModel(client, named)?.id;
}

/** Listed ones first, because a catalog also serves dated and old ids. */
export function modelChoices(models: readonly ModelBriefView[]): readonly Choice[] {
  const [listed, others] = [models.filter((each) => each.listed), models.filter((each) => !each.listed)];
  return [...listed, ...others].map(({ id }) => ({ value: id, text: id }));
}
