import type { Quirk } from "../../dialects/contract/quirks.ts";

interface KnownServer {
  readonly name: string;
  /** Matches the host of the base URL. */
  readonly host: RegExp;
  /** For a host with several APIs. */
  readonly path?: RegExp;
  readonly quirks: readonly Quirk[];
}

/**
 * Known differences of servers with OpenAI's API, by their hosts. An operator's own `quirks` replace these, e.g. for a
 * server behind another name; docs/providers/openai-compatible.md shows the same table.
 */
export const knownServers: readonly KnownServer[] = [
  { name: "xAI", host: /(?:^|\.)x\.ai$/, quirks: ["no_strict"] },
  {
    name: "Mistral",
    host: /(?:^|\.)mistral\.ai$/,
    quirks: [
      ...(["choice_any", "ids9", "no_stream_options", "no_user", "no_name", "prefix"] as const),
      ...(["output_dimension", "inputs_32"] as const),
    ],
  },
  { name: "DeepSeek", host: /(?:^|\.)deepseek\.com$/, quirks: ["thinking_switch", "reasoning_back"] },
  { name: "OpenRouter", host: /(?:^|\.)openrouter\.ai$/, quirks: ["reasoning_details"] },
  { name: "Fireworks", host: /(?:^|\.)fireworks\.ai$/, quirks: ["no_strict", "no_name"] },
  { name: "Perplexity", host: /(?:^|\.)perplexity\.ai$/, quirks: ["alternate"] },
  {
    name: "Voyage",
    host: /(?:^|\.)voyageai\.com$/,
    quirks: ["output_dimension", "no_float", "inputs_1000", "top_k"],
  },
  { name: "Cohere", host: /(?:^|\.)cohere\.(?:com|ai)$/, path: /^\/v2\/?$/, quirks: ["cohere_embed"] },
  { name: "GitHub Copilot", host: /(?:^|\.)githubcopilot\.com$/, quirks: ["split_choices"] },
];

export function quirksOf(baseUrl: string | undefined): readonly Quirk[] {
  const { hostname = "", pathname = "" } = URL.parse(baseUrl ?? "") ?? {};
  const known = knownServers.find(({ host, path }) => host.test(hostname) && path?.test(pathname) !== false);
  return known?.quirks ?? [];
}

/** Servers that OpenTelemetry's conventions for generative AI name. */
const genAiNames: readonly (readonly [host: RegExp, name: string])[] = [
  [/(?:^|\.)openai\.com$/, "openai"],
  [/(?:^|\.)x\.ai$/, "x_ai"],
  [/(?:^|\.)mistral\.ai$/, "mistral_ai"],
  [/(?:^|\.)deepseek\.com$/, "deepseek"],
  [/(?:^|\.)groq\.com$/, "groq"],
  [/(?:^|\.)perplexity\.ai$/, "perplexity"],
  [/(?:^|\.)cohere\.(?:com|ai)$/, "cohere"],
];

/** Null for a server that the conventions do not name. */
export function genAiNameAt(baseUrl: string): string | null {
  const { hostname = "" } = URL.parse(baseUrl) ?? {};
  return genAiNames.find(([host]) => host.test(hostname))?.[1] ?? null;
}
