import { nextTurn } from "../../../base/next-turn.ts";
import { NodeUnavailable, type TokenVerdict } from "../../node.ts";
import type { Query } from "../client.ts";

interface Waiting {
  readonly capacity: number;
  readonly callers: PromiseWithResolvers<TokenVerdict>[];
}

interface TokenRow {
  readonly granted: ArrayLike<number>;
  readonly levels: ArrayLike<number>;
}

/** The first query after a connection was closed may fail. */
const attempts = 2;

/**
 * Asks for rate tokens, one batch at a time. What a batch asks for of one key is asked for at once. Batches have no
 * numbers: tokens whose reply is lost are lost too, which harms nobody for longer than a minute.
 */
export class TokenBatches {
  readonly #query: Query;
  #waiting = new Map<string, Waiting>();
  #isAsking = false;

  constructor(query: Query) {
    this.#query = query;
  }

  take(keyId: string, capacity: number): Promise<TokenVerdict> {
    const caller = Promise.withResolvers<TokenVerdict>();
    const known = this.#waiting.get(keyId);
    // Two limits of one key meet only while it is being changed.
    if (known !== undefined) known.callers.push(caller);
    else this.#waiting.set(keyId, { capacity, callers: [caller] });
    if (!this.#isAsking) void this.#run();
    return caller.promise;
  }

  async #run(): Promise<void> {
    this.#isAsking = true;
    while (this.#waiting.size > 0) {
      await nextTurn();
      const batch = this.#waiting;
      this.#waiting = new Map();
      const row = await this.#ask(batch);
      if (row === null) refuse([...batch.values()]);
      else answer([...batch.values()], row);
    }
    this.#isAsking = false;
  }

  async #ask(batch: ReadonlyMap<string, Waiting>): Promise<TokenRow | null> {
    const parameters = [
      [...batch.keys()],
      Array.from(batch.values(), ({ capacity }) => capacity),
      Array.from(batch.values(), ({ callers }) => callers.length),
    ];
    for (let attempt = 1; attempt <= attempts; attempt += 1) {
      try {
        const [row] = await this.#query<TokenRow>(
          "SELECT granted, levels FROM sluice_take_tokens($1::text[], $2::int[], $3::int[])",
          parameters,
        );
        return row ?? null;
      } catch {
        // Tried once more, then refused. The node's own signs of life report what is wrong.
      }
    }
    return null;
  }
}

/** Whoever came first gets a token; the level is as if the others had asked afterwards. */
function answer(batch: readonly Waiting[], { granted, levels }: TokenRow): void {
  for (const [index, { callers }] of batch.entries()) {
    const passing = granted[index] as number;
    const level = levels[index] as number;
    for (const [place, { resolve }] of callers.entries()) {
      resolve({ granted: place < passing, level: level + Math.max(0, passing - 1 - place) });
    }
  }
}

function refuse(batch: readonly Waiting[]): void {
  for (const { callers } of batch) for (const { reject } of callers) reject(new NodeUnavailable());
}
