import type { SessionRecord, SessionRecords } from "../../admin-records.ts";
import type { Queries } from "../../query.ts";

/** Sessions in the database, shared by all gateways of a cluster. */
export function storedSessions({ read, change }: Queries): SessionRecords {
  return {
    async begin({ hash, content, endsAtMs }, limit) {
      await change("INSERT INTO sessions (hash, content, ends_at_ms) VALUES ($1, $2, $3::int8)", [
        hash,
        content,
        endsAtMs,
      ]);
      await change(
        "DELETE FROM sessions WHERE hash IN (SELECT hash FROM sessions ORDER BY ends_at_ms DESC OFFSET $1::int)",
        [limit],
      );
    },

    async find(hash, nowMs) {
      const [found] = await read<{ content: string }>(
        "SELECT content FROM sessions WHERE hash = $1 AND ends_at_ms > $2::int8",
        [hash, nowMs],
      );
      return found?.content ?? null;
    },

    list: (nowMs) =>
      read<SessionRecord>(
        `SELECT hash, content, ends_at_ms::float8 AS "endsAtMs" FROM sessions
        WHERE ends_at_ms > $1::int8 ORDER BY ends_at_ms, hash`,
        [nowMs],
      ),

    async end(hash) {
      await change("DELETE FROM sessions WHERE hash = $1", [hash]);
    },

    async endAll() {
      await change("DELETE FROM sessions");
    },

    async spend(hash, untilMs, nowMs) {
      await change("DELETE FROM spent_logout_tokens WHERE ends_at_ms <= $1::int8", [nowMs]);
      const spent = await change(
        `INSERT INTO spent_logout_tokens (hash, ends_at_ms) VALUES ($1, $2::int8)
        ON CONFLICT (hash) DO NOTHING RETURNING hash`,
        [hash, untilMs],
      );
      return spent.length > 0;
    },
  };
}
