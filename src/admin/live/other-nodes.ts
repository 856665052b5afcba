import { Repeating } from "../../base/loop/repeating.ts";
import { noUsage, totalInput } from "../../base/usage/usage.ts";
import type { KeyRing } from "../../keys/keyring.ts";
import type { ListedExchange, Store } from "../../store/store.ts";
import { exchangeDocument } from "../requests/exchange-document.ts";
import type { TailView } from "../requests/schema.ts";
import type { ExchangeFeed } from "./live.ts";

export interface OtherNodesOptions {
  readonly store: Pick<Store, "nodes" | "reports">;
  readonly keys: Pick<KeyRing, "byId">;
  readonly feed: ExchangeFeed;
  readonly everyMs?: number;
}

const defaultEveryMs = 1_000;
/** Maximum shown per poll: more would scroll by unread. */
const maxPerLook = 200;
/** Maximum number of remembered ids: more than one check can return again. */
const maxRemembered = 20_000;

/**
 * Adds exchanges finished by other nodes to the live tail, as far as the database has them. Polls only while there are
 * viewers.
 */
export class OtherNodes {
  readonly #options: OtherNodesOptions;
  readonly #shown = new Set<string>();
  /** Found by the last check and not shown yet. */
  #waiting = new Set<string>();
  readonly #looks = new Repeating();
  #isCaughtUp = false;

  constructor(options: OtherNodesOptions) {
    this.#options = options;
  }

  start(): void {
    const { store, feed, everyMs = defaultEveryMs } = this.#options;
    if (store.nodes === null) return;
    feed.onShown = (id) => this.#remember(id);
    this.#looks.start(everyMs, () => this.#tick());
  }

  stop(): Promise<void> {
    return this.#looks.stop();
  }

  async #tick(): Promise<void> {
    // After a failure the next look shows it too; what is wrong with the database is reported elsewhere.
    if (this.#options.feed.isWatched) await this.look().catch(() => {});
    else this.#isCaughtUp = false;
  }

  /**
   * An exchange of this gateway is in the database a moment before the gateway shows it itself. So a new row waits for the next
   * look, and is shown only if it has not been shown by then.
   */
  async look(): Promise<void> {
    const { store, feed } = this.#options;
    const { rows } = await store.reports.exchanges({ limit: maxPerLook });
    const unseen = rows.filter(({ exchangeId }) => !this.#shown.has(exchangeId)).toReversed();
    const waited = this.#waiting;
    this.#waiting = new Set();
    for (const row of unseen) {
      if (this.#isCaughtUp && !waited.has(row.exchangeId)) {
        this.#waiting.add(row.exchangeId);
        continue;
      }
      this.#remember(row.exchangeId);
      if (this.#isCaughtUp) feed.show(this.#lineOf(row));
    }
    this.#isCaughtUp = true;
  }

  /** Forgets the oldest ids first. */
  #remember(id: string): void {
    this.#shown.add(id);
    const [oldest] = this.#shown;
    if (oldest !== undefined && this.#shown.size > maxRemembered) this.#shown.delete(oldest);
  }

  #lineOf(exchange: ListedExchange): TailView {
    const view = exchangeDocument(exchange, (id) => this.#options.keys.byId(id) ?? null);
    const { id, at, route, stream, outcome, output_tokens, charged, unit, first_byte_ms, attempts } = view;
    return {
      ...{ id, at, route, stream, outcome, output_tokens, charged, unit, first_byte_ms, attempts },
      key_prefix: view.key_prefix || null,
      key_label: view.key_label,
      model: view.model || null,
      provider: view.provider || null,
      status: view.status ?? 0,
      error_code: view.code,
      kept: true,
      input_tokens: totalInput(exchange.usage ?? noUsage),
      total_ms: view.total_ms ?? 0,
    };
  }
}
