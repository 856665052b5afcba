import { type ProviderDialectName, providerDialectNames } from "../../src/dialects/registry.ts";
import { type Sluice, startSluice } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";
import { upstreamModels } from "./conversation/provider.ts";
import type { Access } from "./drivers/client.ts";

const adminToken = "the-admin-token-of-the-worlds";

/** A gateway before one provider for each dialect, which speaks nothing else. */
export interface World<Provider> {
  readonly provider: Provider;
  readonly sluice: Sluice;
  /** The model on a provider of this dialect; `family` is one of those that the world was started with. */
  access(providerDialect: ProviderDialectName, family?: string): Access;
  /** Clients whose WebSocket is refused may go on by HTTP, so that nothing else tells. */
  socketsOpened(): Promise<number>;
  dispose(): Promise<void>;
}

export interface WorldOptions {
  /** Agents do other things with models whose names they know, so there may be models of several families. */
  readonly families?: readonly string[];
  /** Other names of the models, if there is one family of them, by the provider's dialect. */
  readonly aliases?: Readonly<Record<ProviderDialectName, string>>;
  /** Seconds of silence before a heartbeat. */
  readonly heartbeat?: number;
  /** TOML of more providers and models; `PROVIDER_URL` stands for the provider's address. */
  readonly tail?: string;
}

export async function startWorld<Provider extends { readonly url: string; stop(): void }>(
  provider: Provider,
  options: WorldOptions = {},
): Promise<World<Provider>> {
  const env = { SLUICE_ADMIN_TOKEN: adminToken };
  const sluice = await startSluice({ config: configFor(provider.url, options), env });
  const key = await sluice.createKey({ credit: 1000 });
  await waitFor(
    async () => (await sluice.request("/v1/usage", { key })).status === 200,
    "the key to be known",
  );
  return {
    provider,
    sluice,
    access: (dialect, family = "any") => ({ url: sluice.url, key: key.key, model: modelId(dialect, family) }),
    async socketsOpened() {
      const headers = { authorization: `Bearer ${adminToken}` };
      const metrics = await (await sluice.request("/metrics", { headers })).text();
      const [, count = "0"] =
        /^sluice_requests_total\{route="\/v1\/responses".*status="101".*\} (\d+)$/m.exec(metrics) ?? [];
      return Number(count);
    },
    async dispose() {
      provider.stop();
      await sluice.dispose();
    },
  };
}

function modelId(dialect: ProviderDialectName, family: string): string {
  return `${family}-on-${dialect}`;
}

function configFor(
  url: string,
  { families = ["any"], heartbeat = 15, aliases, tail = "" }: WorldOptions,
): string {
  return `
[server]
heartbeat = ${heartbeat}

[providers.chat]
kind = "openai-compatible"
base_url = "${url}/v1"
api_key = "env:TEST_OPENAI_KEY"
dialects = ["chat"]

[providers.responses]
kind = "openai"
base_url = "${url}/v1"
api_key = "env:TEST_OPENAI_KEY"
dialects = ["responses"]

[providers.messages]
kind = "anthropic"
base_url = "${url}"
api_key = "env:TEST_ANTHROPIC_KEY"

[providers.gemini]
kind = "gemini"
base_url = "${url}"
api_key = "env:TEST_GEMINI_KEY"

[providers.converse]
kind = "bedrock"
region = "eu-central-1"
base_url = "${url}"
api_key = "env:TEST_BEDROCK_KEY"
${families.flatMap((family) => providerDialectNames.map((dialect) => modelOf(dialect, family, aliases?.[dialect]))).join("")}
${tail.replaceAll("PROVIDER_URL", url)}`;
}

function modelOf(dialect: ProviderDialectName, family: string, alias: string | undefined): string {
  return `
[[models]]
id = "${modelId(dialect, family)}"
aliases = ${JSON.stringify(alias === undefined ? [] : [alias])}
provider = "${dialect}"
upstream_model = "${upstreamModels[dialect]}"
dialect = "${dialect}"
context_window = 1000000
max_output_tokens = 64000
price = { input = 1.0, output = 2.0, cached_input = 0.1 }
capabilities = { tools = true, vision = true, reasoning = true }
`;
}
