import { Type } from "@sinclair/typebox";
import type { ModelSettings, Settings } from "../../config/settings.ts";
import { notFound } from "../formats/admin-error.ts";
import { listOf, oneOf, pageOf, text } from "../formats/shapes.ts";
import { type AdminRoute, get, post } from "../routes/route.ts";
import { checkProviderKeys } from "./check-provider-keys.ts";
import { checkProviders } from "./check-providers.ts";
import { modelBriefs } from "./model-briefs.ts";
import { modelViews } from "./model-views.ts";
import { modelBriefView, modelCheckBody, modelCheckView, modelView, providerKeyCheckView } from "./schema.ts";

const modelQuery = Type.Object({
  id: Type.Optional(text("Only the model with this id.")),
  listed: Type.Optional(oneOf(["true", "false"])),
});

export const modelRoutes: readonly AdminRoute[] = [
  get(
    "/models",
    "List models and the health of their deployments",
    { query: modelQuery, answers: pageOf(modelView) },
    ({ deps, query: { id, listed } }) => ({
      data: modelViews(
        deps,
        ({ id: each, listed: isListed }) =>
          (id === undefined || each === id) && (listed !== "true" || isListed),
      ),
      next_cursor: null,
    }),
  ),
  get(
    "/models/brief",
    "List models briefly, for choosing one",
    { answers: listOf(modelBriefView) },
    ({ deps }) => ({ data: modelBriefs(deps) }),
  ),
  get(
    "/providers/check",
    "Test each provider's key with the provider's list of models, which costs nothing",
    { role: "admin", answers: listOf(providerKeyCheckView) },
    async ({ deps }) => ({ data: await checkProviderKeys(deps.settings()) }),
  ),
  post(
    "/models/check",
    "Send a small request to each provider, or to each deployment of one model",
    { body: modelCheckBody, answers: listOf(modelCheckView) },
    async ({ deps, body }) => {
      const settings = deps.settings();
      const model = body.model === undefined ? undefined : modelNamed(body.model, settings);
      const checks = await checkProviders(settings, model);
      const answering = checks.filter((check) => check.ok).length;
      return {
        answer: { data: checks },
        change: {
          action: "models.check",
          target: model?.id ?? null,
          detail: `${answering} of ${checks.length} OK`,
        },
      };
    },
  ),
];

function modelNamed(id: string, { models }: Settings): ModelSettings {
  const model = models.find((candidate) => candidate.id === id || candidate.aliases.includes(id));
  if (model === undefined) throw notFound(`model ${JSON.stringify(id)}`);
  return model;
}
