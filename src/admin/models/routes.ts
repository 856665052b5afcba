import type { ModelSettings, Settings } from "../../config/settings.ts";
import { notFound } from "../routes/refusal.ts";
import { type AdminRoute, post } from "../routes/route.ts";
import { listOf } from "../routes/shapes.ts";
import { checkProviders } from "./check-providers.ts";
import { modelCheckBody, modelCheckView } from "./schema.ts";

export const modelRoutes: readonly AdminRoute[] = [
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
          detail: `${answering} of ${checks.length} answer`,
        },
      };
    },
  ),
];

function modelNamed(id: string, { models }: Settings): ModelSettings {
  const model = models.find((candidate) => candidate.id === id);
  if (model === undefined) throw notFound(`model ${JSON.stringify(id)}`);
  return model;
}
