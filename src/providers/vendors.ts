import type { Vendor } from "./http-provider.ts";

const bearer = (apiKey: string) => ({ authorization: `Bearer ${apiKey}` });

/** https://platform.openai.com/docs/api-reference: the base URL ends in `/v1` already. */
export const openAi: Vendor = { pathPrefix: "", credential: bearer };

/** https://docs.claude.com/en/api/overview: the base URL is the bare origin. */
export const anthropic: Vendor = {
  pathPrefix: "/v1",
  credential: (apiKey) => ({ "x-api-key": apiKey }),
};
