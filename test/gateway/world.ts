import { afterAll } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createKey } from "../../src/admin/keys/create-key.ts";
import { type RunningGateway, startGateway } from "../../src/app/start.ts";
import { systemClock } from "../../src/base/clock.ts";
import { nanoPerCredit } from "../../src/base/money/money.ts";
import { TokenCounter } from "../../src/catalog/tokens/counter.ts";
import { loadSettings } from "../../src/config/load.ts";
import type { Settings } from "../../src/config/settings.ts";
import type { Gateway } from "../../src/gateway/exchange/gateway.ts";
import type { KeySpec } from "../../src/keys/issue.ts";
import type { ExchangeFacts } from "../../src/observe/exchange.ts";
import type { Entry, KeyRecord } from "../../src/store/store.ts";
import { putEmptyLedger } from "../store/sqlite/empty-ledger.ts";
import { type ConfigOptions, configFor, upstreamKeys } from "../support/config.ts";
import { newFolder } from "../support/new-folder.ts";
import { type ScriptedProvider, startProvider } from "../support/provider.ts";
import { waitFor } from "../support/wait.ts";

export interface Caller {
  readonly key: KeyRecord;
  readonly secret: string;
}

export interface Ask {
  readonly path: string;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** One for all worlds, because it takes long to load: on a busy machine longer than a gateway waits before it counts roughly. */
const tokens = new TokenCounter({ deadlineMs: 60_000 });
afterAll(() => tokens.stop());

/** The whole gateway in the test's own process, so that what is inside can be looked at, and broken. */
export class World implements AsyncDisposable {
  readonly provider: ScriptedProvider;
  readonly running: RunningGateway;
  /** Every exchange that was observed, in order: one line of the log each. */
  readonly observed: ExchangeFacts[] = [];
  readonly #folder: string;
  readonly #config: string;

  private constructor(provider: ScriptedProvider, running: RunningGateway, folder: string, config: string) {
    this.provider = provider;
    this.running = running;
    this.#folder = folder;
    this.#config = config;
    const observe = running.gateway.observe;
    Object.assign(running.gateway, {
      tokens,
      observe: (facts: ExchangeFacts) => {
        this.observed.push(facts);
        observe(facts);
      },
    });
  }

  /** `PROVIDER_URL` in the options stands for the scripted provider's. */
  static async start(options: Omit<ConfigOptions, "url"> = {}): Promise<World> {
    const folder = newFolder();
    putEmptyLedger(join(folder, "data"));
    const provider = startProvider();
    const config = configFor({ url: provider.url, ...options }).replaceAll("PROVIDER_URL", provider.url);
    const running = await startGateway({ settings: settingsOf(folder, config) });
    return new World(provider, running, folder, config);
  }

  /** With its tokenizer loaded, which takes longer than a client may take to leave. */
  static async startCounting(options: Omit<ConfigOptions, "url">): Promise<World> {
    const world = await World.start(options);
    await world.gateway.tokens.of("key").text(["Hello"]);
    return world;
  }

  /** What a changed file and SIGHUP do; `change` is given the configuration of the start. */
  async reload(change: (config: string) => string): Promise<void> {
    await this.running.reload(settingsOf(this.#folder, change(this.#config)), { suspendsKeys: false });
  }

  /** Writes a file next to the configuration, such as a secret. */
  write(name: string, content: string): void {
    writeFileSync(join(this.#folder, name), content);
  }

  get gateway(): Gateway {
    return this.running.gateway;
  }

  async creditCaller(credits = 10, more: Partial<KeySpec> = {}): Promise<Caller> {
    return this.#caller({ mode: "credit", creditNano: Math.round(credits * nanoPerCredit), ...more });
  }

  /** Postpaid. */
  async openCaller(): Promise<Caller> {
    return this.#caller({ mode: "credit", isPostpaid: true });
  }

  async tokenCaller(budgetTokens: number, terms: { readonly tools?: boolean } = {}): Promise<Caller> {
    return this.#caller({ mode: "token_budget", budgetTokens, ...terms });
  }

  async #caller(spec: Parameters<typeof createKey>[1]): Promise<Caller> {
    const issued = await createKey({ store: this.running.store, clock: systemClock }, spec);
    await this.gateway.catchUp();
    return issued;
  }

  ask({ key, secret }: Caller, { path, body, headers, signal }: Ask): Promise<Response> {
    const origin = key.mode === "credit" ? "" : "/token";
    return fetch(`${this.running.url}${origin}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${secret}`, "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
      ...(signal === undefined ? {} : { signal }),
    });
  }

  /** What a request is held for, in credits, as its refusal says it to a key that has nothing. With an idempotency key, because else a long one is refused unread. */
  async heldFor(ask: Ask): Promise<number> {
    const response = await this.ask(await this.creditCaller(0), {
      ...ask,
      headers: { ...ask.headers, "idempotency-key": crypto.randomUUID() },
    });
    const { error } = (await response.json()) as { error: { code: string; message: string } };
    if (error.code !== "insufficient_credit") throw new Error(`it was not held for: ${error.message}`);
    return Number(/up to ([\d.e-]+) credits/.exec(error.message)?.[1]);
  }

  /** What was charged to a key, once nothing of it is under way any more. */
  async chargesOf({ key }: Caller): Promise<readonly Pick<Entry, "amount" | "basis" | "outcome">[]> {
    await this.settled();
    const entries = await this.running.store.listEntries({ afterId: 0, limit: 1000, keyId: key.id });
    return entries
      .filter(({ kind }) => kind === "charge" || kind === "overrun")
      .map(({ amount, basis, outcome }) => ({ amount, basis, outcome }));
  }

  /** Waits until every exchange has given back what it took. */
  async settled(): Promise<void> {
    await waitFor(() => {
      const { ongoing, watchdog, accounts, claims } = this.gateway;
      return ongoing.size + watchdog.size + accounts.openHolds + claims.running === 0;
    }, "the exchanges to be closed");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.running.stop();
    this.provider.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

function settingsOf(folder: string, config: string): Settings {
  const file = join(folder, "sluice.toml");
  writeFileSync(file, config);
  const env = { SLUICE_DATA: join(folder, "data"), SLUICE_LOG_LEVEL: "silent", ...upstreamKeys };
  const flags = { config: file, host: "127.0.0.1", port: 0 };
  return loadSettings({ env, cwd: folder, flags }).settings;
}
