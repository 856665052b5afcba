import { abortAfter } from "../../base/deadline.ts";
import { withoutSecrets } from "../../base/secrets.ts";
import { shownModel } from "../../base/shown-model.ts";
import { systemCode } from "../../base/system-code.ts";
import type { DeploymentSettings, Settings } from "../../config/settings.ts";
import { readErrorObject } from "../../dialects/errors/refusal.ts";
import { parseObject } from "../../dialects/json/json-fields.ts";
import { type ProviderDialectName, providerDialect } from "../../dialects/registry.ts";
import { adaptObject, bodyVendorOf } from "../../vendors/adapt-body.ts";
import { CredentialUnavailable } from "../../vendors/credentials/credential.ts";
import { TokenSources } from "../../vendors/credentials/token-sources.ts";
import type { Prepared, Provider } from "../../vendors/provider.ts";
import { createProvider } from "../../vendors/registry.ts";
import type { ProviderSettings } from "../../vendors/settings.ts";
import { type CollectedAnswer, collectAnswer } from "../../wire/collect.ts";

/** The result of one small request to a provider. */
export interface ProviderCheck {
  readonly provider: string;
  readonly dialect: ProviderDialectName | null;
  readonly upstreamModel: string | null;
  readonly ok: boolean;
  /** Null if there was no answer at all. */
  readonly status: number | null;
  readonly tookMs: number;
  /** What is wrong and what to do about it; null if the provider works. */
  readonly problem: string | null;
}

const timeoutMs = 30_000;
const question = "Answer with one word: ready?";
const outputTokens = 16;
const longestMessage = 200;

/** Sends a small request to every usable provider, all at once. It bypasses keys and ledger: nobody is charged. */
export function checkProviders(settings: Settings): Promise<ProviderCheck[]> {
  return Promise.all([...settings.providers.values()].map((provider) => check(provider, settings)));
}

async function check(settings: ProviderSettings, all: Settings): Promise<ProviderCheck> {
  const deployment = firstDeploymentOf(settings.name, all);
  const [dialect] = deployment?.dialects ?? settings.dialects;
  const startedMs = performance.now();
  const result = (status: number | null, problem: string | null): ProviderCheck => ({
    provider: settings.name,
    dialect: dialect ?? null,
    upstreamModel: deployment === null ? null : shownModel(deployment.upstreamModel),
    ok: problem === null,
    status,
    tookMs: Math.round(performance.now() - startedMs),
    problem,
  });
  if (deployment === null || dialect === undefined)
    return result(null, "no model uses it, so nothing was asked");
  const tokens = new TokenSources();
  const provider = createProvider(settings, { tokens });
  try {
    const answer = await ask(provider, dialect, deployment);
    return result(answer.status, problemWith(answer, provider, deployment));
  } catch (error) {
    return result(null, withoutSecrets(unreachable(error)));
  } finally {
    tokens.stop();
  }
}

function firstDeploymentOf(provider: string, { models }: Settings): DeploymentSettings | null {
  const deployments = models.flatMap((model) => model.deployments);
  return deployments.find((deployment) => deployment.provider === provider) ?? null;
}

function ask(
  provider: Provider,
  dialect: ProviderDialectName,
  { upstreamModel, maxTokensField, family }: DeploymentSettings,
): Promise<CollectedAnswer> {
  const target = { upstreamModel, maxTokensField, maxOutputTokens: outputTokens };
  const small = providerDialect(dialect).smallRequest(question, target);
  const vendor = bodyVendorOf(provider.settings, dialect, family ?? upstreamModel, {});
  const body = JSON.stringify(adaptObject(small, vendor, []).body);
  const prepared: Prepared = {
    dialect,
    purpose: "generate",
    model: upstreamModel,
    stream: false,
    body,
    headers: {},
  };
  return collectAnswer(
    (receiver) => provider.send(prepared, provider.credentials[0]?.use() ?? null, receiver, "models check"),
    abortAfter(timeoutMs),
  );
}

function problemWith(
  { status, head, text }: CollectedAnswer,
  provider: Provider,
  { upstreamModel }: DeploymentSettings,
): string | null {
  const body = parseObject(text);
  if (status === 200) {
    if (body === null) return "it answered with something that is not JSON; check base_url";
    return body["error"] == null ? null : shortened(readErrorObject(body).message);
  }
  const answer = { head, text, receivedAtMs: Date.now() };
  const advice = provider.advise?.(answer, shownModel(upstreamModel)) ?? usualAdvice(status);
  const said = body === null ? "" : ` ${shortened(provider.readRefusal(answer).message)}`;
  return `${status}${said}; ${advice}`;
}

/** Secrets, which some vendors repeat in their errors, are gone from it already. */
function shortened(message: string): string {
  return message.slice(0, longestMessage);
}

function usualAdvice(status: number): string {
  if (status === 401 || status === 403) return "check api_key";
  if (status === 404 || (status >= 300 && status < 400)) return "check base_url and upstream_model";
  if (status === 402 || status === 429) return "its quota or rate limit is used up";
  return status >= 500 ? "the provider has trouble; try again later" : "check upstream_model and dialects";
}

function unreachable(error: unknown): string {
  if (error instanceof CredentialUnavailable) return `no credential: ${error.message}`;
  if (error instanceof Error && error.name === "TimeoutError")
    return `no answer within ${timeoutMs / 1000} s`;
  const code = systemCode(error);
  return `cannot be reached${code === null ? "" : ` (${code})`}; check base_url and the network`;
}
