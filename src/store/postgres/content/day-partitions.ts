import { msPerDay } from "../../../base/clock.ts";
import type { PostgresClient } from "../client.ts";

interface Partition {
  readonly name: string;
  readonly startsMs: number;
  readonly bytes: number;
}

const ofContent = `
SELECT c.relname AS name, pg_total_relation_size(c.oid)::float8 AS bytes
FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
WHERE i.inhparent = 'content'::regclass AND c.relname ~ '^content_[0-9]{8}$' ORDER BY 1`;

/** Serializes gateways that create or drop partitions. */
const lock = "SELECT pg_advisory_xact_lock(hashtext('sluice content partitions'))";

/** The partitions of `content`, one per UTC day, so that a whole day is dropped at once. */
export class DayPartitions {
  readonly #client: PostgresClient;
  /** Days with a known partition. If another gateway drops one, the next write fails once. */
  readonly #known = new Set<number>();

  constructor(client: PostgresClient) {
    this.#client = client;
  }

  async create(momentsMs: readonly number[]): Promise<void> {
    const days = new Set(momentsMs.map((ms) => Math.floor(ms / msPerDay)));
    const missing = [...days].filter((day) => !this.#known.has(day));
    if (missing.length === 0) return;
    await this.#client.transaction(async (query) => {
      await query(lock);
      for (const day of missing)
        await query(
          `CREATE TABLE IF NOT EXISTS ${nameOf(day)} PARTITION OF content FOR VALUES FROM (${day * msPerDay}) TO (${(day + 1) * msPerDay})`,
        );
    });
    for (const day of missing) this.#known.add(day);
  }

  /** Forgets all known partitions. */
  forget(): void {
    this.#known.clear();
  }

  /** Drops days before `beforeMs`. */
  async drop(beforeMs: number): Promise<void> {
    for (const partition of await this.#all()) {
      if (partition.startsMs + msPerDay > beforeMs) return;
      await this.#client.transaction(async (query) => {
        await query(lock);
        await query(`DROP TABLE IF EXISTS ${partition.name}`);
      });
      this.#known.clear();
    }
  }

  async bytes(): Promise<number> {
    return sum(await this.#all());
  }

  /** Oldest first. */
  async #all(): Promise<Partition[]> {
    const found = await this.#client.query<Omit<Partition, "startsMs">>(ofContent);
    return found.map((partition) => ({ ...partition, startsMs: startOf(partition.name) }));
  }
}

function sum(partitions: readonly Partition[]): number {
  return partitions.reduce((total, { bytes }) => total + bytes, 0);
}

/** `content_20261118`. */
function nameOf(day: number): string {
  return `content_${new Date(day * msPerDay).toISOString().slice(0, 10).replaceAll("-", "")}`;
}

function startOf(name: string): number {
  const [, year, month, date] = /_(\d{4})(\d{2})(\d{2})$/.exec(name) ?? [];
  return Date.UTC(Number(year), Number(month) - 1, Number(date));
}
