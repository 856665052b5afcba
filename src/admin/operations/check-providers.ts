import { isObject, type JsonObject } from "../../base/json.ts";
import type { Settings } from "../../config/settings.ts";
import { type ProviderDialectName, providerDialect } from "../../dialects/registry.ts";
import type { Prepared } from "../../vendors/provider.ts";
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
  const upstreamModel = firstModelOf(settings.name, all);
  const [dialect] = settings.dialects;
  const startedMs = performance.now();
  const result = (status: number | null, problem: string | null): ProviderCheck => ({
    provider: settings.name,
    dialect: dialect ?? null,
    upstreamModel,
    ok: problem === null,
    status,
    tookMs: Math.round(performance.now() - startedMs),
    problem,
  });
  if (upstreamModel === null || dialect === undefined)
    return result(null, "no model uses it, so nothing was asked");
  try {
    const response = await ask(settings, dialect, upstreamModel);
    const problem = problemWith(response);
    return result(response.status, problem === null ? null : withoutSecrets(problem, settings));
  } catch (error) {
    return result(null, withoutSecrets(unreachable(error), settings));
  }
}

function firstModelOf(provider: string, { models }: Settings): string | null {
  const deployments = models.flatMap((model) => model.deployments);
  return deployments.find((deployment) => deployment.provider === provider)?.upstreamModel ?? null;
}

function ask(
  settings: ProviderSettings,
  dialect: ProviderDialectName,
  upstreamModel: string,
): Promise<CollectedAnswer> {
  const provider = createProvider(settings);
  const { maxTokensField } = settings;
  const target = { upstreamModel, maxTokensField, maxOutputTokens: outputTokens };
  const body = JSON.stringify(providerDialect(dialect).smallRequest(question, target));
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
    AbortSignal.timeout(timeoutMs),
  );
}

function problemWith(response: CollectedAnswer): string | null {
  const body = parsed(response.text);
  const said = body === null ? null : errorMessage(body);
  if (response.status === 200 && body !== null && said === null) return null;
  if (response.status === 200) return said ?? "it answered with something that is not JSON; check base_url";
  return `${response.status}${said === null ? "" : ` ${said}`}; ${advice(response.status)}`;
}

function parsed(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** Vendors agree on `error.message`; some compatible servers put `message` at the top, or make the error a string. */
function errorMessage(body: JsonObject): string | null {
  const { error } = body;
  const message = isObject(error) ? error["message"] : (error ?? undefined);
  return typeof message === "string" ? message.slice(0, longestMessage) : null;
}

function advice(status: number): string {
  if (status === 401 || status === 403) return "check api_key";
  if (status === 404 || (status >= 300 && status < 400)) return "check base_url and upstream_model";
  if (status === 402 || status === 429) return "its quota or rate limit is used up";
  return status >= 500 ? "the provider has trouble; try again later" : "check upstream_model and dialects";
}

function unreachable(error: unknown): string {
  if (error instanceof Error && error.name === "TimeoutError")
    return `no answer within ${timeoutMs / 1000} s`;
  const code = (error as { code?: unknown }).code;
  return `cannot be reached${typeof code === "string" ? ` (${code})` : ""}; check base_url and the network`;
}

/** Some vendors repeat the credential in their error. */
function withoutSecrets(text: string, { apiKeys, headers }: ProviderSettings): string {
  return [...apiKeys, ...Object.values(headers)].reduce((rest, secret) => rest.replaceAll(secret, "…"), text);
}
