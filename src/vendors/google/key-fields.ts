import { isLoopback } from "../../wire/local-address.ts";

/** The scope of every token. */
export const tokenScope = "https://www.googleapis.com/auth/cloud-platform";

/** The problem with a URL that secrets are sent to; null if there is none. */
export function addressProblem(name: string, address: string): string | null {
  if (!URL.canParse(address)) return `has a ${name} that is not a URL`;
  return address.startsWith("https:") || isLoopback(address) ? null : `has a ${name} that is not https`;
}
