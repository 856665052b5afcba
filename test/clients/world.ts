import { type DialectName, dialectNames } from "../../src/base/dialect.ts";
import { type Sluice, startSluice } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";
import {
  type ConversationProvider,
  startConversationProvider,
  upstreamModels,
} from "./conversation/provider.ts";
import type { Scenario } from "./conversation/scenario.ts";
import type { Access } from "./drivers/client.ts";

/** A gateway before one provider for each dialect, which speaks nothing else. */
export interface World {
  readonly provider: ConversationProvider;
  readonly sluice: Sluice;
  access(providerDialect: DialectName): Access;
  dispose(): Promise<void>;
}

export async function startWorld(scenarios: readonly Scenario[]): Promise<World> {
  const provider = startConversationProvider(scenarios);
  const sluice = await startSluice({ config: configFor(provider.url) });
  const key = await sluice.createKey({ credit: 1000 });
  await waitFor(
    async () => (await sluice.request("/v1/usage", { key })).status === 200,
    "the key to be known",
  );
  return {
    provider,
    sluice,
    access: (dialect) => ({ url: sluice.url, key: key.key, model: `on-${dialect}` }),
    async dispose() {
      provider.stop();
      await sluice.dispose();
    },
  };
}

export function configFor(url: string): string {
  return `
[providers.on-chat]
kind = "openai-compatible"
base_url = "${url}/v1"
api_key = "env:TEST_OPENAI_KEY"
dialects = ["chat"]

[providers.on-responses]
kind = "openai"
base_url = "${url}/v1"
api_key = "env:TEST_OPENAI_KEY"
dialects = ["responses"]

[providers.on-messages]
kind = "anthropic"
base_url = "${url}"
api_key = "env:TEST_ANTHROPIC_KEY"
${dialectNames.map(modelOn).join("")}`;
}

function modelOn(dialect: DialectName): string {
  return `
[[models]]
id = "on-${dialect}"
provider = "on-${dialect}"
upstream_model = "${upstreamModels[dialect]}"
context_window = 1000000
max_output_tokens = 64000
price = { input = 1.0, output = 2.0, cached_input = 0.1 }
capabilities = { tools = true, vision = true, reasoning = true }
`;
}
