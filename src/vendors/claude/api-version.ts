import type { ForwardedHeaders } from "../../dialects/headers.ts";

/**
 * The version of Anthropic's API that a cloud takes in the body: the client's. The versions of 2023 have a name of the
 * cloud's own, and are what translated requests are written for: later ones refuse temperature, top_p and top_k.
 */
export function anthropicVersion(headers: ForwardedHeaders, of2023: string): string {
  const asked = headers["anthropic-version"];
  return asked === undefined || /\b2023-/.test(asked) ? of2023 : asked;
}
