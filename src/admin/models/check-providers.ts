import { abortAfter } from "../../base/loop/deadline.ts";
import { shownModel } from "../../base/models/shown-model.ts";
import { withoutSecrets } from "../../base/secrets/secrets.ts";
import type { DeploymentSettings, ModelSettings, Settings } from "../../config/settings.ts";
import { readErrorObject } from "../../dialects/errors/error-body.ts";
import { parseObject } from "../../dialects/json/json-fields.ts";
import { type ProviderDialectName, providerDialect } from "../../dialects/registry.ts";
import { adaptObject, bodyVendorOf } from "../../vendors/adapt-body.ts";
import type { Credential } from "../../vendors/credentials/credential.ts";
import { TokenSources } from "../../vendors/credentials/token-sources.ts";
import type {
  PreparedRequest,
  Provider,
  ProviderErrorSubject,
  ProviderSettings,
} from "../../vendors/provider.ts";
import { createProvider } from "../../vendors/registry.ts";
import { type CollectedResponse, collectResponse } from "../../wire/collect.ts";
import { skippedProviders } from "./check-provider-keys.ts";
import type { ModelCheckView } from "./schema.ts";
import { unreachableText } from "./unreachable.ts";

/** Less than the 30 s after which the gateway closes a connection on which nothing happens. */
const timeoutMs = 25_000;
const question = "Answer with one word: ready?";
const outputTokens = 16;
const maxMessageLength = 200;

/**
 * Sends a small request to every usable provider, or to every deployment of one model, with each key of its pool, all at
 * once. It bypasses keys and ledger, so it is never charged.
 */
export async function checkProviders(settings: Settings, model?: ModelSettings): Promise<ModelCheckView[]> {
  const targets = model === undefined ? firstDeployments(settings) : deploymentsOf(model, settings);
  const checks = (await Promise.all(targets.map(check))).flat();
  return model === undefined ? [...checks, ...skippedProviders(settings).map(skippedView)] : checks;
}

function skippedView({ provider, reason }: { provider: string; reason: string }): ModelCheckView {
  const uncalled = { dialect: null, upstream_model: null, key: null, status: null, took_ms: 0 };
  return { provider, usable: false, ...uncalled, ok: false, problem: `skipped: ${reason}` };
}

interface Target {
  readonly settings: ProviderSettings;
  /** Null if no LLM uses the provider. */
  readonly deployment: DeploymentSettings | null;
}

const skippedText = "skipped: no LLM uses this provider";

function generates({ serves }: ModelSettings): boolean {
  return serves.includes("generation");
}

function firstDeployments({ providers, models }: Settings): Target[] {
  const deployments = models.filter(generates).flatMap((model) => model.deployments);
  return [...providers.values()].map((settings) => ({
    settings,
    deployment: deployments.find(({ provider }) => provider === settings.name) ?? null,
  }));
}

function deploymentsOf(model: ModelSettings, { providers }: Settings): Target[] {
  return model.deployments.flatMap((deployment) => {
    const settings = providers.get(deployment.provider);
    return settings === undefined ? [] : [{ settings, deployment: generates(model) ? deployment : null }];
  });
}

async function check({ settings, deployment }: Target): Promise<ModelCheckView[]> {
  const [dialect] = deployment?.dialects ?? settings.dialects;
  const target = {
    provider: settings.name,
    usable: true,
    dialect: dialect ?? null,
    upstream_model: deployment === null ? null : shownModel(deployment.upstreamModel),
  };
  if (deployment === null || dialect === undefined) {
    return [{ ...target, key: null, ok: false, status: null, took_ms: 0, problem: skippedText }];
  }
  const tokens = new TokenSources();
  const provider = createProvider(settings, { tokens });
  const { credentials } = provider;
  try {
    return await Promise.all(
      (credentials.length === 0 ? [null] : credentials).map(async (credential, index) => ({
        ...target,
        key: credentials.length > 1 ? index + 1 : null,
        ...(await tryOnce(provider, credential, dialect, deployment)),
      })),
    );
  } finally {
    tokens.stop();
  }
}

type Result = Pick<ModelCheckView, "ok" | "status" | "took_ms" | "problem">;

async function tryOnce(
  provider: Provider,
  credential: Credential | null,
  dialect: ProviderDialectName,
  deployment: DeploymentSettings,
): Promise<Result> {
  const startedMs = performance.now();
  const result = (status: number | null, problem: string | null): Result => ({
    ok: problem === null,
    status,
    took_ms: Math.round(performance.now() - startedMs),
    problem,
  });
  try {
    const answer = await ask(provider, credential, dialect, deployment);
    return result(answer.status, problemWith(answer, provider, deployment));
  } catch (error) {
    return result(null, withoutSecrets(unreachableText(error, timeoutMs)));
  }
}

function ask(
  provider: Provider,
  credential: Credential | null,
  dialect: ProviderDialectName,
  { upstreamModel, maxTokensField, family }: DeploymentSettings,
): Promise<CollectedResponse> {
  const target = { upstreamModel, maxTokensField, maxOutputTokens: outputTokens };
  const small = providerDialect(dialect).smallRequest(question, target);
  const vendor = bodyVendorOf(provider.settings, dialect, family ?? upstreamModel, {});
  const body = JSON.stringify(adaptObject(small, vendor, []).body);
  const prepared: PreparedRequest = {
    dialect,
    purpose: "generate",
    model: upstreamModel,
    stream: false,
    body,
    headers: {},
  };
  return collectResponse(
    (receiver) => provider.send(prepared, credential?.use() ?? null, receiver, "models check"),
    abortAfter(timeoutMs),
  );
}

function problemWith(
  { status, head, text }: CollectedResponse,
  provider: Provider,
  { upstreamModel }: DeploymentSettings,
): string | null {
  const body = parseObject(text);
  if (status === 200) {
    if (body === null) return "the response is not JSON; check base_url";
    return body["error"] == null ? null : beforeAdvice(readErrorObject(body).message);
  }
  const answer = { head, text, receivedAtMs: Date.now() };
  const providerError = provider.readProviderError(answer);
  const advice =
    provider.advise?.(answer, shownModel(upstreamModel)) ?? defaultAdvice(status, providerError.about);
  const providerMessage = body === null ? "" : ` ${beforeAdvice(providerError.message)}`;
  return `${status}${providerMessage}; ${advice}`;
}

/** Truncates a message and removes its full stop, since advice follows. Secrets have already been removed from it. */
function beforeAdvice(message: string): string {
  return message.slice(0, maxMessageLength).replace(/\.$/, "");
}

function defaultAdvice(status: number, about: ProviderErrorSubject | undefined): string {
  if (status === 402 || about === "unpaid")
    return "the account is out of credit or over its spending limit; see the provider's billing page";
  if (status === 401 || status === 403) return "check api_key";
  if (status === 404 || (status >= 300 && status < 400)) return "check base_url and upstream_model";
  if (status === 429) return "the account is over its quota or rate limit";
  return status >= 500 ? "the provider has a problem; try again later" : "check upstream_model and dialects";
}
