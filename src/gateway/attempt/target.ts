import { assert } from "../../base/assert.ts";
import { shared } from "../../base/bytes.ts";
import type { JsonObject } from "../../base/json.ts";
import type { Source } from "../../dialects/contract/client-dialect.ts";
import type { Target } from "../../dialects/contract/provider-dialect.ts";
import { parseWhole } from "../../dialects/json/parse-body.ts";
import { type BodyChanges, changedBody } from "../../dialects/json/patch.ts";
import {
  type ClientDialectName,
  clientDialect,
  isSpoken,
  type ProviderDialectName,
  providerDialect,
} from "../../dialects/registry.ts";
import { translate } from "../../dialects/translation/translate.ts";
import type { SerializedToolMapping, Translation } from "../../dialects/translation/translation.ts";
import type { Deployment } from "../../upstream/upstream.ts";
import { adaptObject, type BodyVendor } from "../../vendors/adapt-body.ts";
import { vendorOf } from "../../vendors/registry.ts";
import type { Job } from "../body-worker/job.ts";

/** The facts about a deployment that a translation needs. */
export function targetOf(deployment: Deployment, toward: ProviderDialectName): Target {
  const { settings } = deployment.provider;
  const vendor = vendorOf(settings.kind);
  const traits = vendor.modelTraits?.(deployment.family ?? deployment.upstreamModel);
  return {
    dialect: providerDialect(toward),
    upstreamModel: deployment.upstreamModel,
    family: deployment.family ?? undefined,
    provider: settings.name,
    isStrict: traits?.isStrict ?? vendor.strictDialects.includes(toward),
    maxOutputTokens: deployment.model.maxOutputTokens,
    maxTokensField: deployment.maxTokensField,
    quirks: settings.quirks.length > 0 ? settings.quirks : traits?.quirks,
    streamUsage: settings.streamUsage,
    marksCache: deployment.model.cache === "auto",
    capabilities: { ...vendor.capabilities, ...deployment.model.capabilities },
    ...(vendor.requestFields === undefined ? {} : { fields: vendor.requestFields(settings.options, toward) }),
  };
}

/**
 * The client's own dialect if the provider speaks it, else the richest one that it speaks. A request with stop
 * sequences prefers a dialect that has them.
 */
export function dialectToward(
  client: ClientDialectName,
  spoken: readonly ProviderDialectName[],
  body: JsonObject,
): ProviderDialectName {
  return isSpoken(client, spoken) ? client : richestToward(client, spoken, body);
}

function richestToward(
  client: ClientDialectName,
  spoken: readonly ProviderDialectName[],
  body: JsonObject,
): ProviderDialectName {
  const able = hasStopSequences(client, body) ? spoken.filter(takesStopSequences) : spoken;
  const found = richest(able) ?? richest(spoken);
  assert(found !== undefined, "every provider speaks some dialect");
  return found;
}

function hasStopSequences(client: ClientDialectName, body: JsonObject): boolean {
  const { readStops, fieldNames } = clientDialect(client);
  const stops = readStops === undefined ? body[fieldNames.stop] : readStops(body);
  return typeof stops === "string" || (Array.isArray(stops) && stops.length > 0);
}

function takesStopSequences(name: ProviderDialectName): boolean {
  return providerDialect(name).takesStopSequences;
}

function richest(names: readonly ProviderDialectName[]): ProviderDialectName | undefined {
  let found = names[0];
  for (const name of names) {
    if (found !== undefined && providerDialect(name).richness > providerDialect(found).richness) found = name;
  }
  return found;
}

export interface TranslatedBody {
  readonly translation: Translation;
  readonly body: string;
  readonly dropped: readonly string[];
}

/** A request in the provider's dialect, as its vendor takes it. */
export function translateBody(source: Source, target: Target, vendor: BodyVendor | null): TranslatedBody {
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
