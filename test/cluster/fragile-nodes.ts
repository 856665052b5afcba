import { expect } from "bun:test";
import type { EntryView } from "../../src/admin/requests/schema.ts";
import { configFor } from "../support/config.ts";
import { fixture } from "../support/fixtures.ts";
import { type PostgresServer, sharedPostgres } from "../support/postgres.ts";
import type { ScriptedProvider } from "../support/provider.ts";
import { type Sluice, startSluice } from "../support/sluice.ts";
import { TcpProxy } from "../support/tcp-proxy.ts";
import { waitFor } from "../support/wait.ts";

/** Milliseconds: lease, grace, beat, answer. A takeover is awaited here, which would take twenty seconds otherwise. */
const timing = "3000,1000,200,2000";

export interface NodeLine {
  readonly node: number;
  readonly name: string;
  readonly version: string;
  readonly state: "live" | "late" | "dead";
  readonly since: string;
  readonly in_flight: number;
  readonly holds: number;
  readonly heartbeat_at: string;
}

interface FragileOptions {
  /** TOML at the end of the configuration. */
  readonly tail?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** One of its own, which can be restarted. */
  readonly postgres?: PostgresServer;
}

/** Gateways on one database, each a process that reaches it through a proxy of its own. */
export class FragileNodes implements AsyncDisposable {
  readonly all: readonly Sluice[];
  readonly proxies: readonly TcpProxy[];
  /** Of the database itself, through no proxy. */
  readonly databaseUrl: string;

  private constructor(all: readonly Sluice[], proxies: readonly TcpProxy[], databaseUrl: string) {
    this.all = all;
    this.proxies = proxies;
    this.databaseUrl = databaseUrl;
  }

  static async start(
    count: number,
    provider: ScriptedProvider,
    { tail = "", env = {}, postgres = sharedPostgres() }: FragileOptions = {},
  ): Promise<FragileNodes> {
    const databaseUrl = postgres.url(await postgres.createDatabase());
    const proxies = Array.from({ length: count }, () => new TcpProxy(postgres.port));
    const start = (proxy: TcpProxy, index: number) =>
      startSluice({
        config: configFor({ url: provider.url, head: `[server]\nnode = "node-${index}"`, tail }),
        env: {
          ...env,
          SLUICE_STORE: databaseUrl.replace(`:${postgres.port}/`, `:${proxy.port}/`),
          SLUICE_TEST_NODE_TIMING: timing,
        },
      });
    return new FragileNodes(await Promise.all(proxies.map(start)), proxies, databaseUrl);
  }

  at(index: number): Sluice {
    const node = this.all[index];
    if (node === undefined) throw new Error(`there is no node ${index}`);
    return node;
  }

  proxyOf(index: number): TcpProxy {
    const proxy = this.proxies[index];
    if (proxy === undefined) throw new Error(`there is no node ${index}`);
    return proxy;
  }

  list(asked = this.at(0)): Promise<readonly NodeLine[]> {
    return asked.cliJson("nodes");
  }

  /** No node has an open hold. */
  async allReleased(asked = this.at(0)): Promise<void> {
    const isReleased = async () => (await this.list(asked)).every(({ holds }) => holds === 0);
    await waitFor(isReleased, "the last hold to end", 60_000);
  }

  async chargesByExchange(asked = this.at(0)): Promise<Map<string, EntryView[]>> {
    const exported = await asked.cli("ledger", "export", "--format", "jsonl");
    expect(exported.code, exported.stderr).toBe(0);
    const entries = exported.stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as EntryView);
    const charges = entries.filter(({ kind }) => kind === "charge");
    return Map.groupBy(charges, ({ request_id: id }) => id ?? "none");
  }

  /** The totals are what the entries add up to, and nothing is held. */
  async checkBooks(asked = this.at(0)): Promise<void> {
    await this.allReleased(asked);
    const audit = await asked.cli("ledger", "audit");
    expect(audit.code, audit.stdout + audit.stderr).toBe(0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.all.map((node) => node.dispose()));
    for (const proxy of this.proxies) proxy[Symbol.dispose]();
  }
}

/** The provider's figures at the tests' prices, in nano-credits: 1,000 an input token and 2,000 an output token. */
export function costOfFixture(): number {
  const { usage } = JSON.parse(fixture("chat/text.json"));
  return usage.prompt_tokens * 1000 + usage.completion_tokens * 2000;
}
