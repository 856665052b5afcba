import { assert } from "../../base/assert.ts";
import type { JsonObject } from "../../base/json.ts";
import {
  type ClientDialectName,
  clientDialect,
  isSpoken,
  type ProviderDialectName,
  providerDialect,
} from "../../dialects/registry.ts";

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
  const stops = body[clientDialect(client).fieldNames.stop];
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
