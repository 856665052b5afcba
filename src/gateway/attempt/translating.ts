import { shared } from "../../base/bytes.ts";
import { priceAt } from "../../catalog/price.ts";
import type { Source } from "../../dialects/contract/client-dialect.ts";
import type { Target } from "../../dialects/contract/provider-dialect.ts";
import { parseWhole } from "../../dialects/json/parse-body.ts";
import { type BodyChanges, changedBody } from "../../dialects/json/patch.ts";
import {
  type ClientDialectName,
  clientDialect,
  type ProviderDialectName,
  providerDialect,
} from "../../dialects/registry.ts";
import { translate, translationOfResponse } from "../../dialects/translation/translate.ts";
import type { SerializedToolMapping, Translation } from "../../dialects/translation/translation.ts";
import type { Deployment } from "../../upstream/upstream.ts";
import { adaptObject, type BodyVendor } from "../../vendors/adapt-body.ts";
import type { Job } from "../body-worker/job.ts";
import { isSearchPriced, searchesIn } from "../charge/destination-prices.ts";
import { Attempt, type Generation, type PreparedAttempt, sourceOf, targetOf } from "./generation.ts";

/* A request in another dialect than its client's. */

export async function translatedAttempt(
  generation: Generation,
  deployment: Deployment,
  toward: ProviderDialectName,
  sendsSignatures: boolean,
): Promise<PreparedAttempt> {
  const { request } = generation;
  const target = targetFor(generation, deployment, toward, sendsSignatures);
  const vendor = generation.bodyVendorAt(deployment, toward);
  const { body, dropped, translation } = request.isLarge
    ? await translateOnWorker(generation, deployment, target, vendor, toward)
    : translateBody(sourceOf(generation, deployment, request.body), target, vendor);
  const named = withBetas(dropped, generation);
  return { attempt: new Attempt(generation, deployment, toward, named, translation), body };
}

async function translateOnWorker(
  generation: Generation,
  deployment: Deployment,
  { dialect: _, ...target }: Target,
  vendor: BodyVendor | null,
  toward: ProviderDialectName,
) {
  const { request, clientDialect: client, call } = generation;
  const { bytes } = request;
  const { body: truncated, dialect: __, ...source } = sourceOf(generation, deployment, request.truncated);
  const changes = generation.changesAt(deployment);
  const input = { bytes, changes, client, toward, source, target, vendor };
  const { toolMapping, body, dropped } = await call.gateway.largeBodies.runRequest(translateJob, input, call);
  request.forgetBody();
  const whole = sourceOf(generation, deployment, truncated);
  const translation = translationOfResponse(whole, targetOf(deployment, toward), toolMapping, dropped);
  return { body, dropped, translation };
}

/** A dialect's betas mean nothing in another. */
function withBetas(
  dropped: readonly string[],
  { clientDialect: name, headers }: Generation,
): readonly string[] {
  const { betaHeader } = clientDialect(name);
  return betaHeader !== null && (headers[betaHeader] ?? "") !== "" ? [...dropped, betaHeader] : dropped;
}

function targetFor(
  { webSearches, call: { pricedAtMs } }: Generation,
  deployment: Deployment,
  toward: ProviderDialectName,
  sendsSignatures: boolean,
): Target {
  const usual = targetOf(deployment, toward);
  const target = sendsSignatures ? usual : { ...usual, rejectsSignatures: true as const };
  return webSearches > 0 && maySearch(deployment, toward, pricedAtMs) ? { ...target, webSearches } : target;
}

function maySearch(deployment: Deployment, toward: ProviderDialectName, atMs: number): boolean {
  const { provider, model, price } = deployment;
  return searchesIn(provider.settings.kind, toward) && isSearchPriced({ price: priceAt(price, atMs) }, model);
}

interface TranslatedBody {
  readonly translation: Translation;
  readonly body: string;
  readonly dropped: readonly string[];
}

/** A request in the provider's dialect, as its vendor takes it. */
function translateBody(source: Source, target: Target, vendor: BodyVendor | null): TranslatedBody {
  const translation = translate(source, target);
  const { body, dropped } = adaptObject(translation.body, vendor, translation.dropped);
  return { translation, body: JSON.stringify(body), dropped };
}

interface TranslateInput {
  readonly bytes: Uint8Array;
  readonly changes: BodyChanges;
  readonly client: ClientDialectName;
  readonly toward: ProviderDialectName;
  readonly source: Omit<Source, "dialect" | "body">;
  readonly target: Omit<Target, "dialect">;
  readonly vendor: BodyVendor | null;
}

/** A translated request, as data. */
interface TranslateResult {
  readonly body: Uint8Array;
  readonly dropped: readonly string[];
  /** The client's names of the response's tools. */
  readonly toolMapping: SerializedToolMapping;
}

/** Translates a large request. */
export const translateJob: Job<TranslateInput, TranslateResult> = { name: "translate", run: translateLarge };

/** Field names from the client are reported back to it, but not in full length. */
const maxNameLength = 200;

function translateLarge({ bytes, changes, client, toward, ...input }: TranslateInput): TranslateResult {
  const body = changedBody(parseWhole(bytes), changes);
  const source = { ...input.source, dialect: clientDialect(client), body };
  const target = { ...input.target, dialect: providerDialect(toward) };
  const { translation, body: written, dropped } = translateBody(source, target, input.vendor);
  return {
    body: shared(Buffer.from(written)),
    dropped: dropped.map((name) => name.slice(0, maxNameLength)),
    toolMapping: translation.serializeToolMapping(),
  };
}
