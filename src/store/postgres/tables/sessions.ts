import type { SessionRecords } from "../../admin-records.ts";
import type { Queries } from "../../query.ts";

/** Sessions in the database, shared by all gateways of a cluster. */
export function storedSessions({ read, change }: Queries): SessionRecords {
  return {
    async begin({ hash, identity, endsAtMs }, limit) {
      await change("INSERT INTO sessions (hash, identity, ends_at_ms) VALUES ($1, $2, $3::int8)", [
        hash,
        identity,
        endsAtMs,
      ]);
      await change(
        "DELETE FROM sessions WHERE hash IN (SELECT hash FROM sessions ORDER BY ends_at_ms DESC OFFSET $1::int)",
        [limit],
      );
    },

    async find(hash, nowMs) {
      const [found] = await read<{ identity: string }>(
        "SELECT identity FROM sessions WHERE hash = $1 AND ends_at_ms > $2::int8",
        [hash, nowMs],
      );
      return found?.identity ?? null;
    },

    async end(hash) {
      await change("DELETE FROM sessions WHERE hash = $1", [hash]);
    },

    async endAll() {
      await change("DELETE FROM sessions");
    },
  };
}
