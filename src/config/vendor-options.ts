import { rememberAccountName } from "../base/secrets/secrets.ts";
import {
  type AuthenticationWay,
  byApiKey,
  type ProviderOptions,
  type VendorOptionName,
  vendorOption,
  vendorOptionNames,
} from "../vendors/options.ts";
import { vendorKinds, vendorOf } from "../vendors/registry.ts";
import type { Vendor } from "../vendors/vendor.ts";
import type { LoadContext } from "./problems.ts";
import type { ProviderConfig } from "./schema.ts";
import { isReference, readSecret, readSecretDocument, type Secret } from "./secrets.ts";

/** The settings that only this kind of provider has, with references resolved. `unset` names secrets that are not set; null if all are. */
export function loadOptions(path: string, provider: ProviderConfig, vendor: Vendor, context: LoadContext) {
  const options: Partial<Record<VendorOptionName, unknown>> = {};
  const unset: string[] = [];
  let isComplete = checkAuthentication(path, provider, vendor, context);
  for (const name of vendorOptionNames) {
    const configured = provider[name];
    if (configured === undefined) continue;
    if (vendor.options?.includes(name) === true && typeof configured !== "string") {
      options[name] = configured;
      continue;
    }
    const secret = resolve(name, String(configured), provider, vendor, context);
    if (secret.kind === "value") {
      options[name] = secret.value;
      if (vendorOption(name).isAccountName) rememberAccountName(secret.value);
      continue;
    }
    isComplete = false;
    if (secret.kind === "unset") unset.push(secret.reason);
    else context.problems.add(`${path}.${name}`, secret.message);
  }
  // The cast holds because the schema has checked every value that is written in the file itself.
  const loaded = options as ProviderOptions;
  for (const { option, message } of isComplete ? (vendor.checkOptions?.(loaded) ?? []) : []) {
    context.problems.add(`${path}.${option}`, message);
  }
  return { options: loaded, unset: unset.length === 0 ? null : unset.join(", ") };
}

function resolve(
  name: VendorOptionName,
  configured: string,
  { kind }: ProviderConfig,
  vendor: Vendor,
  context: LoadContext,
): Secret {
  if (vendor.options?.includes(name) !== true)
    return { kind: "problem", message: belongsElsewhere(name, kind) };
  switch (vendorOption(name).holds) {
    case "value":
      return { kind: "value", value: configured };
    case "secret":
      return readSecret(configured, context);
    case "document":
      return readDocument(configured, vendor.credentialKeywords ?? [], context);
  }
}

function readDocument(configured: string, keywords: readonly string[], context: LoadContext): Secret {
  if (keywords.includes(configured)) return { kind: "value", value: configured };
  if (isReference(configured)) return readSecretDocument(configured, context);
  const choices = keywords.map((keyword) => JSON.stringify(keyword)).join(", ");
  return {
    kind: "problem",
    message: `must be ${choices}, or refer to a key file, written "file:/path" or "env:NAME"`,
  };
}

function belongsElsewhere(name: VendorOptionName, kind: string): string {
  const owners = vendorKinds.filter((each) => vendorOf(each).options?.includes(name) === true);
  return `kind ${JSON.stringify(kind)} does not have this setting; it belongs to ${owners.map((each) => JSON.stringify(each)).join(", ")}`;
}

/** Exactly one way: with two, it would depend on the gateway which account pays. */
function checkAuthentication(
  path: string,
  provider: ProviderConfig,
  { authentication = [byApiKey] }: Vendor,
  { problems }: LoadContext,
): boolean {
  const all = new Set(authentication.flatMap(({ needs, mayHave = [] }) => [...needs, ...mayHave]));
  const present = [...all].filter((name) => provider[name] !== undefined);
  if (present.length === 0) return true;
  const way = authentication.find((each) => present.every((name) => belongsTo(each, name)));
  if (way === undefined) {
    problems.add(path, `${listed(present)} belong to different ways to authenticate; keep one of them`);
    return false;
  }
  const missing = way.needs.filter((name) => provider[name] === undefined);
  if (missing.length === 0) return true;
  // Where only what a way may have besides is given, nothing says that this way is meant.
  if (!way.needs.some((name) => provider[name] !== undefined)) return true;
  problems.add(`${path}.${missing[0]}`, `missing; ${listed(way.needs)} belong together`);
  return false;
}

function belongsTo({ needs, mayHave = [] }: AuthenticationWay, name: "api_key" | VendorOptionName): boolean {
  return needs.includes(name) || (name !== "api_key" && mayHave.includes(name));
}

function listed(names: readonly string[]): string {
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}
