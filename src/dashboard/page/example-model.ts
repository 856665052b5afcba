import type { KeyView } from "../../admin/key-terms/schema.ts";
import type { ModelBriefView } from "../../admin/models/schema.ts";
import type { ClientId } from "../../base/models/client-snippets.ts";
import { preferredModel } from "../../base/models/preferred-model.ts";

/** The fields that determine which models a key can use. */
export type KeyScope = Pick<KeyView, "mode" | "models" | "provider_scope">;

const newKey: KeyScope = { mode: "credit", models: null, provider_scope: "all" };

/** The LLM to show in an example for this client, among those that the key can use. */
export function exampleModel(
  client: ClientId,
  models: readonly ModelBriefView[],
  key: KeyScope = newKey,
): string | undefined {
  return preferredFor(
    client,
    models.filter((model) => model.serves.includes("generation") && canUse(key, model)),
  );
}

/** The model to start with. Lists do not show a catalog's dated and old ids. */
export function preferredFor(client: ClientId, models: readonly ModelBriefView[]): string | undefined {
  const listed = models.filter((model) => model.listed);
  const named = (listed.length > 0 ? listed : models).map(({ id, providers }) => ({
    id,
    provider: providers[0],
  }));
  return preferredModel(client, named)?.id;
}

function canUse(key: KeyScope, { id, aliases, providers, price, free }: ModelBriefView): boolean {
  const isPaid = key.mode === "token_budget" || free || price !== null;
  const isInScope = key.provider_scope === "all" || providers.includes(key.provider_scope);
  const isNamed = key.models === null || [id, ...aliases].some((name) => key.models?.includes(name));
  return isPaid && isInScope && isNamed;
}
