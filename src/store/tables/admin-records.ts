import type { AdminRecords, AdminTokenRecord, AuditRecord, SessionRecords } from "../admin-records.ts";
import { Parameters, type Queries, query } from "../query.ts";
import { StoreError } from "../store-error.ts";
import { storedDevices } from "./device-records.ts";
import { partPattern } from "./key-search.ts";
import { lockRevision } from "./revision.ts";

export function storedAdmin(queries: Queries, sessions: SessionRecords | null): AdminRecords {
  const { read, change, changeTogether, pace } = queries;
  const readAdminTokenHash = async () => {
    const [row] = await read<{ hash: string }>("SELECT hash FROM admin_token");
    return row?.hash ?? null;
  };
  return {
    sessions,
    devices: storedDevices(queries),

    async appendAudit({ atMs, actor, address, action, target, detail }) {
      await change(
        `INSERT INTO audit_log (at_ms, actor, address, action, target, detail)
        VALUES ($1::int8, $2, $3, $4, $5, $6)`,
        [atMs, actor, address, action, target, detail],
      );
    },

    /** Searches a limited range of ids per statement, because a rare text is searched for in all records. */
    async listAudit({ beforeId, sinceMs, untilMs, search, limit }) {
      const records: AuditRecord[] = [];
      const [newest] = await read<{ id: number | null }>("SELECT max(id)::float8 AS id FROM audit_log");
      let before = Math.min(beforeId ?? Number.MAX_SAFE_INTEGER, (newest?.id ?? 0) + 1);
      for (; before > 1 && records.length < limit; before -= pace.rowsPerPiece) {
        const parameters = new Parameters();
        const after = before - pace.rowsPerPiece;
        const conditions = [`id < ${parameters.add(before)}`, `id >= ${parameters.add(after)}`];
        if (sinceMs !== undefined) conditions.push(`at_ms >= ${parameters.add(sinceMs)}`);
        if (untilMs !== undefined) conditions.push(`at_ms < ${parameters.add(untilMs)}`);
        if (search !== undefined) {
          conditions.push(`${searched} ILIKE ${parameters.add(partPattern(search))} ESCAPE '\\'`);
        }
        const found = await read<AuditRecord>(
          `SELECT id::float8 AS id, at_ms::float8 AS "atMs", actor, address, action, target, detail
          FROM audit_log WHERE ${conditions.join(" AND ")} ORDER BY id DESC LIMIT ${parameters.add(limit - records.length)}`,
          parameters.all,
        );
        records.push(...found);
      }
      return records;
    },

    readAdminTokenHash,

    async saveAdminTokenHash(hash) {
      await change("INSERT INTO admin_token (id, hash) VALUES (1, $1) ON CONFLICT (id) DO NOTHING", [hash]);
      return (await readAdminTokenHash()) ?? hash;
    },

    insertToken: ({ id, label, role, hash, createdAtMs }) =>
      changeTogether(function* () {
        yield* lockRevision();
        const taken = "SELECT 1 FROM admin_tokens WHERE label = $1::text AND revoked_at_ms IS NULL";
        if ((yield* query(taken, [label])).length > 0) {
          throw new StoreError("label_taken", `There is a token ${JSON.stringify(label)}.`);
        }
        yield* query(
          "INSERT INTO admin_tokens (id, label, role, hash, created_at_ms) VALUES ($1, $2, $3, $4, $5::int8)",
          [id, label, role, hash, createdAtMs],
        );
      }),

    listTokens: () =>
      read<AdminTokenRecord>(
        `SELECT id, label, role, hash, created_at_ms::float8 AS "createdAtMs", revoked_at_ms::float8 AS "revokedAtMs"
        FROM admin_tokens ORDER BY created_at_ms, id`,
      ),

    async revokeToken(id, atMs) {
      await change(
        "UPDATE admin_tokens SET revoked_at_ms = $1::int8 WHERE id = $2 AND revoked_at_ms IS NULL",
        [atMs, id],
      );
    },
  };
}

const searched =
  "actor || ' ' || address || ' ' || action || ' ' || coalesce(target, '') || ' ' || coalesce(detail, '')";
