import type { JsonObject } from "../../base/json.ts";
import { isLoopback } from "../credentials/loopback.ts";

/** What every token is asked for. */
export const tokenScope = "https://www.googleapis.com/auth/cloud-platform";

/** Readers for the fields of Google's key files. */

export function stringIn(file: JsonObject, name: string): string | null {
  const value = file[name];
  return typeof value === "string" && value !== "" ? value : null;
}

/** What is wrong with an address that secrets are sent to; null if it is fine. */
export function addressProblem(name: string, address: string): string | null {
  if (!URL.canParse(address)) return `has a ${name} that is no address`;
  return address.startsWith("https:") || isLoopback(address) ? null : `has a ${name} that is not https`;
}
