import { hostname, networkInterfaces } from "node:os";
import type { Environment } from "../../base/system/environment.ts";
import { type CatalogVendor, catalogVendors, type VendorAccount } from "../catalog/vendors.ts";
import { azureVariables } from "./variables.ts";

/** A vendor whose key is in the environment. The key itself is read where the provider is loaded, as for a file. */
export interface FoundVendor {
  /** Its name in the built-in catalog. */
  readonly provider: string;
  /** The variable that holds the key. */
  readonly variable: string;
  /** From the vendor's own variable; null: the vendor's usual address. */
  readonly baseUrl: string | null;
  /** A note for the operator. */
  readonly note?: string;
}

/** A variable that looks like a vendor's key, and why the vendor is not served. Never holds the value. */
export interface SkippedVariable {
  readonly variable: string;
  readonly reason: string;
}

export interface EnvironmentVendors {
  readonly served: readonly FoundVendor[];
  readonly skipped: readonly SkippedVariable[];
}

/** Looks for the vendors' own variables. */
export function vendorsInEnvironment(env: Environment, own: OwnAddress): EnvironmentVendors {
  const served: FoundVendor[] = [];
  const skipped: SkippedVariable[] = [];
  for (const [provider, vendor] of Object.entries(catalogVendors)) {
    for (const variable of vendor.keys) {
      const key = env[variable];
      if (key === undefined) continue;
      const { baseUrl, problem } = addressIn(env, vendor, own);
      const reason = whyNotKey(key) ?? problem;
      if (reason !== null) skipped.push({ variable, reason });
      else if (!served.some((other) => other.provider === provider))
        served.push({ provider, variable, baseUrl });
    }
  }
  const azureKey = env[azureVariables.key];
  if (azureKey !== undefined)
    skipped.push({
      variable: azureVariables.key,
      reason:
        whyNotKey(azureKey) ?? "Azure OpenAI needs a configuration file; `sluice config init` writes one",
    });
  return { served, skipped };
}

/** Null for the vendor's usual address. */
interface FoundAddress {
  readonly baseUrl: string | null;
  readonly problem: string | null;
}

/** An address of its own comes before the account. */
function addressIn(env: Environment, { baseUrls, account }: CatalogVendor, own: OwnAddress): FoundAddress {
  const at = baseUrls.find((name) => (env[name] ?? "").trim() !== "");
  if (at !== undefined) {
    const baseUrl = (env[at] ?? "").trim();
    return { baseUrl, problem: whyNotAddress(at, baseUrl, own) };
  }
  return account === undefined ? { baseUrl: null, problem: null } : accountAddress(env, account);
}

/** Databricks' tools accept the host with and without `https://`. Snowflake has `-` in an address for a `_` in an account. */
function accountAddress(
  env: Environment,
  { variable, baseUrl, form, expected }: VendorAccount,
): FoundAddress {
  const account = (env[variable] ?? "")
    .trim()
    .replace(/^https:\/\//, "")
    .replace(/\/+$/, "");
  if (account === "") return { baseUrl: null, problem: `${variable} is missing: set it to ${expected}` };
  if (!form.test(account)) return { baseUrl: null, problem: `${variable} is not ${expected}` };
  return { baseUrl: baseUrl.replace("ACCOUNT", account.replaceAll("_", "-")), problem: null };
}

/** Null for what may be a key of a vendor. */
export function whyNotKey(value: string): string | null {
  const key = value.trim();
  if (key === "") return "it is empty";
  if (/^slua?_/.test(key)) return "it is a Sluice key, not the vendor's";
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the check is for control characters.
  if (/[\u0000-\u001f\u007f]/.test(key)) return "it holds more than one line or a control character";
  return null;
}

/** The address may hold a password, so that no reason repeats it. */
function whyNotAddress(variable: string, address: string, own: OwnAddress): string | null {
  const url = URL.parse(address);
  if (url === null || !/^https?:$/.test(url.protocol))
    return `${variable} is not an address that begins with http:// or https://`;
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "")
    return `${variable} must not have a user name, a password, "?" or "#"`;
  return isGatewayItself(url, own) ? `${variable} is the address of this gateway` : null;
}

interface OwnAddress {
  readonly host: string;
  readonly port: number;
}

/** Whether an address leads back to this gateway: a vendor there would call itself without end. */
function isGatewayItself(address: URL, { host, port }: OwnAddress): boolean {
  const usualPort = address.protocol === "https:" ? 443 : 80;
  if (Number(address.port || usualPort) !== port) return false;
  const named = address.hostname.replace(/^\[|\]$/g, "").toLowerCase();
  if (/^127\.|^localhost$|\.localhost$/.test(named)) return true;
  const own = [host, "0.0.0.0", "::", "::1", hostname(), ...machineAddresses()];
  return own.some((each) => each.toLowerCase() === named);
}

function machineAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((list = []) => list.map(({ address }) => address));
}
