import { type Sluice, startSluice } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";
import { cloudSecrets, type SpeakerName, speakerNames, speakers } from "./conversation/speakers.ts";
import type { Access } from "./drivers/client.ts";

const adminToken = "the-admin-token-of-the-worlds";

/** A gateway before all speakers. */
export interface World<Provider> {
  readonly provider: Provider;
  readonly sluice: Sluice;
  /** The model of this speaker; `family` is one of those that the world was started with. */
  access(speaker: SpeakerName, family?: string): Access;
  /** Clients whose WebSocket is refused may go on by HTTP, so that nothing else tells. */
  socketsOpened(): Promise<number>;
  dispose(): Promise<void>;
}

export interface WorldOptions {
  /** Agents do other things with models whose names they know, so there may be models of several families. */
  readonly families?: readonly string[];
  /** Other names of the models, if there is one family of them. */
  readonly aliases?: Readonly<Record<SpeakerName, string>>;
  /** Seconds of silence before a heartbeat. */
  readonly heartbeat?: number;
  /** TOML of more providers and models; `PROVIDER_URL` stands for the provider's address. */
  readonly tail?: string;
}

export async function startWorld<Provider extends { readonly url: string; stop(): void }>(
  provider: Provider,
  options: WorldOptions = {},
): Promise<World<Provider>> {
  const env = { SLUICE_ADMIN_TOKEN: adminToken, ...cloudSecrets(provider.url) };
  const sluice = await startSluice({ config: configFor(provider.url, options), env });
  const key = await sluice.createKey({ credit: 1000 });
  await waitFor(
    async () => (await sluice.request("/v1/usage", { key })).status === 200,
    "the key to be known",
  );
  return {
    provider,
    sluice,
    access: (speaker, family = "any") => ({ url: sluice.url, key: key.key, model: modelId(speaker, family) }),
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

function modelId(speaker: SpeakerName, family: string): string {
  return `${family}-on-${speaker}`;
}

function configFor(
  url: string,
  { families = ["any"], heartbeat = 15, aliases, tail = "" }: WorldOptions,
): string {
  const providers = speakerNames.map((name) => `[providers.${name}]${speakers[name].settings}\n`);
  const models = families.flatMap((family) =>
    speakerNames.map((name) => modelOf(name, family, aliases?.[name])),
  );
  const server = `[server]\nheartbeat = ${heartbeat}\n`;
  return [server, ...providers, ...models, tail].join("\n").replaceAll("PROVIDER_URL", url);
}

function modelOf(name: SpeakerName, family: string, alias: string | undefined): string {
  const { dialect, model, family: known } = speakers[name];
  return `
[[models]]
id = "${modelId(name, family)}"
aliases = ${JSON.stringify(alias === undefined ? [] : [alias])}
provider = "${name}"
upstream_model = "${model}"
${known === undefined ? "" : `family = "${known}"`}
dialect = "${dialect}"
context_window = 1000000
max_output_tokens = 64000
price = { input = 1.0, output = 2.0, cached_input = 0.1 }
capabilities = { tools = true, vision = true, reasoning = true }
`;
}
