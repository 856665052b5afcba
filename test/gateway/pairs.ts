import type { BodyDialectName } from "../support/body-dialects.ts";
import { isFast } from "../support/effort.ts";

/** TOML of a model whose provider speaks Responses and nothing else. */
export const talker = `
[providers.talking]
kind = "openai-compatible"
base_url = "PROVIDER_URL/talking/v1"
dialects = ["responses"]

[[models]]
id = "talker"
provider = "talking"
context_window = 8192
max_output_tokens = 1024
price = { input = 1.0, output = 2.0, cached_input = 0.1, cache_write = 1.25 }
`;

export interface Pair {
  readonly client: BodyDialectName;
  readonly model: string;
  readonly provider: BodyDialectName;
}

/** Who asks in which dialect, and what the provider of that model speaks: its own, or another. */
export const pairs = [
  { client: "chat", model: "gpt-test", provider: "chat" },
  { client: "responses", model: "gpt-test", provider: "responses" },
  { client: "messages", model: "claude-test", provider: "messages" },
  { client: "chat", model: "claude-test", provider: "messages" },
  { client: "responses", model: "local-test", provider: "chat" },
  { client: "messages", model: "local-test", provider: "chat" },
  { client: "messages", model: "talker", provider: "responses" },
] as const satisfies readonly Pair[];

/** All of them, or in a fast run one of each client's and each provider's dialect. */
export const pairsToTry: readonly (typeof pairs)[number][] = isFast ? [pairs[1], pairs[3], pairs[5]] : pairs;

/** Those whose answers are translated. */
export const translatedPairs: readonly Pair[] = pairs.filter(({ client, provider }) => client !== provider);
